// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Uncertain remembers of which objects a status was sent with no answer that says what became of it, such as a time-out. Such an
// object is read from the API server in its next pass: the cache may still show what was there before, and a pass that wants just
// that would find nothing to write and leave the wrong status for good. It is bounded by the objects there are.
type Uncertain struct {
	mu   sync.Mutex
	keys map[types.NamespacedName]bool
}

// NewUncertain makes an empty one.
func NewUncertain() *Uncertain { return &Uncertain{keys: map[types.NamespacedName]bool{}} }

// Get reads an object: from the cache, or from the API server while the cache may not show yet what was sent.
func (u *Uncertain) Get(ctx context.Context, cached, live client.Reader, key types.NamespacedName, obj client.Object) error {
	err := cached.Get(ctx, key, obj)
	if !u.doubtful(key) {
		return err
	}
	shown := obj.GetResourceVersion()
	if err == nil || apierrors.IsNotFound(err) {
		err = live.Get(ctx, key, obj)
	}
	if apierrors.IsNotFound(err) || err == nil && obj.GetResourceVersion() == shown {
		u.settle(key, true)
	}
	return err
}

func (u *Uncertain) doubtful(key types.NamespacedName) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.keys[key]
}

// PatchStatus is PatchStatus of the package, with a note of what became of it.
func (u *Uncertain) PatchStatus(ctx context.Context, c client.Client, before, after client.Object) error {
	err := PatchStatus(ctx, c, before, after)
	u.settle(client.ObjectKeyFromObject(before), err == nil || notWritten(err))
	return err
}

func (u *Uncertain) settle(key types.NamespacedName, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known {
		delete(u.keys, key)
		return
	}
	u.keys[key] = true
}

// notWritten tells whether an answer says that nothing was written.
func notWritten(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsNotFound(err) || apierrors.IsUnauthorized(err) || apierrors.IsTooManyRequests(err)
}
