// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

func TestBudgets(t *testing.T) {
	t.Parallel()
	plugin := doc("Plugin", "main", "{module: llm-openai}")
	n := int64(2_000_000)
	r := Compose(load(t, docs(plugin, bot(`{plugins: [{name: main}], budgets: [
		{name: money, scope: User, per: Month, timeZone: Asia/Shanghai, cost: {amount: "12.50", currency: CNY}},
		{name: day, scope: Bot, per: Day, tokens: 2000000, steps: [{action: Warn, atPercent: 80}, {action: SwitchModel, atPercent: 90, model: {plugin: main, id: small}}]}]}`))))
	want := []kernelconfig.Budget{
		{Name: "day", Per: "Day", Tokens: &n, Steps: []kernelconfig.BudgetStep{
			{Action: "Warn", AtPercent: 80}, {Action: "SwitchModel", AtPercent: 90, Model: &kernelconfig.Model{Provider: "@aalis/plugin-llm-openai:main", ID: "small"}},
		}},
		{Name: "money", Scope: "User", Per: "Month", TimeZone: "Asia/Shanghai", Amount: "12.50", Currency: "CNY"},
	}
	if d := cmp.Diff(want, r.Config.Budgets); d != "" || !r.Deployable() {
		t.Errorf("%v (-want +got):\n%s", texts(r), d)
	}
	for spec, why := range map[string]string{
		"{name: A, per: Day, tokens: 1}":                                 `Error InvalidSpec: AgentInstance b: spec.budgets[A].name: must be a DNS label of at most 40 characters, got "A"`,
		"{name: a, per: Day, timeZone: Mars/Base, tokens: 1}":            `Error InvalidSpec: AgentInstance b: spec.budgets[a].timeZone: must be a time zone such as Europe/Berlin, got "Mars/Base"`,
		"{name: a, per: Year, tokens: 1}":                                `Error InvalidSpec: AgentInstance b: spec.budgets[a].per: must be Hour, Day or Month, got "Year"`,
		"{name: a, per: Day}":                                            `Error InvalidSpec: AgentInstance b: spec.budgets[a]: must have either tokens or cost`,
		"{name: a, per: Day, cost: {amount: abc, currency: USD}}":        `Error InvalidSpec: AgentInstance b: spec.budgets[a].cost.amount: must be a number from 0 to 999999999 with at most nine decimals, got "abc"`,
		"{name: a, per: Day, tokens: 1}, {name: a, per: Day, tokens: 1}": `Error InvalidSpec: AgentInstance b: spec.budgets[a]: may not be listed twice`,
		"{name: a, per: Day, tokens: 1, steps: [{action: SwitchModel, atPercent: 5, model: {plugin: nobody, id: x}}]}": `Error ModelNotFound: AgentInstance b: spec.budgets[a].steps[SwitchModel].model.plugin: the bot has no plugin "nobody"`,
	} {
		r := Compose(load(t, docs(plugin, bot("{plugins: [{name: main}], budgets: ["+spec+"]}"))))
		if got := strings.Join(texts(r), "\n"); !strings.HasPrefix(got, why) || r.Deployable() {
			t.Errorf("%s: %s", spec, got)
		}
	}
	off := Compose(load(t, docs(bot("{plugins: [{name: budget, module: budget, state: Disabled}], budgets: [{name: a, per: Day, tokens: 1}]}"))))
	if got := strings.Join(texts(off), "\n"); !strings.Contains(got, "spec.budgets: need the module budget") {
		t.Error(got)
	}
}
