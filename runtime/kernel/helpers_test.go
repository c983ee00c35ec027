// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// bubble makes a test run in a bubble of fake time, in which timeouts cost nothing and goroutines that stay behind fail
// the test.
func bubble(fn func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, fn) }
}

// pass lets a bubble's fake time go by.
func pass(d time.Duration) { <-time.After(d) }

// trace is a list of what happened, in order.
type trace struct {
	mu    sync.Mutex
	steps []string
}

func (r *trace) add(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, step)
}

func (r *trace) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	steps := r.steps
	r.steps = nil
	return steps
}

// want compares with what happened since the last call.
func (r *trace) want(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.take()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func (r *trace) count(step string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.steps {
		if s == step {
			n++
		}
	}
	return n
}

func fork(t *testing.T, k *kernel.Context, id string) *kernel.Context {
	t.Helper()
	c, err := k.Fork(id)
	if err != nil {
		t.Fatalf("forking %s: %v", id, err)
	}
	return c
}

func dispose(t *testing.T, k *kernel.Context) {
	t.Helper()
	if err := k.Dispose(context.Background()); err != nil {
		t.Fatalf("disposing %s: %v", k.ID(), err)
	}
}

func wantLog(t *testing.T, h *kerneltest.Harness, texts ...string) {
	t.Helper()
	if len(h.Logs.Find(texts...)) == 0 {
		t.Errorf("no log record has all of %q:\n%s", texts, h.Logs)
	}
}

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with %q", texts)
	}
	for _, s := range texts {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not contain %q", err, s)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// spec makes a test module short to write.
type spec struct {
	name     string
	provides []string
	requires []string
	optional []string
	bounce   bool
	core     bool
	reusable bool
	apply    func(k *kernel.Context, cfg map[string]any) error
	cleanup  func()
}

func service(name string) kernel.Service[string] { return kernel.NewService[string](name) }

// module makes the module. By default it provides what it declares, with its id as the instance.
func (s spec) module() kernel.Module {
	apply := s.apply
	if apply == nil {
		apply = func(k *kernel.Context, _ map[string]any) error {
			for _, p := range s.provides {
				service(p).Provide(k, k.ID())
			}
			return nil
		}
	}
	return kernel.Module{
		Name: s.name, Provides: s.provides, Core: s.core, Reusable: s.reusable, RequiresBounceOnDepChange: s.bounce,
		Inject: kernel.Inject{Required: s.requires, Optional: s.optional},
		Apply: func(k *kernel.Context, cfg map[string]any) error {
			if s.cleanup != nil {
				k.OnDispose("cleanup", func(context.Context) error { s.cleanup(); return nil })
			}
			return apply(k, cfg)
		},
	}
}

func register(t *testing.T, h *kerneltest.Harness, m kernel.Module, id string) {
	t.Helper()
	must(t, h.App.Plugins().Register(m, id, kernel.PluginConfig{}))
}

func unload(t *testing.T, h *kerneltest.Harness, id string) {
	t.Helper()
	must(t, h.App.Plugins().Unload(context.Background(), id))
}

func disable(t *testing.T, h *kerneltest.Harness, id string) {
	t.Helper()
	must(t, h.App.Plugins().Disable(context.Background(), id))
}

func bounce(t *testing.T, h *kerneltest.Harness, id string, opts ...kernel.BounceOption) {
	t.Helper()
	must(t, h.App.Plugins().Bounce(context.Background(), id, opts...))
}

// record notes every emission of the named kernel events, as "event name".
func record(k *kernel.Context, r *trace, events ...kernel.Event[string]) {
	for _, e := range events {
		e.On(k, func(_ context.Context, name string) error {
			r.add(e.Name() + " " + name)
			return nil
		})
	}
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}
