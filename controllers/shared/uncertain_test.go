// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// server holds one Persona, and answers a status patch as a test says.
type server struct {
	client.Client

	version, prompt string
	gone            bool
	answer          error
	patches         []string
}

func (s *server) Get(_ context.Context, key types.NamespacedName, obj client.Object, _ ...client.GetOption) error {
	if s.gone {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	p := &v1alpha1.Persona{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, ResourceVersion: s.version}}
	p.Spec.Prompt = s.prompt
	*obj.(*v1alpha1.Persona) = *p
	return nil
}

func (s *server) Status() client.SubResourceWriter { return &statusOf{server: s} }

type statusOf struct {
	client.SubResourceWriter
	server *server
}

func (s *statusOf) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	s.server.patches = append(s.server.patches, string(data))
	return s.server.answer
}

// TestUncertain: after an answer that does not say what became of a status, the object is read from the API server until the cache
// shows the same; an answer that says it changes nothing.
func TestUncertain(t *testing.T) {
	t.Parallel()
	key := types.NamespacedName{Namespace: "ns", Name: "owl"}
	resource := schema.GroupResource{Group: "aalis.dev", Resource: "personas"}
	for name, c := range map[string]struct {
		answer error
		doubt  bool
	}{
		"written":   {nil, false},
		"conflict":  {apierrors.NewConflict(resource, "owl", errors.New("x")), false},
		"invalid":   {apierrors.NewInvalid(schema.GroupKind{}, "owl", nil), false},
		"time-out":  {apierrors.NewTimeoutError("x", 0), true},
		"broken":    {errors.New("connection reset"), true},
		"internal":  {apierrors.NewInternalError(errors.New("x")), true},
		"is gone":   {apierrors.NewNotFound(resource, "owl"), false},
		"cancelled": {context.Canceled, true},
	} {
		cache, live, u := &server{version: "1", prompt: "cached", answer: c.answer}, &server{version: "2", prompt: "live"}, NewUncertain()
		read := func() string {
			p := &v1alpha1.Persona{}
			if err := u.Get(t.Context(), cache, live, key, p); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return p.Spec.Prompt
		}
		if got := read(); got != "cached" {
			t.Errorf("%s: before anything was sent read %s", name, got)
		}
		before := &v1alpha1.Persona{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "owl", ResourceVersion: "1"}}
		after := before.DeepCopy()
		_ = u.PatchStatus(t.Context(), cache, before, after)
		want := "cached"
		if c.doubt {
			want = "live"
		}
		if got := read(); got != want {
			t.Errorf("%s: read %s, want %s", name, got, want)
		}
		cache.version = "2"
		read()
		if got := read(); got != "cached" {
			t.Errorf("%s: with the cache up to date read %s", name, got)
		}
		if len(u.keys) != 0 {
			t.Errorf("%s: still remembers %v", name, u.keys)
		}
	}
	u, gone := NewUncertain(), &server{gone: true}
	u.settle(key, false)
	if err := u.Get(t.Context(), gone, gone, key, &v1alpha1.Persona{}); !apierrors.IsNotFound(err) || len(u.keys) != 0 {
		t.Errorf("%v, %v", err, u.keys)
	}
}

// TestStatusNeedsTheVersion: a status that was made from an object as it no longer is conflicts.
func TestStatusNeedsTheVersion(t *testing.T) {
	t.Parallel()
	s := &server{}
	before := &v1alpha1.Persona{ObjectMeta: metav1.ObjectMeta{Name: "owl", ResourceVersion: "7"}}
	after := before.DeepCopy()
	generation := int64(3)
	after.Status.ObservedGeneration = &generation
	if err := PatchStatus(t.Context(), s, before, after); err != nil {
		t.Fatal(err)
	}
	if want := `{"metadata":{"resourceVersion":"7"},"status":{"observedGeneration":3}}`; len(s.patches) != 1 || s.patches[0] != want {
		t.Errorf("sent %v, want %s", s.patches, want)
	}
}
