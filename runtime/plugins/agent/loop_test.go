// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// fakeTools is a registry whose tools are functions.
type fakeTools struct {
	tools.Registry
	run    func(ctx context.Context, name string, args map[string]any, call tools.CallContext) string
	mu     sync.Mutex
	groups []string
}

func (f *fakeTools) Definitions(groups []string) []message.ToolDefinition {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.groups = groups
	return []message.ToolDefinition{{Type: "function", Function: message.ToolFunction{Name: "f", Parameters: map[string]any{"type": "object"}}}}
}

func (f *fakeTools) Execute(ctx context.Context, name string, args map[string]any, call tools.CallContext) string {
	return f.run(ctx, name, args, call)
}

func withTools(run func(ctx context.Context, name string, args map[string]any, call tools.CallContext) string) kerneltest.Option {
	return withRegistry(&fakeTools{run: run})
}

// echoTool answers with what it was called with.
func echoTool(_ context.Context, name string, args map[string]any, _ tools.CallContext) string {
	return fmt.Sprint(name, args)
}

func withRegistry(f *fakeTools) kerneltest.Option {
	return kerneltest.WithService(tools.Service, tools.Registry(f))
}

func naming(id, name, args string) message.ToolCall {
	return message.ToolCall{ID: id, Type: "function", Function: message.FunctionCall{Name: name, Arguments: args}}
}

// scripted answers the n-th request with the n-th chunk, and from the last one on with that.
func scripted(chunks ...llm.Chunk) *scriptedModel {
	var n atomic.Int64
	return newModel(func(_ context.Context, _ llm.Request, onChunk func(llm.Chunk) error) error {
		c := chunks[min(int(n.Add(1)), len(chunks))-1]
		c.Done = true
		return onChunk(c)
	})
}

func asking(calls ...message.ToolCall) llm.Chunk { return llm.Chunk{ToolCalls: calls} }

func TestToolLoop(t *testing.T) {
	kerneltest.NoLeaks(t)
	second := make(chan struct{})
	var told []tools.Executed
	var mu sync.Mutex
	model := scripted(
		llm.Chunk{ContentDelta: "let me see", ReasoningDelta: "hm", ToolCalls: []message.ToolCall{
			naming("1", "slow", `{"a":1}`), naming("2", "fast", "no JSON"),
		}, Usage: &llm.Usage{PromptTokens: 10, CompletionTokens: 5}},
		llm.Chunk{ContentDelta: "done", Usage: &llm.Usage{PromptTokens: 30, CompletionTokens: 7}},
	)
	b := newBot(t, model, withTools(func(_ context.Context, name string, args map[string]any, call tools.CallContext) string {
		if name == "slow" {
			<-second // both run at the same time, and the second ends first
		} else {
			close(second)
		}
		return fmt.Sprintf("%s %v %s %s", name, args, call.UserID, call.Platform)
	}))
	tools.Execute.On(b.Root(), func(_ context.Context, e tools.Executed) error {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, e)
		return nil
	})
	m := hello()
	m.Actor = &message.Actor{Platform: "p9", UserID: "9"}
	b.handle(m)

	now := b.Clock.Now().UnixMilli()
	meta := map[string]any{"platform": "test", "senderType": "assistant", "sessionType": "private"}
	group := []message.Message{
		{Role: message.RoleAssistant, Content: "let me see", ReasoningContent: "hm", ToolCalls: []message.ToolCall{
			naming("1", "slow", `{"a":1}`), naming("2", "fast", "{}"),
		}, Timestamp: now, Metadata: meta},
		{Role: message.RoleTool, Content: "slow map[a:1] 9 p9", ToolCallID: "1", Timestamp: now + 1},
		{Role: message.RoleTool, Content: "fast map[] 9 p9", ToolCallID: "2", Timestamp: now + 2},
	}
	stored := b.store.all("s")
	if diff := cmp.Diff(group, stored[1:4]); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if last := stored[4]; last.Content != "done" || last.Timestamp != now+3 || last.ReasoningContent != "" {
		t.Errorf("reply %+v", last)
	}
	req := model.last(t).Messages
	if diff := cmp.Diff(group, req[len(req)-3:]); diff != "" {
		t.Errorf("second request (-want +got):\n%s", diff)
	}
	if len(told) != 4 {
		t.Errorf("told %+v", told)
	}
	out := b.out[0]
	if i := out.ModelInfo; i.PromptTokens != 30 || i.CompletionTokens != 12 || i.TotalTokens != 42 {
		t.Errorf("model info %+v", i)
	}
	var kinds []string
	for _, s := range out.Segments {
		kinds = append(kinds, string(s.Type)+" "+s.Content+s.Name)
	}
	if diff := cmp.Diff([]string{"text let me see", "reasoning_text hm", "tool_call slow", "tool_call fast", "text done"}, kinds); diff != "" {
		t.Errorf("segments (-want +got):\n%s", diff)
	}
	if len(b.Logs.Find("WARN", "no JSON object", "fast")) != 1 {
		t.Errorf("bad arguments are not in the log:\n%s", b.Logs)
	}
}

