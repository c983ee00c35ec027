// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/host/report"
	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/money"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

type secretKey = secrets.Key

// observer is the Runner as the kernel sees it.
type observer Runner

// Recomputed implements kernel.Observer.
func (o *observer) Recomputed(info kernel.RecomputeInfo) {
	o.opts.Metrics.Recomputed(info)
	(*Runner)(o).remember(info)
	poke(o.dirty)
}

// PluginChanged implements kernel.Observer.
func (o *observer) PluginChanged(kernel.PluginStatus) { poke(o.dirty) }

// observe makes the report follow the models: they come and go with no plugin changing its state.
func (r *Runner) observe(root *kernel.Context) {
	models := func(_ context.Context, service string) error {
		if service == llm.Service.Name() {
			poke(r.dirty)
		}
		return nil
	}
	kernel.EventServiceRegistered.On(root, models)
	kernel.EventServiceUnregistered.On(root, models)
	kernel.EventServicePreferenceChanged.On(root, models)
	budget.Moved.On(root, func(context.Context, struct{}) error {
		poke(r.dirty)
		return nil
	})
}

// budgets says how the budgets stand, to a tenth.
func budgets(root *kernel.Context) []report.Budget {
	keeper, ok := budget.Service.Get(root)
	if !ok {
		return nil
	}
	var out []report.Budget
	for _, s := range keeper.Standings() {
		limit := strconv.FormatInt(s.Limit, 10)
		if s.Unit != budget.Tokens {
			limit = money.Format(s.Limit)
		}
		out = append(out, report.Budget{
			Name: s.Name, Scope: s.Scope, Unit: s.Unit, Limit: limit, Percent: s.Percent() / 10 * 10, Exhausted: s.Exhausted, Until: s.Until,
		})
	}
	return out
}

// publish makes the report anew and hands it over.
func (r *Runner) publish() {
	s := report.Snapshot{}
	if r.app != nil {
		s.Plugins = r.plugins()
		s.Recompute = recomputeOf(r.remember(r.app.LastRecompute()))
		s.Model, s.ModelMessage = defaultModel(r.app.Root())
		s.Budgets = budgets(r.app.Root())
	}
	r.mu.Lock()
	s.Applied, s.Rejected = r.applied, r.rejected
	r.snapshot = s
	r.mu.Unlock()
	if r.opts.Changed != nil {
		r.opts.Changed(s)
	}
}

func (r *Runner) plugins() []report.Plugin {
	status := r.app.Plugins().Status()
	out := make([]report.Plugin, 0, len(status))
	for _, p := range status {
		out = append(out, report.Plugin{ID: p.ID, State: string(p.State), Message: pluginMessage(p, r.problems[p.ID])})
	}
	slices.SortFunc(out, func(a, b report.Plugin) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// pluginMessage prefers what is wrong with a Secret over the name of the service that stands for it.
func pluginMessage(p kernel.PluginStatus, problems []string) string {
	switch {
	case p.State == recompute.Pending && len(problems) > 0:
		return strings.Join(problems, "; ")
	case p.Error != "":
		return p.Error
	default:
		return p.Message
	}
}

// remember keeps a recompute if it changed something and is the newest such, and returns the one that is kept. The
// observer may be told later than the kernel itself says.
func (r *Runner) remember(info kernel.RecomputeInfo) kernel.RecomputeInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	if info.Count > r.moved.Count && len(info.Activated)+len(info.Retired) > 0 {
		r.moved = info
	}
	return r.moved
}

func recomputeOf(info kernel.RecomputeInfo) *report.Recompute {
	if info.Count == 0 {
		return nil
	}
	return &report.Recompute{
		Reason: string(info.Reason.Kind), Service: info.Reason.Service, Rounds: info.Rounds, At: info.At,
	}
}

// defaultModel asks the agent which model answers. Without an agent there is nothing to say: its own state tells.
func defaultModel(root *kernel.Context) (model, message string) {
	a, ok := agent.Service.Get(root)
	if !ok {
		return "", ""
	}
	model, err := a.DefaultModel()
	if err != nil {
		return "", err.Error()
	}
	return model, ""
}

var _ kernel.Observer = (*observer)(nil)
