// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// healthy is a pass over a bot that runs what is declared: core, listed, backend (required by listed) and extra.
func healthy(t *testing.T) *pass {
	t.Helper()
	cat, err := catalog.New([]catalog.Module{
		{Name: "@aalis/plugin-core", Core: true, OnByDefault: true},
		{Name: "@aalis/plugin-listed", Required: []string{"backend"}},
		{Name: "@aalis/plugin-backend", Provides: []string{"backend"}, OnByDefault: true},
		{Name: "@aalis/plugin-extra", OnByDefault: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"@aalis/plugin-backend", "@aalis/plugin-core", "@aalis/plugin-extra", "@aalis/plugin-listed"}
	config := kernelconfig.Config{Format: kernelconfig.Format, Name: "hello"}
	var plugins []v1alpha1.PluginStatus
	for _, id := range ids {
		config.Plugins = append(config.Plugins, kernelconfig.Plugin{ID: id, Module: id})
		plugins = append(plugins, v1alpha1.PluginStatus{ID: id, State: v1alpha1.StateActive})
	}
	delivery := kernelconfig.Delivery{Revision: "new", Sequence: 2}
	return &pass{
		instance: &v1alpha1.AgentInstance{
			ObjectMeta: metav1.ObjectMeta{Name: "hello", Namespace: "a", Generation: 3},
			Spec:       v1alpha1.AgentInstanceSpec{Plugins: []v1alpha1.InstancePlugin{{Name: "listed", Module: "listed"}}},
		},
		input:    compose.Input{Catalog: cat},
		composed: compose.Result{Config: config, Delivery: delivery},
		wanted:   kernelconfig.Slots{Current: &delivery},
		world: world{scaled: 1, ready: true, podUID: "u1", replica: &v1alpha1.AgentReplica{Status: v1alpha1.AgentReplicaStatus{
			PodUID: "u1", AppliedRevision: "new", Plugins: plugins,
		}}},
	}
}

func setState(p *pass, id string, state v1alpha1.State) {
	for i := range p.world.replica.Status.Plugins {
		if plugin := &p.world.replica.Status.Plugins[i]; plugin.ID == "@aalis/plugin-"+id {
			plugin.State, plugin.Message = state, "waiting for service x"
		}
	}
}

// TestTruthTable is the design's table of what a bot's conditions say.
func TestTruthTable(t *testing.T) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	old := func(p *pass) { p.world.replica.Status.AppliedRevision = "old" }
	noPod := func(p *pass) { p.world = world{scaled: 1} }
	problem := func(severity compose.Severity, reason string) func(*pass) {
		return func(p *pass) {
			p.composed.Problems = []compose.Problem{{Severity: severity, Reason: reason, Object: "Plugin main", Message: "is odd"}}
		}
	}
	both := func(changes ...func(*pass)) func(*pass) {
		return func(p *pass) {
			for _, change := range changes {
				change(p)
			}
		}
	}
	suspend := func(p *pass) { p.instance.Spec.State = v1alpha1.DesiredStateSuspended }
	reject := func(p *pass) {
		p.world.replica.Status.Rejected = &v1alpha1.RejectedRevision{Revision: "new", Message: "no"}
	}
	state := func(id string, s v1alpha1.State) func(*pass) { return func(p *pass) { setState(p, id, s) } }
	cases := map[string]struct {
		change   func(*pass)
		ready    metav1.ConditionStatus
		progress shared.Progress
		reason   string
		state    v1alpha1.State
	}{
		"runs what is declared":        {func(*pass) {}, yes, shared.Settled, v1alpha1.ReasonActive, v1alpha1.StateActive},
		"not acknowledged":             {old, no, shared.Working, v1alpha1.ReasonWaitingForKernel, v1alpha1.StateActive},
		"rejected, the old one runs":   {both(old, reject), no, shared.Stuck, v1alpha1.ReasonRevisionRejected, v1alpha1.StateActive},
		"rejected, nothing runs":       {both(func(p *pass) { p.world.replica.Status.AppliedRevision = "" }, reject), no, shared.Stuck, v1alpha1.ReasonRevisionRejected, v1alpha1.StateError},
		"an old rejection":             {func(p *pass) { p.world.replica.Status.Rejected = &v1alpha1.RejectedRevision{Revision: "older"} }, yes, shared.Settled, v1alpha1.ReasonActive, v1alpha1.StateActive},
		"first start":                  {noPod, no, shared.Working, v1alpha1.ReasonStarting, v1alpha1.StateActivating},
		"pod lost":                     {both(noPod, func(p *pass) { p.instance.Status.AppliedRevision = "new" }), no, shared.Working, v1alpha1.ReasonPodNotReady, v1alpha1.StateActivating},
		"pod not ready":                {both(func(p *pass) { p.world.ready = false; p.instance.Status.AppliedRevision = "new" }), no, shared.Working, v1alpha1.ReasonPodNotReady, v1alpha1.StateActivating},
		"pod being replaced":           {both(func(p *pass) { p.world.rolling = true; p.instance.Status.AppliedRevision = "new" }), no, shared.Working, v1alpha1.ReasonPodNotReady, v1alpha1.StateActivating},
		"report of another pod":        {func(p *pass) { p.world.replica = nil }, no, shared.Working, v1alpha1.ReasonWaitingForKernel, v1alpha1.StateActivating},
		"suspended":                    {both(suspend, func(p *pass) { p.world = world{} }), yes, shared.Settled, v1alpha1.ReasonSuspended, v1alpha1.StateDisabled},
		"suspended, draining":          {suspend, no, shared.Working, v1alpha1.ReasonSuspended, v1alpha1.StateDisabled},
		"suspended and wrong":          {both(suspend, problem(compose.SeverityError, v1alpha1.ReasonInvalidConfig), func(p *pass) { p.world = world{} }), no, shared.Stuck, v1alpha1.ReasonInvalidConfig, v1alpha1.StateError},
		"wrong while it runs":          {problem(compose.SeverityError, v1alpha1.ReasonInvalidConfig), no, shared.Stuck, v1alpha1.ReasonInvalidConfig, v1alpha1.StateActive},
		"wrong from the start":         {both(problem(compose.SeverityError, v1alpha1.ReasonInvalidConfig), noPod), no, shared.Stuck, v1alpha1.ReasonInvalidConfig, v1alpha1.StateError},
		"no persona from the start":    {both(problem(compose.SeverityError, v1alpha1.ReasonPersonaNotFound), noPod), no, shared.Stuck, v1alpha1.ReasonPersonaNotFound, v1alpha1.StatePending},
		"deployed without something":   {problem(compose.SeverityWarning, v1alpha1.ReasonPluginNotFound), no, shared.Stuck, v1alpha1.ReasonPluginNotFound, v1alpha1.StateActive},
		"something worth knowing":      {problem(compose.SeverityInfo, v1alpha1.ReasonUnused), yes, shared.Settled, v1alpha1.ReasonActive, v1alpha1.StateActive},
		"listed plugin pending":        {state("listed", v1alpha1.StatePending), no, shared.Working, v1alpha1.ReasonPluginPending, v1alpha1.StatePending},
		"listed plugin in error":       {state("listed", v1alpha1.StateError), no, shared.Stuck, v1alpha1.ReasonPluginError, v1alpha1.StateError},
		"core plugin in error":         {state("core", v1alpha1.StateError), no, shared.Stuck, v1alpha1.ReasonPluginError, v1alpha1.StateError},
		"plugin it needs pending":      {state("backend", v1alpha1.StatePending), no, shared.Working, v1alpha1.ReasonPluginPending, v1alpha1.StatePending},
		"optional plugin pending":      {state("extra", v1alpha1.StatePending), yes, shared.Settled, v1alpha1.ReasonActive, v1alpha1.StateActive},
		"optional plugin in error":     {state("extra", v1alpha1.StateError), yes, shared.Settled, v1alpha1.ReasonActive, v1alpha1.StateActive},
		"listed plugin disabled":       {state("listed", v1alpha1.StateDisabled), yes, shared.Settled, v1alpha1.ReasonActive, v1alpha1.StateActive},
		"error goes before pending":    {both(state("listed", v1alpha1.StateError), state("backend", v1alpha1.StatePending)), no, shared.Stuck, v1alpha1.ReasonPluginError, v1alpha1.StateError},
		"no such model":                {func(p *pass) { p.world.replica.Status.ModelMessage = "no model" }, no, shared.Stuck, v1alpha1.ReasonModelNotFound, v1alpha1.StateActive},
		"foreign object":               {func(p *pass) { p.stuck = &shared.NotOwnedError{Kind: "Role", Name: "x"} }, no, shared.Stuck, v1alpha1.ReasonApplyFailed, v1alpha1.StateActive},
		"foreign object, nothing runs": {both(noPod, func(p *pass) { p.stuck = errors.New("quota") }), no, shared.Stuck, v1alpha1.ReasonApplyFailed, v1alpha1.StateError},
		"image not allowed":            {func(p *pass) { p.stuck = &render.ImageNotAllowedError{Image: "x"} }, no, shared.Stuck, v1alpha1.ReasonInvalidSpec, v1alpha1.StateActive},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := healthy(t)
			c.change(p)
			v := p.evaluate()
			if v.Ready != c.ready || v.Progress != c.progress || v.Reason != c.reason || v.state != c.state {
				t.Errorf("got %s/%s progress %d state %s (%s), want %s/%s progress %d state %s",
					v.Ready, v.Reason, v.Progress, v.state, v.Message, c.ready, c.reason, c.progress, c.state)
			}
			if v.Message == "" {
				t.Error("the message is empty")
			}
			checkStatus(t, p, v)
		})
	}
}