func TestToolLimit(t *testing.T) {
	for limit, want := range map[int]struct{ runs, requests int }{0: {0, 1}, 1: {1, 2}, 3: {3, 4}} {
		var runs atomic.Int64
		model := scripted(llm.Chunk{ContentDelta: "text", ToolCalls: []message.ToolCall{naming("1", "f", "{}")}})
		b := newBot(t, model, withConfig(map[string]any{"maxToolIterations": limit}),
			withTools(func(context.Context, string, map[string]any, tools.CallContext) string {
				runs.Add(1)
				return "ok"
			}))
		b.handle(hello())
		if n := len(model.requests); n != want.requests || int(runs.Load()) != want.runs {
			t.Errorf("limit %d: %d requests, %d runs", limit, n, runs.Load())
		}
		if (len(model.last(t).Tools) == 0) != (limit == 0) {
			t.Errorf("limit %d: tools %v", limit, model.last(t).Tools)
		}
		end := b.stream[len(b.stream)-1]
		if !end.Done || !end.ToolLimitReached || b.out[0].Content != "text" {
			t.Errorf("limit %d: end %+v, sent %v", limit, end, contents(b.out))
		}
	}
}

// Ten thousand calls at once, and calls for ever, end within bounds and leave a history that every vendor takes.
func TestTenThousandToolCalls(t *testing.T) {
	kerneltest.NoLeaks(t)
	calls := make([]message.ToolCall, 10000)
	for i := range calls {
		calls[i] = naming("", strings.Repeat("bad name ", 20), "[")
	}
	var runs, running, most atomic.Int64
	b := newBot(t, scripted(asking(calls...), text("done")),
		withTools(func(context.Context, string, map[string]any, tools.CallContext) string {
			n := running.Add(1)
			defer running.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			runs.Add(1)
			return "ok"
		}))
	b.handle(hello())
	if runs.Load() != maxCallsAtOnce || most.Load() > maxParallel {
		t.Errorf("%d runs, %d at a time", runs.Load(), most.Load())
	}
	stored := b.store.all("s")
	if _, dropped := wholeToolGroups(stored); dropped > 0 || len(stored) != maxCallsAtOnce+3 {
		t.Errorf("stored %d messages, %d of them unfit", len(stored), dropped)
	}
	if c := stored[1].ToolCalls[0]; len(c.Function.Name) != maxNameLength || c.ID == "" || c.Function.Arguments != "{}" {
		t.Errorf("call %+v", c)
	}
	if last := stored[maxCallsAtOnce+1].Content; last != "ok\n[工具调用过多，仅执行前 128 个，共 10000 个]" {
		t.Errorf("the model is not told: %q", last)
	}
}

