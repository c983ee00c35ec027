// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// faulty fails a share of the writes, by a fixed seed: with a conflict, a server error, or, the meanest, after the write
// has been done.
type faulty struct {
	client.Client
	mu     sync.Mutex
	random *rand.Rand
	failed int
}

func (f *faulty) fail(write func() error) error {
	f.mu.Lock()
	n := f.random.IntN(10)
	if n < 3 {
		f.failed++
	}
	f.mu.Unlock()
	switch n {
	case 0:
		return apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "x", errors.New("injected"))
	case 1:
		return apierrors.NewInternalError(errors.New("injected"))
	case 2:
		if err := write(); err != nil {
			return err
		}
		return apierrors.NewTimeoutError("injected after the write", 0)
	}
	return write()
}

// Create implements client.Client.
func (f *faulty) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return f.fail(func() error { return f.Client.Create(ctx, obj, opts...) })
}

// Delete implements client.Client.
func (f *faulty) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return f.fail(func() error { return f.Client.Delete(ctx, obj, opts...) })
}

// Apply implements client.Client.
func (f *faulty) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return f.fail(func() error { return f.Client.Apply(ctx, obj, opts...) })
}

// Patch implements client.Client.
func (f *faulty) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return f.fail(func() error { return f.Client.Patch(ctx, obj, patch, opts...) })
}

// Status implements client.Client.
func (f *faulty) Status() client.SubResourceWriter { return &faultyStatus{f.Client.Status(), f} }

type faultyStatus struct {
	client.SubResourceWriter
	faults *faulty
}

// Patch implements client.SubResourceWriter.
func (s *faultyStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.faults.fail(func() error { return s.SubResourceWriter.Patch(ctx, obj, patch, opts...) })
}

// TestFaults: with three in ten writes failing, everything still gets where it should, and goes where it should not stay.
func TestFaults(t *testing.T) {
	ns := env.Namespace(t)
	env.StartNode(t, ns)
	faults := &faulty{random: rand.New(rand.NewPCG(1, 2))}
	env.StartOperator(t, []string{ns}, func(o *controllers.Options) {
		o.WrapClient = func(c client.Client) client.Client { faults.Client = c; return faults }
	})
	persona := testenv.Persona(ns, "owl", "You are an owl.")
	env.Create(t, testenv.Plugin(ns, "main"), persona)
	var bots []*v1alpha1.AgentInstance
	for i := range 5 {
		bots = append(bots, testenv.Instance(ns, fmt.Sprintf("bot-%d", i)))
		env.Create(t, bots[i])
	}
	ready := func(in *v1alpha1.AgentInstance) error {
		return testenv.Ready(in.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonActive, false, false)
	}
	for _, bot := range bots {
		testenv.WaitFor(t, &env, bot, ready)
	}
	testenv.Edit(t, &env, persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a tough owl." })
	testenv.WaitFor(t, &env, persona, func(p *v1alpha1.Persona) error {
		if *p.Status.ObservedGeneration != p.Generation || *p.Status.Usage.Applied != 5 {
			return fmt.Errorf("status %+v", p.Status)
		}
		return nil
	})
	for _, bot := range bots {
		env.Refresh(t, bot)
		if *bot.Status.Sequence != 2 {
			t.Errorf("%s was delivered to %d times, want 2", bot.Name, *bot.Status.Sequence)
		}
		if err := env.Client().Delete(t.Context(), bot); err != nil {
			t.Fatal(err)
		}
	}
	for _, bot := range bots {
		testenv.Eventually(t, func() error {
			err := env.Client().Get(context.Background(), client.ObjectKeyFromObject(bot), bot)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("%s is still there: %w", bot.Name, err)
		})
	}
	faults.mu.Lock()
	defer faults.mu.Unlock()
	if faults.failed < 10 {
		t.Errorf("only %d writes failed", faults.failed)
	}
}