// checkStatus checks what holds for every status.
func checkStatus(t *testing.T, p *pass, v verdict) {
	t.Helper()
	var status v1alpha1.AgentInstanceStatus
	p.fill(&status, v)
	truth := map[string]bool{}
	for _, c := range status.Conditions {
		truth[c.Type] = c.Status == metav1.ConditionTrue
		if c.ObservedGeneration != 3 || c.Reason == "" {
			t.Errorf("condition %+v lacks its generation or reason", c)
		}
	}
	if truth[v1alpha1.ConditionReconciling] && truth[v1alpha1.ConditionStalled] {
		t.Error("both Reconciling and Stalled are True")
	}
	if truth[v1alpha1.ConditionReady] && (truth[v1alpha1.ConditionReconciling] || truth[v1alpha1.ConditionStalled]) {
		t.Error("Ready is True together with Reconciling or Stalled")
	}
	if status.ObservedGeneration == nil || *status.ObservedGeneration != 3 {
		t.Error("observedGeneration is not that of the spec")
	}
	for _, plugin := range p.plugins() {
		if plugin.ID == "@aalis/plugin-extra" && plugin.State != v1alpha1.StateActive && p.world.replica != nil && !truth[v1alpha1.ConditionPluginsPending] {
			t.Error("an optional plugin does not run and PluginsPending is not True")
		}
	}
}

