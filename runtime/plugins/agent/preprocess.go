// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// preprocessors holds what other plugins run before each turn, in order.
type preprocessors struct {
	mu   sync.Mutex
	list []*preprocessor
}

// preprocessor is one of them. It is told apart from a later one of the same name by its address.
type preprocessor struct {
	name string
	off  func() // takes it out of the hook
}

// RegisterPreprocessor implements agent.Agent.
func (a *conductor) RegisterPreprocessor(name string, fn agent.Preprocessor) (off func()) {
	p := &preprocessor{name: name}
	p.off = agent.InputBefore.Use(a.k, func(ctx context.Context, d *agent.InputData, next kernel.Next) error {
		return fn(ctx, &d.Message, next)
	})
	if replaced := a.preprocessors.put(p); replaced != nil {
		replaced.off()
	}
	return func() {
		if a.preprocessors.take(p) {
			p.off()
		}
	}
}

// Preprocessors implements agent.Agent.
func (a *conductor) Preprocessors() []string {
	a.preprocessors.mu.Lock()
	defer a.preprocessors.mu.Unlock()
	names := make([]string, len(a.preprocessors.list))
	for i, p := range a.preprocessors.list {
		names[i] = p.name
	}
	return names
}

// put adds one behind the others, and gives the one of the same name that it replaces.
func (l *preprocessors) put(p *preprocessor) (replaced *preprocessor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.list, func(o *preprocessor) bool { return o.name == p.name }); i >= 0 {
		replaced = l.list[i]
		l.list = slices.Delete(l.list, i, i+1)
	}
	l.list = append(l.list, p)
	return replaced
}

func (l *preprocessors) take(p *preprocessor) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.list, p)
	if i < 0 {
		return false
	}
	l.list = slices.Delete(l.list, i, i+1)
	return true
}
