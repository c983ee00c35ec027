// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// AnnotationAppliedHash holds, on every child object, the hash of what the operator last applied. Together with a
// comparison of the applied fields it tells, without any state in the operator, that there is nothing to write.
const AnnotationAppliedHash = "aalis.dev/applied-hash"

// Outcome says what Apply did.
type Outcome string

// The outcomes of Apply.
const (
	// Unchanged: the cached object already holds what is wanted; nothing was sent.
	Unchanged Outcome = "unchanged"
	// Created: the object was not there and has been applied.
	Created Outcome = "created"
	// Updated: the object differed and has been applied.
	Updated Outcome = "updated"
)

// Applier applies child objects with one field owner.
type Applier struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server. It is asked only before an object is created, because the cache does not
	// hold objects without the operator's label.
	Live client.Reader
	// Metrics counts the writes.
	Metrics *Metrics
}

// NotOwnedError says that an object of the wanted name exists and belongs to somebody else.
type NotOwnedError struct {
	// Kind, Namespace and Name of the object.
	Kind, Namespace, Name string
}

// Error implements error.
func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("%s %s exists and is not controlled by this AgentInstance; it is left as it is: delete or rename it", e.Kind, e.Name)
}

// ErrTerminating says that an object of the wanted name is still being deleted. Its deletion event brings the
// reconciler back.
var ErrTerminating = errors.New("the object is being deleted")

// Options of one Apply.
type Options struct {
	// Locked makes the write fail with a conflict if the object changed since it was read into the cache.
	Locked bool
}

// Apply makes the object on the server hold the fields of desired. It writes nothing if the cached object carries
// the hash of desired and holds all its fields; defaults and other managers' fields do not matter. Desired must have
// a controller owner reference; an object that has not the same controller is never touched (NotOwnedError).
func (a *Applier) Apply(ctx context.Context, desired client.Object, opts Options) (Outcome, error) {
	gvk, err := apiutil.GVKForObject(desired, a.Client.Scheme())
	if err != nil {
		return "", fmt.Errorf("looking up the kind of %T: %w", desired, err)
	}
	content, err := Content(desired)
	if err != nil {
		return "", fmt.Errorf("converting %s %s: %w", gvk.Kind, desired.GetName(), err)
	}
	hash, err := Hash(content)
	if err != nil {
		return "", fmt.Errorf("hashing %s %s: %w", gvk.Kind, desired.GetName(), err)
	}
	live, err := a.find(ctx, desired)
	if err != nil {
		return "", fmt.Errorf("reading %s %s: %w", gvk.Kind, desired.GetName(), err)
	}
	outcome, version := Created, ""
	if live != nil {
		if err := checkOwner(desired, live, gvk.Kind); err != nil {
			return "", err
		}
		if same, err := holds(live, content, hash); err != nil || same {
			return Unchanged, err
		}
		outcome = Updated
		if opts.Locked {
			version = live.GetResourceVersion()
		}
	}
	body := newApplyBody(gvk, desired, content, hash, version)
	if err := a.Client.Apply(ctx, body, client.FieldOwner(v1alpha1.FieldOwner), client.ForceOwnership); err != nil {
		return "", fmt.Errorf("applying %s %s: %w", gvk.Kind, desired.GetName(), err)
	}
	a.Metrics.childWritten(gvk.Kind, outcome)
	log.FromContext(ctx).V(1).Info("Applied child", "kind", gvk.Kind, "name", desired.GetName(), "outcome", string(outcome))
	return outcome, nil
}

// find gives the object from the cache, or, if it is not there, what the server has under its name; nil if nothing.
// An object that only the server shows lacks the operator's label, so the owner check refuses it.
func (a *Applier) find(ctx context.Context, desired client.Object) (client.Object, error) {
	key := client.ObjectKeyFromObject(desired)
	gvk, err := apiutil.GVKForObject(desired, a.Client.Scheme())
	if err != nil {
		return nil, err
	}
	fresh, err := a.Client.Scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	cached, ok := fresh.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an API object", fresh)
	}
	err = a.Client.Get(ctx, key, cached)
	if err == nil || !apierrors.IsNotFound(err) {
		return cached, err
	}
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(gvk)
	err = a.Live.Get(ctx, key, partial)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return partial, err
}

func checkOwner(desired, live client.Object, kind string) error {
	want, have := metav1.GetControllerOf(desired), metav1.GetControllerOf(live)
	if want == nil {
		return fmt.Errorf("%s %s has no controller owner reference", kind, desired.GetName())
	}
	if formerSelf(want, have) {
		return fmt.Errorf("%s %s of the former %s: %w", kind, live.GetName(), want.Kind, ErrTerminating)
	}
	if have == nil || have.UID != want.UID {
		return &NotOwnedError{Kind: kind, Namespace: live.GetNamespace(), Name: live.GetName()}
	}
	if !live.GetDeletionTimestamp().IsZero() {
		return fmt.Errorf("%s %s: %w", kind, live.GetName(), ErrTerminating)
	}
	return nil
}

// formerSelf tells whether an object's controller is one of the same name that was deleted and made anew, as when a commit
// is reverted: the garbage collector is about to remove the object.
func formerSelf(want, have *metav1.OwnerReference) bool {
	return have != nil && have.UID != want.UID && have.APIVersion == want.APIVersion && have.Kind == want.Kind && have.Name == want.Name
}

// holds tells whether the cached object needs no write. An object of which only the metadata are known always does.
func holds(live client.Object, content map[string]any, hash string) (bool, error) {
	if _, partial := live.(*metav1.PartialObjectMetadata); partial {
		return false, nil
	}
	if live.GetAnnotations()[AnnotationAppliedHash] != hash {
		return false, nil
	}
	have, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, fmt.Errorf("converting %T %s: %w", live, live.GetName(), err)
	}
	return Subset(content, have), nil
}