func TestNextSlots(t *testing.T) {
	pack := func(name string, sequence int64) *kernelconfig.Delivery {
		d, err := kernelconfig.Pack(kernelconfig.Config{Format: kernelconfig.Format, Name: name}, sequence)
		if err != nil {
			t.Fatal(err)
		}
		return &d
	}
	damaged := *pack("a", 4)
	damaged.Data = []byte("nonsense")
	a, b := pack("a", 4), pack("b", 2)
	cases := map[string]struct {
		have         kernelconfig.Slots
		composed     *kernelconfig.Delivery
		acknowledged string
		lowest       int64
		current      string
		sequence     int64
		lastGood     string
	}{
		"first":                      {kernelconfig.Slots{}, a, "", 0, a.Revision, 1, ""},
		"first after a lost object":  {kernelconfig.Slots{}, a, "", 7, a.Revision, 8, ""},
		"same":                       {kernelconfig.Slots{Current: a}, a, a.Revision, 4, a.Revision, 4, ""},
		"new, acknowledged":          {kernelconfig.Slots{Current: a}, b, a.Revision, 4, b.Revision, 5, a.Revision},
		"new, not acknowledged":      {kernelconfig.Slots{Current: a, LastGood: b}, pack("c", 0), b.Revision, 4, pack("c", 0).Revision, 5, b.Revision},
		"back to the last good":      {kernelconfig.Slots{Current: a, LastGood: b}, b, b.Revision, 4, b.Revision, 5, b.Revision},
		"sequence was lowered":       {kernelconfig.Slots{Current: a}, a, a.Revision, 9, a.Revision, 10, ""},
		"damaged data":               {kernelconfig.Slots{Current: &damaged}, a, a.Revision, 4, a.Revision, 4, ""},
		"damaged data are not kept":  {kernelconfig.Slots{Current: &damaged}, b, a.Revision, 4, b.Revision, 5, ""},
		"damaged last good is given": {kernelconfig.Slots{Current: b, LastGood: &damaged}, b, b.Revision, 2, b.Revision, 2, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			next, changed := nextSlots(c.have, *c.composed, c.acknowledged, c.lowest)
			last := ""
			if next.LastGood != nil {
				last = next.LastGood.Revision
			}
			if next.Current.Revision != c.current || next.Current.Sequence != c.sequence || last != c.lastGood {
				t.Errorf("got current %s/%d, last good %s", next.Current.Revision, next.Current.Sequence, last)
			}
			if !sound(*next.Current) {
				t.Error("the current data cannot be read")
			}
			if want := c.have.Current == nil || c.have.Current.Sequence != c.sequence; changed != want {
				t.Errorf("changed = %t, want %t", changed, want)
			}
		})
	}
}
