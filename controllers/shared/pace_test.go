// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// paced counts the passes of each object behind a Pace whose clock stands still until it is moved.
type paced struct {
	*Pace
	clock  time.Time
	passes map[string]int
	putOff int
}

func newPaced() *paced {
	p := &paced{clock: time.Unix(1_800_000_000, 0), passes: map[string]int{}}
	p.Pace = NewPace(reconcile.Func(func(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
		p.passes[req.Name]++
		return ctrl.Result{}, nil
	}), func() time.Time { return p.clock }, func() { p.putOff++ })
	return p
}

func (p *paced) ask(t *testing.T, name string) ctrl.Result {
	t.Helper()
	result, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestPace: a flood of one object is put off, another object is not, and what was put off has its pass later.
func TestPace(t *testing.T) {
	t.Parallel()
	p := newPaced()
	var last ctrl.Result
	for range 1000 {
		last = p.ask(t, "flood")
	}
	if p.passes["flood"] != paceBurst || p.putOff != 1000-paceBurst || last.RequeueAfter != time.Second/pacePerSec {
		t.Errorf("%d passes, %d put off, the last for %v", p.passes["flood"], p.putOff, last.RequeueAfter)
	}
	if r := p.ask(t, "calm"); r.RequeueAfter != 0 || p.passes["calm"] != 1 {
		t.Errorf("another object waits %v", r.RequeueAfter)
	}
	p.clock = p.clock.Add(last.RequeueAfter)
	if r := p.ask(t, "flood"); r.RequeueAfter != 0 {
		t.Errorf("what was put off is put off again, for %v", r.RequeueAfter)
	}
}

// TestPaceOverTime: however the calls lie, an object has at most its burst and its rate, and a flood is not made easier by
// what is forgotten. What nobody touches is forgotten.
func TestPaceOverTime(t *testing.T) {
	t.Parallel()
	p := newPaced()
	const seconds = 600
	for range seconds * 10 {
		p.ask(t, "flood")
		p.clock = p.clock.Add(100 * time.Millisecond)
	}
	if got, most := p.passes["flood"], paceBurst+seconds*pacePerSec; got > most || got < most-1 {
		t.Errorf("%d passes in %d s, want %d", got, seconds, most)
	}
	for i := range 1000 {
		p.ask(t, fmt.Sprint("bot-", i))
	}
	p.clock = p.clock.Add(fullAgain)
	p.ask(t, "x")
	p.clock = p.clock.Add(fullAgain)
	p.ask(t, "x")
	if n := len(p.current) + len(p.earlier); n > 2 {
		t.Errorf("%d objects are remembered", n)
	}
	p.clock = p.clock.Add(3 * fullAgain)
	for range paceBurst {
		if r := p.ask(t, "flood"); r.RequeueAfter != 0 {
			t.Fatal("an object that was left alone has not its whole burst again")
		}
	}
}
