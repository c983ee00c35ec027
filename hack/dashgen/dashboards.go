// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// Units of Grafana.
const (
	short   = "short"
	seconds = "s"
	ratio   = "percentunit"
	perSec  = "ops"
)

// tokens are those of prompts and replies: the other types are parts of them.
const tokens = `aalis_tokens_total{namespace=~"$namespace", type=~"prompt|completion"}`

func dashboards() []dashboard {
	namespace := variable{"namespace", "label_values(aalis_build_info, namespace)"}
	return []dashboard{
		{UID: "aalis-tenants", Title: "Aalis / Tenants", Variables: []variable{namespace}, Rows: []row{
			{"What is spent", []panel{
				{Title: "Tokens an hour by namespace", Unit: short, Queries: []query{{`sum by (namespace) (rate(` + tokens + `[$__rate_interval])) * 3600`, "{{namespace}}"}}},
				{Title: "Tokens an hour by bot", Unit: short, Description: "The ten that use most.", Queries: []query{{`topk(10, sum by (namespace, agent) (rate(` + tokens + `[$__rate_interval])) * 3600)`, "{{namespace}}/{{agent}}"}}},
				{Title: "Tokens an hour by model", Unit: short, Queries: []query{{`sum by (provider, model) (rate(` + tokens + `[$__rate_interval])) * 3600`, "{{provider}} {{model}}"}}},
				{Title: "Tokens an hour by persona", Unit: short, Queries: []query{{`sum by (persona) (rate(` + tokens + `[$__rate_interval])) * 3600`, "{{persona}}"}}},
				{Title: "Cost an hour", Unit: short, Description: "Of models that have a price.", Queries: []query{{`sum by (namespace, currency) (rate(aalis_cost_total{namespace=~"$namespace"}[$__rate_interval])) * 3600`, "{{namespace}} {{currency}}"}}},
				{Title: "Budgets used", Unit: ratio, Queries: []query{{`aalis_budget_used{namespace=~"$namespace"} / (aalis_budget_limit{namespace=~"$namespace"} > 0)`, "{{namespace}}/{{agent}} {{budget}}"}}},
				{Title: "Part of prompts that was cached", Unit: ratio, Queries: []query{{`sum by (namespace) (rate(aalis_tokens_total{namespace=~"$namespace", type="cached_prompt"}[$__rate_interval])) / sum by (namespace) (rate(aalis_tokens_total{namespace=~"$namespace", type="prompt"}[$__rate_interval]))`, "{{namespace}}"}}},
				{Title: "Part that bots counted themselves", Unit: ratio, Queries: []query{{`sum by (namespace) (rate(aalis_tokens_total{namespace=~"$namespace", type=~"prompt|completion", estimated="true"}[$__rate_interval])) / sum by (namespace) (rate(` + tokens + `[$__rate_interval]))`, "{{namespace}}"}}},
				{Title: "Calls that budgets refused", Unit: perSec, Queries: []query{{`sum by (namespace, agent, budget, reason) (rate(aalis_budget_refusals_total{namespace=~"$namespace"}[$__rate_interval]))`, "{{namespace}}/{{agent}} {{budget}} {{reason}}"}}},
			}},
			{"How the bots are", []panel{
				{Title: "Bots by state", Unit: short, Queries: []query{{`sum by (state) (aalis_operator_instance_state{namespace=~"$namespace"})`, "{{state}}"}}},
				{Title: "Bots that are not Ready", Kind: "table", Unit: short, Queries: []query{{`aalis_operator_instance_condition{namespace=~"$namespace", condition="Ready"} == 0`, ""}}},
				{Title: "Turns by outcome", Unit: perSec, Queries: []query{{`sum by (outcome) (rate(aalis_turns_total{namespace=~"$namespace"}[$__rate_interval]))`, "{{outcome}}"}}},
				{Title: "Part of model calls that fail", Unit: ratio, Queries: []query{{`1 - sum by (namespace) (rate(aalis_llm_requests_total{namespace=~"$namespace", outcome="success"}[$__rate_interval])) / sum by (namespace) (rate(aalis_llm_requests_total{namespace=~"$namespace", outcome!="canceled"}[$__rate_interval]))`, "{{namespace}}"}}},
				{Title: "First token, 95th percentile", Unit: seconds, Queries: []query{{`histogram_quantile(0.95, sum by (le, model) (rate(aalis_llm_time_to_first_token_seconds_bucket{namespace=~"$namespace"}[$__rate_interval])))`, "{{model}}"}}},
			}},
		}},
		bot(namespace),
		operator(),
	}
}