func TestToolHooks(t *testing.T) {
	var ran string
	model := scripted(asking(naming("1", "f", "{}")), text("done"))
	b := newBot(t, model, withConfig(map[string]any{"toolResultMaxRatio": 0.01}),
		withTools(func(_ context.Context, name string, args map[string]any, _ tools.CallContext) string {
			ran = fmt.Sprint(name, args)
			return "result"
		}))
	agent.ToolBefore.Use(b.Root(), func(_ context.Context, d *agent.ToolBeforeData, _ kernel.Next) error {
		d.Name, d.Args = "other", map[string]any{"x": 1}
		return nil // no veto
	})
	agent.ToolAfter.Use(b.Root(), func(ctx context.Context, d *agent.ToolAfterData, next kernel.Next) error {
		d.Result = strings.Repeat("长", 100)
		return next(ctx)
	})
	b.handle(hello())
	if ran != "othermap[x:1]" {
		t.Errorf("ran %q", ran)
	}
	want := strings.Repeat("长", 35) + "\n[工具输出已截断，原始长度 100 字符]"
	if got := b.store.all("s")[2].Content; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestToolsThatFail(t *testing.T) {
	t.Run("no service", func(t *testing.T) {
		b := newBot(t, scripted(asking(naming("1", "f", "{}")), text("done")))
		b.handle(hello())
		if got := b.store.all("s")[2].Content; got != `{"error":"no tool service is available"}` {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a hook fails the turn, the other tools run", func(t *testing.T) {
		var runs atomic.Int64
		b := newBot(t, scripted(asking(naming("1", "f", "{}"), naming("2", "g", "{}"))),
			withTools(func(context.Context, string, map[string]any, tools.CallContext) string {
				runs.Add(1)
				return "ok"
			}))
		agent.ToolAfter.Use(b.Root(), func(_ context.Context, d *agent.ToolAfterData, _ kernel.Next) error {
			if d.Name == "f" {
				return errors.New("broken")
			}
			return nil
		})
		b.handle(hello())
		if b.turns[0].Outcome != agent.Failed || runs.Load() != 2 || len(b.store.all("s")) != 1 {
			t.Errorf("turn %+v, %d runs, stored %+v", b.turns[0], runs.Load(), b.store.all("s"))
		}
	})
	t.Run("the group cannot be saved", func(t *testing.T) {
		b := newBot(t, scripted(asking(naming("1", "f", "{}")), text("done")))
		b.store.err = errors.New("disk full")
		b.handle(hello())
		if !slices.Equal(contents(b.out), []string{"done"}) || len(b.Logs.Find("WARN", "Failed to save tool calls", "disk full")) != 1 {
			t.Errorf("sent %v:\n%s", contents(b.out), b.Logs)
		}
	})
}

// A tool that has begun ends as it would, and the model knows of it next time, although a newer message ended the turn.
func TestAnAbortLetsToolsEnd(t *testing.T) {
	kerneltest.NoLeaks(t)
	entered, release := make(chan context.Context, 1), make(chan struct{})
	b := newBot(t, scripted(asking(naming("1", "f", "{}")), text("late")),
		withTools(func(ctx context.Context, _ string, _ map[string]any, _ tools.CallContext) string {
			entered <- ctx
			<-release
			return "ok"
		}))
	var wg sync.WaitGroup
	wg.Go(func() { b.agent.HandleMessage(context.Background(), hello()) })
	ctx := receive(t, entered)
	b.agent.Abort("s")
	if ctx.Err() != nil {
		t.Error("the abort reached the tool")
	}
	close(release)
	wait(t, &wg)
	if got := outcomes(b.turns); !slices.Equal(got, []agent.Outcome{agent.Aborted}) || len(b.out) != 0 {
		t.Errorf("outcomes %v, sent %v", got, contents(b.out))
	}
	if got := b.store.all("s"); len(got) != 3 || got[2].Content != "ok" {
		t.Errorf("stored %+v", got)
	}
}

func TestTheEndOfTheAgentReachesTools(t *testing.T) {
	kerneltest.NoLeaks(t)
	entered := make(chan struct{}, 1)
	b := newBot(t, scripted(asking(naming("1", "f", "{}"))),
		withTools(func(ctx context.Context, _ string, _ map[string]any, _ tools.CallContext) string {
			entered <- struct{}{}
			<-ctx.Done()
			return "cut off"
		}), kerneltest.WithOptions(func(o *kernel.Options) { o.DrainTimeout = 1 }))
	var wg sync.WaitGroup
	wg.Go(func() { b.agent.HandleMessage(context.Background(), hello()) })
	receive(t, entered)
	b.agent.Abort("s")
	b.Stop()
	wait(t, &wg)
}

func FuzzParseArgs(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,"b"]}`, `[]`, `null`, `"x"`, `{"a"`, "", "\xff", `{"a":1}{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args, ok := parseArgs(s)
		if args == nil {
			t.Fatal("no arguments at all")
		}
		var o map[string]any
		if valid := json.Unmarshal([]byte(s), &o) == nil && o != nil; valid != ok {
			t.Fatalf("%q: read %v", s, ok)
		}
		calls, _ := fitCalls([]message.ToolCall{naming(s, s, s), naming(s, s, s)}, 1)
		if calls[0].ID == calls[1].ID || calls[0].Function.Name == "" || len(calls[0].Function.Name) > maxNameLength {
			t.Fatalf("calls %+v", calls)
		}
		if _, ok := parseArgs(calls[0].Function.Arguments); !ok {
			t.Fatalf("arguments %q", calls[0].Function.Arguments)
		}
	})
}

// Who waits for an answer is told that the model called tools to the end and said nothing.
func TestToolLimitWithoutAWord(t *testing.T) {
	b := newBot(t, scripted(asking(naming("1", "f", "{}"))), withConfig(map[string]any{"maxToolIterations": 2}),
		withTools(func(context.Context, string, map[string]any, tools.CallContext) string { return "ok" }))
	b.handle(hello())
	want := []string{i18n.ToolLimit(2).Notice(i18n.English)}
	if diff := cmp.Diff(want, contents(b.out)); diff != "" || b.turns[0].Outcome != agent.Silent {
		t.Errorf("turn %+v, sent (-want +got):\n%s", b.turns[0], diff)
	}
}
