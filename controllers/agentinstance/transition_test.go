// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

func TestTransition(t *testing.T) {
	rounds := int32(3)
	up := &v1alpha1.RecomputeStatus{Reason: "service-up", Service: "llm", Rounds: &rounds}
	shutdown := &v1alpha1.RecomputeStatus{Reason: "shutdown"}
	cases := map[string]struct {
		was, is    v1alpha1.State
		before     *v1alpha1.RecomputeStatus
		after      *v1alpha1.RecomputeStatus
		want       string
		recomputes int
	}{
		"first state":          {"", v1alpha1.StateActivating, nil, nil, "why", 0},
		"same state":           {v1alpha1.StateActive, v1alpha1.StateActive, up, up, "why", 0},
		"with a run":           {v1alpha1.StatePending, v1alpha1.StateActive, nil, up, "Pending to Active: why (service-up of llm, rounds: 3)", 1},
		"with an old run":      {v1alpha1.StateActive, v1alpha1.StateError, up, up, "Active to Error: why", 0},
		"a run of no service":  {v1alpha1.StateActive, v1alpha1.StateActive, up, shutdown, "why (shutdown, rounds: 0)", 1},
		"the run is forgotten": {v1alpha1.StateActive, v1alpha1.StateDisabled, up, nil, "Active to Disabled: why", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			metrics, err := shared.NewMetrics(registry)
			if err != nil {
				t.Fatal(err)
			}
			r := &Reconciler{Options: Options{Metrics: metrics}}
			before, after := &v1alpha1.AgentInstance{}, &v1alpha1.AgentInstance{}
			before.Status.State, before.Status.LastRecompute = c.was, c.before
			after.Status.State, after.Status.LastRecompute = c.is, c.after
			if got := transition(before, after, "why"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			r.countTransition(before, after)
			if n, err := testutil.GatherAndCount(registry, "aalis_operator_recompute_total"); err != nil || n != c.recomputes {
				t.Errorf("counted %d runs, %v; want %d", n, err, c.recomputes)
			}
			changed := 0
			if c.was != c.is {
				changed = 1
			}
			if n, err := testutil.GatherAndCount(registry, "aalis_operator_state_changes_total"); err != nil || n != changed {
				t.Errorf("counted %d changes of state, %v; want %d", n, err, changed)
			}
		})
	}
}
