// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Record sees to it that the present spec of an object is its newest revision, and returns the list with it. It writes
// only if the newest is of another content. Two operators that race make one revision: the name is the number.
func Record(ctx context.Context, c client.Client, obj client.Object, kind string, list []Revision) ([]Revision, int64, error) {
	content, err := Of(obj)
	if err != nil {
		return nil, 0, err
	}
	data, hash, err := content.Encode()
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s: %w", kind, obj.GetName(), err)
	}
	if number := Live(list, hash); number != 0 {
		return list, number, nil
	}
	r := build(obj, kind, next(list), data, hash)
	if err := c.Create(ctx, r); err != nil {
		return nil, 0, fmt.Errorf("recording revision %d of %s %s: %w", r.Revision, kind, obj.GetName(), err)
	}
	return append(list, Revision{Object: r.Name, UID: string(r.UID), Number: r.Revision, Hash: hash, Own: true}), r.Revision, nil
}

// Prune deletes what Surplus lists. What is gone already is no error.
func Prune(ctx context.Context, c client.Client, namespace string, list []Revision, inUse map[int64]bool) error {
	for _, r := range Surplus(list, inUse, Limit) {
		obj := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: r.Object}}
		if err := client.IgnoreNotFound(c.Delete(ctx, obj)); err != nil {
			return fmt.Errorf("pruning revision %d: %w", r.Number, err)
		}
	}
	return nil
}
