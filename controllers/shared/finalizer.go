// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// EnsureFinalizer adds a finalizer in a patch of its own, unless it is there or the object is being deleted. The patch
// fails with a conflict if somebody else changed the object since it was read, so that no other finalizer is lost.
func EnsureFinalizer(ctx context.Context, c client.Client, obj client.Object, name string) error {
	if !obj.GetDeletionTimestamp().IsZero() || controllerutil.ContainsFinalizer(obj, name) {
		return nil
	}
	return patchFinalizers(ctx, c, obj, func(o client.Object) { controllerutil.AddFinalizer(o, name) })
}

// DropFinalizer removes a finalizer in a patch of its own. An object that is gone is no error.
func DropFinalizer(ctx context.Context, c client.Client, obj client.Object, name string) error {
	if !controllerutil.ContainsFinalizer(obj, name) {
		return nil
	}
	err := patchFinalizers(ctx, c, obj, func(o client.Object) { controllerutil.RemoveFinalizer(o, name) })
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func patchFinalizers(ctx context.Context, c client.Client, obj client.Object, change func(client.Object)) error {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is not an API object", obj)
	}
	change(obj)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, obj, patch, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return fmt.Errorf("patching the finalizers of %s: %w", obj.GetName(), err)
	}
	return nil
}
