// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// orderPatience bounds how long a message waits for the one before it, counted from when that one began. A phase may well
// take long, and may even wait for the younger message: a command that asks for a confirmation does.
const orderPatience = 100 * time.Millisecond

// order keeps two messages of one session that came shortly after each other from overtaking one another on the way to
// the agent: there, the later one aborts the turn of the earlier one, and it must not happen the other way round.
type order struct {
	patience time.Duration
	mu       sync.Mutex
	last     map[string]*place // by session; the youngest message that has not left
}

// place is one message's place in the line of its session.
type place struct {
	order   *order
	session string
	before  *place        // the older message; nil if there is none
	began   chan struct{} // closed when the message has done waiting
	left    chan struct{} // closed when the agent has it, or it has ended
	once    sync.Once
}

// placeKey is the context key of a message's *place.
type placeKey struct{}

func newOrder() *order { return &order{patience: orderPatience, last: map[string]*place{}} }

// join takes the next place of a session. The caller calls wait and then leave, once or more.
func (o *order) join(session string) *place {
	p := &place{order: o, session: session, began: make(chan struct{}), left: make(chan struct{})}
	o.mu.Lock()
	defer o.mu.Unlock()
	p.before = o.last[session]
	o.last[session] = p
	return p
}

// wait returns when the older message has left, when patience with it is over, or when ctx ends.
func (p *place) wait(ctx context.Context) {
	defer close(p.began)
	older := p.before
	if older == nil {
		return
	}
	p.before = nil // for the garbage collector: a line may be long
	select {
	case <-older.left:
		return
	case <-older.began:
	case <-ctx.Done():
		return
	}
	patience := time.NewTimer(p.order.patience)
	defer patience.Stop()
	select {
	case <-older.left:
	case <-patience.C:
	case <-ctx.Done():
	}
}

func (p *place) leave() {
	p.once.Do(func() {
		close(p.left)
		p.order.mu.Lock()
		defer p.order.mu.Unlock()
		if p.order.last[p.session] == p {
			delete(p.order.last, p.session)
		}
	})
}

// within makes the place known to agentReached.
func (p *place) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, placeKey{}, p)
}

// agentReached is a handler of the hook that the agent runs first in a turn, when the turn has taken the place of the one
// before it.
func agentReached(ctx context.Context, _ *agent.InputData, next kernel.Next) error {
	if p, ok := ctx.Value(placeKey{}).(*place); ok {
		p.leave()
	}
	return next(ctx)
}