func bot(namespace variable) dashboard {
	const who = `{namespace=~"$namespace", agent=~"$agent"`
	rate := func(metric, more, by string) string {
		return `sum by (` + by + `) (rate(` + metric + who + more + `}[$__rate_interval]))`
	}
	quantile := func(q, metric, by string) string {
		return `histogram_quantile(` + q + `, ` + rate(metric+"_bucket", "", "le, "+by) + `)`
	}
	return dashboard{
		UID: "aalis-bot", Title: "Aalis / Bot", Variables: []variable{namespace, {"agent", `label_values(aalis_build_info{namespace=~"$namespace"}, agent)`}},
		Rows: []row{
			{"Conversations", []panel{
				{Title: "Turns by outcome", Unit: perSec, Queries: []query{{rate("aalis_turns_total", "", "outcome"), "{{outcome}}"}}},
				{Title: "Duration of turns", Unit: seconds, Queries: []query{{quantile("0.5", "aalis_turn_duration_seconds", "outcome"), "median {{outcome}}"}, {quantile("0.95", "aalis_turn_duration_seconds", "outcome"), "95 % {{outcome}}"}}},
				{Title: "Phases of messages", Unit: seconds, Queries: []query{{quantile("0.95", "aalis_gateway_phase_duration_seconds", "phase"), "95 % {{phase}}"}}},
				{Title: "Messages that ended before the turn", Unit: perSec, Queries: []query{{rate("aalis_gateway_swallowed_total", "", "phase"), "{{phase}}"}}},
				{Title: "Calls of tools", Unit: perSec, Queries: []query{{rate("aalis_tool_calls_total", "", "tool, outcome"), "{{tool}} {{outcome}}"}}},
				{Title: "Duration of tools", Unit: seconds, Queries: []query{{quantile("0.95", "aalis_tool_call_duration_seconds", "tool"), "95 % {{tool}}"}}},
			}},
			{"Models", []panel{
				{Title: "Tokens a minute by type", Unit: short, Queries: []query{{rate("aalis_tokens_total", "", "type, estimated") + " * 60", "{{type}} estimated={{estimated}}"}}},
				{Title: "Cost an hour", Unit: short, Queries: []query{{rate("aalis_cost_total", "", "model, currency") + " * 3600", "{{model}} {{currency}}"}}},
				{Title: "Calls by outcome", Unit: perSec, Queries: []query{{rate("aalis_llm_requests_total", "", "model, outcome"), "{{model}} {{outcome}}"}}},
				{Title: "Failures by cause", Unit: perSec, Queries: []query{{rate("aalis_llm_errors_total", "", "model, cause"), "{{model}} {{cause}}"}}},
				{Title: "First token", Unit: seconds, Queries: []query{{quantile("0.5", "aalis_llm_time_to_first_token_seconds", "model"), "median {{model}}"}, {quantile("0.95", "aalis_llm_time_to_first_token_seconds", "model"), "95 % {{model}}"}}},
				{Title: "Duration of calls", Unit: seconds, Queries: []query{{quantile("0.95", "aalis_llm_request_duration_seconds", "model"), "95 % {{model}}"}}},
				{Title: "What fills the context", Unit: short, Queries: []query{{`sum by (part) (aalis_context_tokens` + who + `})`, "{{part}}"}, {`max(aalis_context_window_tokens` + who + `})`, "window"}}},
				{Title: "Context filled", Unit: ratio, Queries: []query{{`histogram_quantile(0.95, ` + rate("aalis_context_fill_ratio_bucket", "", "le") + `)`, "95 %"}}},
				{Title: "Usage frames", Unit: perSec, Queries: []query{{rate("aalis_usage_frames_total", "", "model, verdict"), "{{model}} {{verdict}}"}}},
			}},
			{"Budgets and authority", []panel{
				{Title: "Budgets", Unit: short, Queries: []query{{`aalis_budget_used` + who + `}`, "{{budget}} used, {{unit}}"}, {`aalis_budget_limit` + who + `}`, "{{budget}} limit, {{unit}}"}}},
				{Title: "Calls that budgets refused", Unit: perSec, Queries: []query{{rate("aalis_budget_refusals_total", "", "budget, reason"), "{{budget}} {{reason}}"}}},
				{Title: "Decisions of weight", Unit: perSec, Queries: []query{{rate("aalis_authority_decisions_total", "", "kind, outcome"), "{{kind}} {{outcome}}"}}},
			}},
			{"The kernel", []panel{
				{Title: "Plugins by state", Kind: "table", Unit: short, Queries: []query{{`aalis_plugin_state` + who + `}`, ""}}},
				{Title: "Configs", Unit: short, Queries: []query{{`sum by (result) (increase(aalis_config_applies_total` + who + `}[$__rate_interval]))`, "{{result}}"}}},
				{Title: "Runs of the state machine", Unit: perSec, Queries: []query{{rate("aalis_recomputes_total", "", "reason"), "{{reason}}"}}},
			}},
		},
	}
}

