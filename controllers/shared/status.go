// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// PassingAfter is how long a passing state must last before it is written, where no other time is set.
const PassingAfter = time.Second

// PatchStatus sends the difference between the statuses of before and after. The caller has found that there is one. If the object
// is no longer as before, that is a conflict: a difference to what nobody has any more would leave parts of both. An object
// that is gone by now is no error.
func PatchStatus(ctx context.Context, c client.Client, before, after client.Object) error {
	err := c.Status().Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(v1alpha1.FieldOwner))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("patching the status of %s: %w", before.GetName(), err)
	}
	return nil
}

// Passing remembers since when an object's status has differed from the written one in a state that passes by itself.
// It holds an entry only while such a difference is unwritten. The zero value is not usable; use NewPassing.
type Passing struct {
	now   func() time.Time
	after time.Duration
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// NewPassing makes a Passing that reads the clock with now and holds states back for a time, PassingAfter if it is 0.
func NewPassing(now func() time.Time, after time.Duration) *Passing {
	if after == 0 {
		after = PassingAfter
	}
	return &Passing{now: now, after: after, since: map[types.NamespacedName]time.Time{}}
}

// Hold says how much longer an unwritten passing state of the object is held back; 0 means that it has lasted long
// enough to be written.
func (p *Passing) Hold(key types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	start, ok := p.since[key]
	if !ok {
		p.since[key] = now
		return p.after
	}
	if left := p.after - now.Sub(start); left > 0 {
		return left
	}
	return 0
}

// Done forgets the object: its status is written, needs no writing, or is gone.
func (p *Passing) Done(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, key)
}
