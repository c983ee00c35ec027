// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[llm.Model](llm.Service, saying(text("x"))))
}

func TestATurn(t *testing.T) {
	kerneltest.NoLeaks(t)
	model := saying(
		llm.Chunk{ReasoningDelta: "hm"}, llm.Chunk{ReasoningDelta: "m"}, llm.Chunk{ContentDelta: "good "},
		llm.Chunk{ToolCallProgress: &message.ToolCallProgress{Name: "x"}}, llm.Chunk{ContentDelta: "day"},
		llm.Chunk{ReasoningDelta: "!"}, llm.Chunk{Usage: &llm.Usage{PromptTokens: 1}},
		llm.Chunk{Done: true, Usage: &llm.Usage{PromptTokens: 7, CompletionTokens: 3, TotalTokens: 10}},
	)
	b := newBot(t, model, kerneltest.WithService[persona.Provider](persona.Service, &fakePersona{system: "You are Owl."}))
	b.handle(hello())

	want := []string{
		"stream hm", "stream m", "stream good ", "stream ", "stream day", "stream !", "call", "done", "out good day", "turn replied",
	}
	if diff := cmp.Diff(want, b.trace()); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	for _, c := range b.stream {
		if c.SessionID != "s" || c.Platform != "test" || c.TurnID != "t1" {
			t.Errorf("chunk %+v does not say whose it is", c)
		}
	}
	segments := []message.Segment{
		{Type: message.SegmentReasoningText, Content: "hmm"}, {Type: message.SegmentText, Content: "good day"},
		{Type: message.SegmentReasoningText, Content: "!"},
	}
	info := &message.ModelInfo{Provider: "llm:main", Model: "gpt", PromptTokens: 7, CompletionTokens: 3, TotalTokens: 10}
	if diff := cmp.Diff(message.Outgoing{
		Content: "good day", SessionID: "s", Platform: "test", TurnID: "t1", Source: message.FromAgent,
		ReasoningContent: "hmm\n\n---\n\n!", Segments: segments, ModelInfo: info,
	}, b.out[0]); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	now := b.Clock.Now().UnixMilli()
	if diff := cmp.Diff([]message.Message{
		{Role: message.RoleUser, Content: "[Ann(1)]: hello", Name: "1", Timestamp: now},
		{
			Role: message.RoleAssistant, Content: "good day", ReasoningContent: "hmm!", Timestamp: now, Segments: segments,
			Metadata: map[string]any{
				"platform": "test", "senderType": "assistant", "sessionType": "private",
				"modelInfo": map[string]any{
					"provider": "llm:main", "model": "gpt", "promptTokens": int64(7), "completionTokens": int64(3),
					"totalTokens": int64(10),
				},
			},
		},
	}, b.store.all("s")); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	call := agent.CallDone{
		Purpose: agent.PurposeTurn, SessionID: "s", UserID: "1",
		Provider: "llm:main", Model: "gpt", Persona: "owl", Platform: "test", Streaming: true, FirstToken: 1, Frame: llm.FrameCounted,
		Usage: llm.Usage{PromptTokens: 7, CompletionTokens: 3, TotalTokens: 10},
	}
	if diff := cmp.Diff([]agent.CallDone{call}, b.calls); diff != "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
	if turn := b.turns[0]; turn.Reply != "good day" || turn.SessionID != "s" || turn.Message.Content != "hello" {
		t.Errorf("turn %+v", turn)
	}
}

