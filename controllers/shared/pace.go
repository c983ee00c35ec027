// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The pace of one object: so many passes at once, and then so many a second. An ordinary change takes fewer than ten.
const (
	paceBurst  = 30
	pacePerSec = 2
)

// fullAgain is how long an object must be left alone to have its whole burst again.
const fullAgain = paceBurst / pacePerSec * time.Second

// Pace lets each object of a kind be reconciled a bounded number of times a second, whoever touches it: a kernel that
// floods its report, or a tenant who edits without end, costs other tenants no more than that. A pass that is put off
// sees the last of what happened until then. Its methods may be called concurrently.
type Pace struct {
	next    reconcile.Reconciler
	now     func() time.Time
	putOff  func()
	mu      sync.Mutex
	turned  time.Time
	current map[types.NamespacedName]*rate.Limiter
	earlier map[types.NamespacedName]*rate.Limiter
}

// NewPace paces a reconciler. PutOff is called for each pass that is put off.
func NewPace(next reconcile.Reconciler, now func() time.Time, putOff func()) *Pace {
	return &Pace{next: next, now: now, putOff: putOff, current: map[types.NamespacedName]*rate.Limiter{}}
}

// Reconcile implements reconcile.Reconciler.
func (p *Pace) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !p.allow(req.NamespacedName) {
		p.putOff()
		return ctrl.Result{RequeueAfter: time.Second / pacePerSec}, nil
	}
	return p.next.Reconcile(ctx, req)
}

func (p *Pace) allow(key types.NamespacedName) bool {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.turned) >= fullAgain {
		// What stood in neither generation has its whole burst again, so that forgetting it changes nothing.
		if now.Sub(p.turned) >= 2*fullAgain {
			clear(p.current)
		}
		p.earlier, p.current, p.turned = p.current, map[types.NamespacedName]*rate.Limiter{}, now
	}
	l := p.current[key]
	if l == nil {
		if l = p.earlier[key]; l == nil {
			l = rate.NewLimiter(pacePerSec, paceBurst)
		}
		p.current[key] = l
	}
	return l.AllowN(now, 1)
}