func operator() dashboard {
	return dashboard{UID: "aalis-operator", Title: "Aalis / Operator", Rows: []row{
		{"What it does", []panel{
			{Title: "Objects", Unit: short, Queries: []query{{`aalis_operator_objects`, "{{kind}}"}}},
			{Title: "An edit is live after", Unit: seconds, Queries: []query{{`histogram_quantile(0.5, sum by (le) (rate(aalis_operator_apply_duration_seconds_bucket[$__rate_interval])))`, "median"}, {`histogram_quantile(0.95, sum by (le) (rate(aalis_operator_apply_duration_seconds_bucket[$__rate_interval])))`, "95 %"}}},
			{Title: "Deliveries by result", Unit: perSec, Queries: []query{{`sum by (result) (rate(aalis_operator_deliveries_total[$__rate_interval]))`, "{{result}}"}}},
			{Title: "Bots by state", Unit: short, Queries: []query{{`sum by (state) (aalis_operator_instance_state)`, "{{state}}"}}},
			{Title: "Changes of state", Unit: perSec, Queries: []query{{`sum by (kind, state) (rate(aalis_operator_state_changes_total[$__rate_interval]))`, "{{kind}} {{state}}"}}},
			{Title: "Bots that refuse or lag", Unit: short, Queries: []query{{`sum(aalis_operator_instance_rejected)`, "refuse"}, {`sum by (effect) (aalis_operator_instance_pending_change)`, "lag, {{effect}}"}}},
		}},
		{"How it does it", []panel{
			{Title: "Passes", Unit: perSec, Queries: []query{{`sum by (controller, result) (rate(controller_runtime_reconcile_total[$__rate_interval]))`, "{{controller}} {{result}}"}}},
			{Title: "Duration of a pass, 99th percentile", Unit: seconds, Queries: []query{{`histogram_quantile(0.99, sum by (le, controller) (rate(controller_runtime_reconcile_time_seconds_bucket[$__rate_interval])))`, "{{controller}}"}}},
			{Title: "Waiting for a pass, 99th percentile", Unit: seconds, Queries: []query{{`histogram_quantile(0.99, sum by (le, name) (rate(workqueue_queue_duration_seconds_bucket[$__rate_interval])))`, "{{name}}"}}},
			{Title: "Writes", Unit: perSec, Queries: []query{{`sum by (kind) (rate(aalis_operator_child_writes_total[$__rate_interval]))`, "{{kind}}"}, {`sum by (kind) (rate(aalis_operator_status_writes_total[$__rate_interval]))`, "status of {{kind}}"}}},
			{Title: "Answers of the API server", Unit: perSec, Queries: []query{{`sum by (method, code) (rate(rest_client_requests_total[$__rate_interval]))`, "{{method}} {{code}}"}}},
			{Title: "Passes put off", Unit: perSec, Queries: []query{{`sum by (kind) (rate(aalis_operator_reconciles_put_off_total[$__rate_interval]))`, "{{kind}}"}}},
		}},
	}}
}