func TestTheNextTurnSeesTheLastOne(t *testing.T) {
	p := &fakePersona{system: "You are Owl."}
	model := saying(text("hi"))
	b := newBot(t, model, kerneltest.WithService[persona.Provider](persona.Service, p))
	b.handle(hello())
	if got := model.last(t).Messages[0].Content; !strings.HasPrefix(got, "You are Owl.\n\n【输入约定】\n") {
		t.Errorf("system prompt %q", got)
	}
	p.mu.Lock()
	p.system = "You are Lark."
	p.mu.Unlock()
	b.Clock.Advance(time.Minute)
	b.handle(hello())
	list := model.last(t).Messages
	if got := list[0].Content; !strings.HasPrefix(got, "You are Lark.\n\n") {
		t.Errorf("the new persona is not in the next turn: %q", got)
	}
	var got []string
	for _, m := range list[1:] {
		got = append(got, string(m.Role)+": "+m.Content)
	}
	want := []string{"user: (1/2 03:04) [Ann(1)]: hello", "assistant: hi", "user: (1/2 03:05) [Ann(1)]: hello"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestAModelThatCannotStream(t *testing.T) {
	model := saying(llm.Chunk{ReasoningDelta: "hm"}, text("whole"))
	model.info.Capabilities = []llm.Capability{llm.CapChat}
	b := newBot(t, model)
	b.handle(hello())
	if diff := cmp.Diff([]string{"stream hm", "stream whole", "call", "done", "out whole", "turn replied"}, b.trace()); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	if c := b.calls[0]; c.Streaming || c.Usage.TotalTokens != 12 || c.Estimated {
		t.Errorf("call %+v", c)
	}
}

func TestUsageIsEstimatedWhenTheProviderIsSilent(t *testing.T) {
	model := saying(llm.Chunk{ContentDelta: "一二三四五六七八"}, llm.Chunk{ReasoningDelta: "abcdefg", Done: true})
	b := newBot(t, model)
	b.handle(hello())
	prompt := estimating().messages(model.last(t).Messages)
	want := llm.Usage{PromptTokens: prompt, CompletionTokens: 14, TotalTokens: prompt + 14, ReasoningTokens: new(2)}
	c := b.calls[0]
	if diff := cmp.Diff(want, c.Usage); diff != "" || !c.Estimated || c.Frame != llm.FrameMissing {
		t.Errorf("call %+v (-want +got):\n%s", c, diff)
	}
	if info := b.out[0].ModelInfo; info.TotalTokens != 0 {
		t.Errorf("an estimate is shown as the provider's word: %+v", info)
	}
}

func TestSwallowedInput(t *testing.T) {
	b := newBot(t, saying(text("x")))
	agent.InputBefore.Use(b.Root(), func(context.Context, *agent.InputData, kernel.Next) error { return nil })
	b.handle(hello())
	if diff := cmp.Diff([]string{"done"}, b.trace()); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	if got := b.store.all("s"); len(got) != 0 {
		t.Errorf("a swallowed message was stored: %v", got)
	}
}

func TestHooksChangeTheTurn(t *testing.T) {
	model := saying(text("raw"))
	b := newBot(t, model)
	k := b.Root()
	agent.InputBefore.Use(k, func(ctx context.Context, d *agent.InputData, next kernel.Next) error {
		d.Message.Content = "changed"
		d.Metadata["mark"] = 1
		return errors.Join(next(ctx), errors.New("too late"))
	})
	agent.LLMBefore.Use(k, func(ctx context.Context, d *agent.LLMData, next kernel.Next) error {
		if d.TriggerType != message.TriggerDirect || d.SessionID != "s" || d.UserID != "1" || d.DryRun {
			t.Errorf("llm data %+v", d)
		}
		d.Messages = append(d.Messages, message.Message{Role: message.RoleSystem, Content: "added"})
		d.Tools = []message.ToolDefinition{{Type: "function"}}
		return next(ctx)
	})
	agent.LLMBefore.Use(k, func(context.Context, *agent.LLMData, kernel.Next) error { return nil }) // the call goes on
	agent.LLMBefore.Use(k, func(ctx context.Context, _ *agent.LLMData, next kernel.Next) error { return next(ctx) })
	agent.LLMAfter.Use(k, func(ctx context.Context, d *agent.LLMAfterData, next kernel.Next) error {
		d.Response.Content += " after"
		return next(ctx)
	})
	agent.ReplyBefore.Use(k, func(ctx context.Context, d *agent.ReplyData, next kernel.Next) error {
		if d.Content != "raw after" || d.Attempt != 0 {
			t.Errorf("reply data %+v", d)
		}
		d.Content, d.ArchiveContent = "sent", "stored"
		return next(ctx)
	})
	agent.TurnAfter.Use(k, func(context.Context, *agent.TurnData, kernel.Next) error { return errors.New("broken after") })
	b.handle(hello())
	req := model.last(t)
	if len(req.Tools) != 1 || req.Messages[len(req.Messages)-1].Content != "added" {
		t.Errorf("request %+v", req)
	}
	if got := b.store.all("s"); got[0].Content != "[Ann(1)]: changed" || got[1].Content != "stored" {
		t.Errorf("stored %+v", got)
	}
	want := []message.Segment{{Type: message.SegmentText, Content: "sent"}}
	if len(b.out) != 1 || b.out[0].Content != "sent" || !cmp.Equal(want, b.out[0].Segments) {
		t.Errorf("sent %+v", b.out)
	}
	if b.turns[0].Metadata["mark"] != 1 || b.turns[0].Outcome != agent.Replied {
		t.Errorf("turn %+v", b.turns[0])
	}
	for _, log := range []string{"did not call next", "Failed to end the input hook", "hook after the turn"} {
		if len(b.Logs.Find("WARN", log)) != 1 {
			t.Errorf("%q is not in the log:\n%s", log, b.Logs)
		}
	}
}

// A blank reply is neither stored nor sent; who waits for it is told so.
func TestBlankRepliesAreNeitherStoredNorSent(t *testing.T) {
	told := "out " + i18n.NoAnswer().Notice(i18n.English)
	for name, tc := range map[string]struct {
		change func(*message.Incoming)
		want   []string
	}{
		"asked in private":       {func(*message.Incoming) {}, []string{told}},
		"asked in a group":       {func(m *message.Incoming) { m.SessionType = message.SessionGroup }, nil},
		"nobody asked":           {func(m *message.Incoming) { m.TriggerType = message.TriggerIdle }, nil},
		"a machine asked":        {func(m *message.Incoming) { m.Source = "scheduler" }, nil},
		"a handler took it away": {func(m *message.Incoming) { m.Content = "take away" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := hello()
			tc.change(&m)
			said := " \n"
			if tc.want == nil && m.Content != hello().Content {
				said = "words"
			}
			b := newBot(t, saying(llm.Chunk{ContentDelta: said}, llm.Chunk{Done: true}))
			agent.ReplyBefore.Use(b.Root(), func(ctx context.Context, d *agent.ReplyData, next kernel.Next) error {
				d.Content = ""
				return next(ctx)
			})
			b.handle(m)
			want := append(append([]string{"stream " + said, "call", "done"}, tc.want...), "turn silent")
			if diff := cmp.Diff(want, b.trace()); diff != "" {
				t.Errorf("trace (-want +got):\n%s", diff)
			}
			if got := b.store.all("s"); len(got) != 1 {
				t.Errorf("stored %+v", got)
			}
		})
	}
}

func TestRepeatedReplies(t *testing.T) {
	for name, tc := range map[string]struct {
		session message.SessionType
		trigger message.TriggerType
		sent    int
	}{
		"somebody asks again":           {message.SessionPrivate, "", 2},
		"directly":                      {message.SessionPrivate, message.TriggerDirect, 2},
		"somebody asks again, nowhere":  {"", "", 2},
		"in a group":                    {message.SessionGroup, message.TriggerDirect, 1},
		"in a channel":                  {message.SessionChannel, message.TriggerImmediate, 1},
		"of its own accord":             {message.SessionPrivate, message.TriggerInterval, 1},
		"when nothing was said a while": {message.SessionPrivate, message.TriggerIdle, 1},
	} {
		b := newBot(t, saying(text("same")))
		for range 2 {
			m := hello()
			m.SessionType, m.TriggerType = tc.session, tc.trigger
			b.handle(m)
		}
		if len(b.out) != tc.sent {
			t.Errorf("%s: sent %d replies, want %d", name, len(b.out), tc.sent)
		}
		if tc.sent == 1 && b.turns[1].Outcome != agent.Silent {
			t.Errorf("%s: turn %+v", name, b.turns[1])
		}
	}
}

func TestServicesThatAreMissingOrFail(t *testing.T) {
	t.Run("nothing but a model", func(t *testing.T) {
		model := saying(text("hi"))
		h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, "", nil))
		provide(h.Root(), model)
		out := make(chan message.Outgoing, 1)
		message.Outbound.On(h.Root(), func(_ context.Context, m message.Outgoing) error {
			out <- m
			return nil
		})
		a, _ := agent.Service.Get(h.Root())
		a.HandleMessage(t.Context(), hello())
		if got := receive(t, out); got.Content != "hi" {
			t.Errorf("got %+v", got)
		}
		if len(h.Logs.Find("WARN", "no gateway is registered")) != 1 {
			t.Errorf("the missing gateway is not in the log:\n%s", h.Logs)
		}
		list := model.last(t).Messages
		if len(list) != 2 || list[0].Content != inputConvention || list[1].Content != "(1/2 03:04) [Ann(1)]: hello" {
			t.Errorf("request %+v", list)
		}
	})
	t.Run("memory fails", func(t *testing.T) {
		b := newBot(t, saying(text("hi")))
		b.store.err = errors.New("disk full")
		b.handle(hello())
		if len(b.out) != 1 || b.out[0].Content != "hi" {
			t.Errorf("sent %+v", b.out)
		}
		for _, log := range []string{"Failed to archive Incoming", "Failed to load history", "Failed to save reply"} {
			if len(b.Logs.Find("WARN", log, "disk full")) != 1 {
				t.Errorf("%q is not in the log:\n%s", log, b.Logs)
			}
		}
	})
	t.Run("idle turns store no message", func(t *testing.T) {
		b := newBot(t, saying(text("hi")))
		m := hello()
		m.Source = sourceIdle
		b.handle(m)
		if got := b.store.all("s"); len(got) != 1 || got[0].Role != message.RoleAssistant {
			t.Errorf("stored %+v", got)
		}
	})
}

