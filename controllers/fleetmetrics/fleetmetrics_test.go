// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetmetrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// shelf is a cache that holds some objects.
type shelf struct {
	client.Reader

	bots    []v1alpha1.AgentInstance
	plugins []v1alpha1.Plugin
	err     error
}

func (s *shelf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *v1alpha1.AgentInstanceList:
		l.Items = s.bots
	case *v1alpha1.PluginList:
		l.Items = s.plugins
	}
	return s.err
}

func elected() <-chan struct{} {
	out := make(chan struct{})
	close(out)
	return out
}

func bot(name string, status v1alpha1.AgentInstanceStatus) v1alpha1.AgentInstance {
	return v1alpha1.AgentInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name}, Status: status}
}

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	n := int64(7)
	s := &shelf{
		bots: []v1alpha1.AgentInstance{
			bot("new", v1alpha1.AgentInstanceStatus{}),
			bot("well", v1alpha1.AgentInstanceStatus{State: v1alpha1.StateActive, Sequence: &n, Conditions: []metav1.Condition{
				condition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Active"), condition(v1alpha1.ConditionStalled, metav1.ConditionFalse, "Active"),
			}}),
			bot("ill", v1alpha1.AgentInstanceStatus{
				State: v1alpha1.StateActive, PendingChange: &v1alpha1.PendingChange{Effect: "Reload"},
				Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRevisionRejected)},
			}),
		},
		plugins: []v1alpha1.Plugin{{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "main"}, Status: v1alpha1.PluginStatusSummary{State: v1alpha1.StateError}}},
	}
	want := `
		# HELP aalis_operator_instance_condition 1 if a condition of the bot is True, otherwise 0.
		# TYPE aalis_operator_instance_condition gauge
		aalis_operator_instance_condition{agent="ill",condition="Ready",namespace="team-a",reason="RevisionRejected"} 0
		aalis_operator_instance_condition{agent="well",condition="Ready",namespace="team-a",reason="Active"} 1
		aalis_operator_instance_condition{agent="well",condition="Stalled",namespace="team-a",reason="Active"} 0
		# HELP aalis_operator_instance_pending_change 1 while something that was delivered to the bot is not acknowledged; effect is Reload or Restart.
		# TYPE aalis_operator_instance_pending_change gauge
		aalis_operator_instance_pending_change{agent="ill",effect="Reload",namespace="team-a"} 1
		# HELP aalis_operator_instance_rejected 1 while the bot's kernel refuses the revision that is delivered to it.
		# TYPE aalis_operator_instance_rejected gauge
		aalis_operator_instance_rejected{agent="ill",namespace="team-a"} 1
		aalis_operator_instance_rejected{agent="new",namespace="team-a"} 0
		aalis_operator_instance_rejected{agent="well",namespace="team-a"} 0
		# HELP aalis_operator_instance_sequence Sequence number of the revision that is delivered to the bot.
		# TYPE aalis_operator_instance_sequence gauge
		aalis_operator_instance_sequence{agent="well",namespace="team-a"} 7
		# HELP aalis_operator_instance_state Always 1; the label state says how the bot stands.
		# TYPE aalis_operator_instance_state gauge
		aalis_operator_instance_state{agent="ill",namespace="team-a",state="Active"} 1
		aalis_operator_instance_state{agent="well",namespace="team-a",state="Active"} 1
		# HELP aalis_operator_objects Objects by kind.
		# TYPE aalis_operator_objects gauge
		aalis_operator_objects{kind="AgentInstance"} 3
		aalis_operator_objects{kind="Plugin"} 1
		# HELP aalis_operator_plugin_state Always 1; the label state is the worst over the bots that use the Plugin.
		# TYPE aalis_operator_plugin_state gauge
		aalis_operator_plugin_state{namespace="team-a",plugin="main",state="Error"} 1
`
	if err := testutil.CollectAndCompare(New(s, elected()), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(New(s, make(chan struct{}))); n != 0 {
		t.Errorf("an operator that waits for its turn shows %d series", n)
	}
	s.err = errors.New("out of order")
	if _, err := testutil.CollectAndLint(New(s, elected())); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("a cache that cannot be read: %v", err)
	}
}

// TestBounds: however many objects there are, the series stay within the bounds, and all are counted.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	n := int64(1)
	for i := range MaxBots + 100 {
		s.bots = append(s.bots, bot(fmt.Sprint("b", i), v1alpha1.AgentInstanceStatus{
			State: v1alpha1.StateActive, Sequence: &n, PendingChange: &v1alpha1.PendingChange{Effect: "Reload"},
			Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, "True", "a"), condition(v1alpha1.ConditionReconciling, "True", "a"), condition(v1alpha1.ConditionStalled, "True", "a")},
		}))
	}
	if n := testutil.CollectAndCount(New(s, elected())); n > MaxBots*SeriesPerBot+2 || n < MaxBots*7 {
		t.Errorf("%d series", n)
	}
	if problems, err := testutil.CollectAndLint(New(&shelf{bots: s.bots[:3]}, elected())); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func BenchmarkCollect(b *testing.B) {
	s := &shelf{}
	for i := range 5000 {
		s.bots = append(s.bots, bot(fmt.Sprint("b", i), v1alpha1.AgentInstanceStatus{
			State: v1alpha1.StateActive, Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, "True", "a"), condition(v1alpha1.ConditionStalled, "False", "a")},
		}))
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(New(s, elected()))
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
