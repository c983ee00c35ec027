// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// TestPluginSelector: a Plugin that is given the label comes to the bots that select it, one that loses it or is deleted goes, and its
// status counts them; bots that do not select it never hear of it.
func TestPluginSelector(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	chooser, other := s.bots[0], s.bots[1]
	testenv.Edit(t, &env, chooser, func(in *v1alpha1.AgentInstance) {
		in.Spec.PluginSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"for": "all"}}
	})
	has := func(id string, wanted bool) {
		t.Helper()
		testenv.Eventually(t, func() error {
			config, err := delivered(t, chooser).Current.Unpack()
			if err != nil {
				return err
			}
			found := false
			for _, p := range config.Plugins {
				found = found || p.ID == id
			}
			if found != wanted {
				return fmt.Errorf("%s is there: %t", id, found)
			}
			return nil
		})
	}
	counts := func(p *v1alpha1.Plugin, selected, applied int32) {
		t.Helper()
		testenv.WaitFor(t, &env, p, func(p *v1alpha1.Plugin) error {
			if u := p.Status.Usage; u == nil || u.Selected == nil || *u.Selected != selected || u.Applied == nil || *u.Applied != applied {
				return fmt.Errorf("usage %+v, want %d selected, %d applied", u, selected, applied)
			}
			return nil
		})
	}
	const spare = "@aalis/plugin-llm-openai:spare"
	p := testenv.Plugin(s.ns, "spare")
	p.Labels = map[string]string{"for": "nobody"}
	env.Create(t, p)
	counts(p, 0, 0)
	before := delivered(t, other).Current.Sequence
	label := func(value string) {
		testenv.Edit(t, &env, p, func(p *v1alpha1.Plugin) { p.Labels = map[string]string{"for": value} })
	}
	label("all")
	has(spare, true)
	counts(p, 1, 1)
	testenv.WaitFor(t, &env, chooser, func(in *v1alpha1.AgentInstance) error {
		if !slices.ContainsFunc(in.Status.Inputs, func(i v1alpha1.InputStatus) bool { return i.Name == "spare" && i.Kind == v1alpha1.KindPlugin }) {
			return fmt.Errorf("inputs %+v", in.Status.Inputs)
		}
		return testenv.Ready(in.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonActive, false, false)
	})
	label("nobody")
	has(spare, false)
	counts(p, 0, 0)
	label("all")
	has(spare, true)
	counts(p, 1, 1)
	if err := env.Client().Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	has(spare, false)
	testenv.Eventually(t, func() error {
		err := env.Client().Get(context.Background(), client.ObjectKeyFromObject(p), p)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the Plugin is still there: %w", err)
	})
	if after := delivered(t, other).Current.Sequence; after != before {
		t.Errorf("a bot that selects nothing went from %d to %d", before, after)
	}
	s.settle(t)
	s.operator.Quiet(t)
	if n := s.operator.Writes.Total(); n != 0 {
		t.Errorf("wrote %d times at rest: %s", n, s.operator.Writes)
	}
	s.forbidden(t)
}