func TestConfigTakesEffectWithTheNextTurn(t *testing.T) {
	model := saying(text("hi"))
	b := newBot(t, model)
	b.handle(hello())
	report := b.Apply(func(cfg *kernel.Config) {
		cfg.Plugins[Plugin.Name] = kernel.PluginConfig{Config: map[string]any{"systemPrompt": "Be brief.", "historyLimit": 0}}
	})
	if !slices.Equal(report.Reconfigured, []string{Plugin.Name}) {
		t.Errorf("report %+v", report)
	}
	b.handle(hello())
	list := model.last(t).Messages
	if len(list) != 2 || list[0].Content != "Be brief.\n\n"+inputConvention {
		t.Errorf("request %+v", list)
	}
}

func TestAReplyGoesOutOnceWhateverHappensAfterwards(t *testing.T) {
	b := newBot(t, saying(text("hi")))
	agent.TurnAfter.Use(b.Root(), func(context.Context, *agent.TurnData, kernel.Next) error { panic("broken") })
	b.handle(hello())
	if diff := cmp.Diff([]string{"hi"}, contents(b.out)); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]agent.Outcome{agent.Replied}, outcomes(b.turns), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func contents(list []message.Outgoing) (out []string) {
	for _, m := range list {
		out = append(out, m.Content)
	}
	return out
}

func outcomes(list []agent.TurnData) (out []agent.Outcome) {
	for _, d := range list {
		out = append(out, d.Outcome)
	}
	return out
}
