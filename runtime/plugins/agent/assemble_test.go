// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// layout assembles contributions into a list and gives the texts of the result.
func layout(t *testing.T, b *bot, m message.Incoming, list ...message.Message) string {
	t.Helper()
	a, ok := b.agent.(*conductor)
	if !ok {
		t.Fatal("not ours")
	}
	out, err := newTurn(a, m).assemble(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range out {
		texts = append(texts, m.Content)
	}
	return strings.Join(texts, ", ")
}

func TestAnchors(t *testing.T) {
	user := func(s string) message.Message { return message.Message{Role: message.RoleUser, Content: s} }
	bot := func(s string) message.Message { return message.Message{Role: message.RoleAssistant, Content: s} }
	s := system(injectorPersona, "S")
	volatile, delegation := system(injectorVolatile, "V"), system(injectorDelegation, "D")
	for name, tc := range map[string]struct {
		list []message.Message
		want string
	}{
		"history":          {[]message.Message{s, user("u1"), bot("a1"), user("u2")}, "S, IDN, KN, CX, u1, a1, TC, TH, u2"},
		"volatile":         {[]message.Message{s, user("u1"), volatile, system(injectorFocus, "F"), user("u2")}, "S, IDN, KN, CX, u1, TC, V, F, TH, u2"},
		"delegation":       {[]message.Message{s, user("u1"), bot("a1"), delegation}, "S, IDN, KN, CX, TH, u1, a1, TC, D"},
		"no history":       {[]message.Message{s, user("u")}, "S, IDN, KN, CX, TC, TH, u"},
		"no history, turn": {[]message.Message{s, volatile, user("u")}, "S, IDN, KN, CX, TC, V, TH, u"},
		"only delegation":  {[]message.Message{s, delegation}, "S, IDN, KN, CX, TC, D"},
		"no user at all":   {[]message.Message{s}, "S, IDN, KN, CX, TC"},
		"no system at all": {[]message.Message{user("u")}, "IDN, KN, CX, TC, TH, u"},
		"nothing":          {nil, "IDN, KN, CX, TC"},
	} {
		b := newBot(t, nil)
		for _, c := range []struct {
			text   string
			anchor agent.Anchor
		}{
			{"TH", agent.AnchorTurnHint}, {"TC", agent.AnchorTurnContext}, {"CX", agent.AnchorContext},
			{"KN", agent.AnchorKnowledge}, {"IDN", agent.AnchorIdentity},
		} {
			contribute(t, b.Root(), c.text, c.anchor, c.text)
		}
		contribute(t, b.Root(), "odd", "nowhere", "ODD")
		if got := layout(t, b, hello(), tc.list...); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
		if len(b.Logs.Find("WARN", "unknown anchor", "root/odd")) != 1 {
			t.Errorf("%s: the unknown anchor is not in the log:\n%s", name, b.Logs)
		}
	}
}

func TestContributionsAreBuiltOnce(t *testing.T) {
	b := newBot(t, nil)
	k := b.Root()
	builds := 0
	silent := true
	for id, build := range map[string]func() []string{
		"counts": func() []string { builds++; return []string{"once"} },
		"late": func() []string {
			if silent {
				return nil
			}
			return []string{"late"}
		},
	} {
		if _, err := agent.Prompt.Contribute(k, id, agent.Contribution{
			Anchor: agent.AnchorKnowledge,
			Build: func(_ context.Context, v agent.PromptView) ([]string, error) {
				if v.SessionID != "s" || v.UserID != "1" || v.Platform != "test" || v.TriggerType != message.TriggerDirect || v.DryRun {
					t.Errorf("view %+v", v)
				}
				return build(), nil
			},
		}); err != nil {
			t.Fatal(err)
		}
	}
	a, ok := b.agent.(*conductor)
	if !ok {
		t.Fatal("not ours")
	}
	turn := newTurn(a, hello())
	list := []message.Message{system(injectorPersona, "S"), {Role: message.RoleUser, Content: "u"}}
	var err error
	for _, want := range []string{"S once u", "S once late u", "S once late u"} {
		list, err = turn.assemble(t.Context(), list)
		var texts []string
		for _, m := range list {
			texts = append(texts, m.Content)
		}
		if got := strings.Join(texts, " "); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		silent = false
	}
	if builds != 1 {
		t.Errorf("a block that stands in the prompt was built %d times", builds)
	}
}

func TestBadContributionsOnlyLoseThemselves(t *testing.T) {
	kerneltest.NoLeaks(t)
	b := newBot(t, nil, withConfig(map[string]any{"promptBuildTimeoutMs": 20}))
	var hang atomic.Bool
	hang.Store(true)
	for id, build := range map[string]func(ctx context.Context) ([]string, error){
		"good":   func(context.Context) ([]string, error) { return []string{"good"}, nil },
		"error":  func(context.Context) ([]string, error) { return []string{"x"}, errors.New("broken") },
		"panics": func(context.Context) ([]string, error) { panic("broken") },
		"hangs": func(ctx context.Context) ([]string, error) {
			if hang.Load() {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return []string{"at last"}, nil
		},
	} {
		if _, err := agent.Prompt.Contribute(b.Root(), id, agent.Contribution{
			Anchor: agent.AnchorKnowledge, Build: func(ctx context.Context, _ agent.PromptView) ([]string, error) { return build(ctx) },
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got := layout(t, b, hello()); got != "good" {
		t.Errorf("got %q", got)
	}
	for _, key := range []string{"root/error", "root/panics", "root/hangs"} {
		if len(b.Logs.Find("WARN", "Left out Contribution", key, `limit="20ms"`)) != 1 {
			t.Errorf("%s is not in the log:\n%s", key, b.Logs)
		}
	}
	hang.Store(false)
	if got := layout(t, b, hello()); got != "good, at last" {
		t.Errorf("in the next turn: %q", got)
	}
}

func TestAHungContributionIsLeftBehind(t *testing.T) {
	kerneltest.NoLeaks(t)
	model := saying(text("hi"))
	b := newBot(t, model, withConfig(map[string]any{"promptBuildTimeoutMs": 5}))
	release := make(chan struct{})
	defer close(release)
	if _, err := agent.Prompt.Contribute(b.Root(), "deaf", agent.Contribution{
		Anchor: agent.AnchorKnowledge,
		Build: func(context.Context, agent.PromptView) ([]string, error) {
			<-release
			return []string{"too late"}, nil
		},
	}); err != nil {
		t.Fatal(err)
	}
	b.handle(hello())
	if len(b.out) != 1 || b.out[0].Content != "hi" {
		t.Errorf("sent %+v", b.out)
	}
	if len(b.Logs.Find("WARN", "Left out Contribution that took too long", "root/deaf", `limit="5ms"`)) != 1 {
		t.Errorf("not in the log:\n%s", b.Logs)
	}
}

func TestNoBuildTimeoutWaitsUntilTheTurnIsAborted(t *testing.T) {
	kerneltest.NoLeaks(t)
	b := newBot(t, saying(text("hi")), withConfig(map[string]any{"promptBuildTimeoutMs": 0}))
	if _, err := agent.Prompt.Contribute(b.Root(), "slow", agent.Contribution{
		Anchor: agent.AnchorKnowledge,
		Build: func(ctx context.Context, v agent.PromptView) ([]string, error) {
			b.agent.Abort(v.SessionID)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}); err != nil {
		t.Fatal(err)
	}
	b.handle(hello())
	if len(b.out) != 0 || b.turns[0].Outcome != agent.Aborted {
		t.Errorf("sent %v, turns %+v", b.out, b.turns)
	}
}
