// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// The bounds of what a model may ask for at once.
const (
	maxCallsAtOnce = 128 // calls of one response; more are left out
	maxParallel    = 32  // of them run at the same time
	maxNameLength  = 64  // of a tool, by the rules of the vendors
)

const (
	// tooManyCalls follows the last result when calls were left out.
	tooManyCalls = "\n[工具调用过多，仅执行前 %d 个，共 %d 个]"
	// cutToolResult follows a result that was cut.
	cutToolResult = "\n[工具输出已截断，原始长度 %d 字符]"
)

// toolRun is one call of a tool: what was called after the hooks, and what came of it.
type toolRun struct {
	name         string
	args         map[string]any
	result       string
	began, ended int64 // milliseconds since the epoch
	err          error // a hook failed; a tool never does
}

// fitCalls makes calls fit to be sent back to a model of any vendor: each has an id of its own, a legal name and arguments
// that are a JSON object. Those beyond the bound are dropped.
func fitCalls(in []message.ToolCall, now int64) (out []message.ToolCall, dropped int) {
	if len(in) > maxCallsAtOnce {
		in, dropped = in[:maxCallsAtOnce], len(in)-maxCallsAtOnce
	}
	out = make([]message.ToolCall, len(in))
	seen := make(map[string]bool, len(in))
	for i, c := range in {
		if c.ID == "" || seen[c.ID] {
			c.ID = fmt.Sprintf("call_%d_%d", now, i)
		}
		seen[c.ID] = true
		c.Type = "function"
		c.Function.Name = fitName(c.Function.Name)
		if _, ok := parseArgs(c.Function.Arguments); !ok {
			c.Function.Arguments = "{}"
		}
		out[i] = c
	}
	return out, dropped
}

// fitName replaces what no vendor takes in the name of a tool.
func fitName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		default:
			return '_'
		}
	}, s)
	if s == "" {
		return "unknown"
	}
	return s[:min(len(s), maxNameLength)]
}

// parseArgs reads the arguments that a model wrote. What is no JSON object becomes an empty one, and the tool itself says
// what it misses.
func parseArgs(s string) (args map[string]any, ok bool) {
	if err := json.Unmarshal([]byte(s), &args); err != nil || args == nil {
		return map[string]any{}, false
	}
	return args, true
}

// runTools makes the calls at the same time and gives what came of them in the order of the calls. What was begun runs to
// its end although the turn be aborted, because its effects stand. The error is that of a hook.
func (t *turn) runTools(ctx context.Context, calls, asked []message.ToolCall) ([]toolRun, error) {
	ctx, cancel := t.toolContext(ctx)
	defer cancel()
	runs := make([]toolRun, len(calls))
	var next, ended atomic.Int64
	all := make(chan struct{})
	work := func(context.Context) {
		for i := next.Add(1) - 1; i < int64(len(runs)); i = next.Add(1) - 1 {
			runs[i] = t.runTool(ctx, asked[i].Function)
			if ended.Add(1) == int64(len(runs)) {
				close(all)
			}
		}
	}
	for range min(len(runs), maxParallel) - 1 {
		t.a.k.Go("tools", work)
	}
	work(ctx)
	<-all
	for _, r := range runs {
		if r.err != nil {
			return nil, r.err
		}
	}
	return runs, nil
}

// toolContext ends with the agent, or when whoever handed the message over leaves, but not by an abort.
func (t *turn) toolContext(ctx context.Context) (context.Context, func()) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	left := context.AfterFunc(ctx, func() {
		if !wasAborted(ctx) {
			cancel(context.Cause(ctx))
		}
	})
	stopped := context.AfterFunc(t.a.k.Lifetime(), func() { cancel(errStopping) })
	return out, func() {
		left()
		stopped()
		cancel(nil)
	}
}

// runTool makes one call with the hooks around it.
func (t *turn) runTool(ctx context.Context, call message.FunctionCall) (r toolRun) {
	r.name = call.Name
	args, ok := parseArgs(call.Arguments)
	if r.args = args; !ok && strings.TrimSpace(call.Arguments) != "" {
		t.log().Warn("Read tool arguments that are no JSON object as empty", "tool", fitName(call.Name))
	}
	r.err = guard(func() error {
		before := agent.ToolBeforeData{Name: r.name, Args: r.args, Call: t.toolCall}
		if _, err := agent.ToolBefore.Run(ctx, t.a.k, &before, nil); err != nil {
			return fmt.Errorf("before the tool %s: %w", r.name, err)
		}
		r.name, r.args = before.Name, before.Args
		began := t.a.k.Now()
		r.began = began.UnixMilli()
		told := tools.Executed{SessionID: t.msg.SessionID, Platform: t.msg.Platform, Name: r.name, Args: r.args}
		tools.Execute.Emit(ctx, t.a.k, told)
		r.result = t.execute(ctx, r.name, r.args)
		after := agent.ToolAfterData{Name: r.name, Result: r.result, Call: t.toolCall}
		_, err := agent.ToolAfter.Run(ctx, t.a.k, &after, nil)
		r.result = capResult(after.Result, t.cfg.toolResultUnits(t.window))
		ended := t.a.k.Now()
		r.ended, told.Duration = ended.UnixMilli(), ended.Sub(began)
		told.End, told.Result, told.Failed = true, r.result, tools.IsErrorResult(after.Result)
		tools.Execute.Emit(ctx, t.a.k, told)
		if err != nil {
			return fmt.Errorf("after the tool %s: %w", r.name, err)
		}
		return nil
	})
	return r
}

// callTool has the registry run a tool.
func (t *turn) callTool(ctx context.Context, name string, args map[string]any) string {
	registry, ok := tools.Service.Get(t.a.k)
	if !ok {
		return tools.ErrorResult("no tool service is available")
	}
	if !t.mayRun(registry, name) {
		return tools.ErrorResult(i18n.BudgetReadOnly(fitName(name)).In(i18n.Of(t.a.k)))
	}
	return registry.Execute(ctx, name, args, t.toolCall)
}

// capResult cuts a result that is longer than limit UTF-16 code units, and says how long it was.
func capResult(s string, limit int) string {
	head, cut := cutUnits(s, limit)
	if !cut {
		return s
	}
	return head + fmt.Sprintf(cutToolResult, units(s))
}
