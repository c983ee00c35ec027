// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// family gathers one metric, by the values of a label.
func family(t *testing.T, registry *prometheus.Registry, name, label string) map[string]*dto.Metric {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.Metric{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			key := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == label {
					key = l.GetValue()
				}
			}
			out[key] = m
		}
	}
	return out
}

// TestFleetMetrics: Prometheus sees how each bot stands, how long an edit took to be live, and which bot refuses one; what is
// deleted is gone from the metrics too.
func TestFleetMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := newScene(t, 2, func(o *controllers.Options) { o.Registry = registry })
	applied := func() uint64 {
		return family(t, registry, "aalis_operator_apply_duration_seconds", "")[""].GetHistogram().GetSampleCount()
	}
	if n := applied(); n != 0 {
		t.Errorf("%d edits were measured before there was one", n)
	}
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a fast owl." })
	testenv.Eventually(t, func() error {
		if n := applied(); n != 2 {
			return fmt.Errorf("%d edits were measured, want one of each bot", n)
		}
		return nil
	})
	if got := slices.Sorted(maps.Keys(family(t, registry, "aalis_operator_instance_state", "agent"))); !slices.Equal(got, []string{"bot-0", "bot-1"}) {
		t.Errorf("bots %v", got)
	}
	good := delivered(t, s.bots[0]).Current.Revision
	s.node.Behave(t, testenv.Behaviour{Reject: func(bot, revision string) string {
		if bot == "bot-0" && revision != good {
			return "not to my taste"
		}
		return ""
	}})
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a bad owl." })
	testenv.Eventually(t, func() error {
		rejected := family(t, registry, "aalis_operator_instance_rejected", "agent")
		if rejected["bot-0"].GetGauge().GetValue() != 1 || rejected["bot-1"].GetGauge().GetValue() != 0 {
			return fmt.Errorf("rejected %v", rejected)
		}
		return nil
	})
	testenv.Eventually(t, func() error {
		if n := applied(); n != 3 {
			return fmt.Errorf("%d edits were measured, want 3: a refusal is none", n)
		}
		return nil
	})
	if err := env.Client().Delete(t.Context(), s.bots[0]); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error {
		if left := family(t, registry, "aalis_operator_instance_condition", "agent"); len(left) != 1 {
			return fmt.Errorf("conditions of %v are left", slices.Sorted(maps.Keys(left)))
		}
		return nil
	})
}
