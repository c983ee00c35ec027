// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestFailedTurns(t *testing.T) {
	failing := func(err error) *scriptedModel {
		return newModel(func(context.Context, llm.Request, func(llm.Chunk) error) error { return err })
	}
	half := newModel(func(_ context.Context, _ llm.Request, onChunk func(llm.Chunk) error) error {
		return errors.Join(onChunk(llm.Chunk{ContentDelta: "half"}), errors.New("The connection broke."))
	})
	for name, tc := range map[string]struct {
		model  *scriptedModel
		use    func(k *kernel.Context)
		notice string // of the sender
		log    string
	}{
		"provider": {model: failing(errors.New("The provider is\nbusy.")), notice: "[错误] The provider is busy.", log: "busy"},
		"half":     {model: half, notice: "[错误] The connection broke.", log: "broke"},
		"key": {
			model:  failing(errors.New("401: bad key sk-abcdefghij1234 at https://u:p@h/x?api_key=y")),
			notice: "[错误] 401: bad key *** at https://***@h/x?***", log: "401",
		},
		"long":    {model: failing(errors.New(strings.Repeat("好", 300))), notice: "[错误] " + strings.Repeat("好", 199) + "…"},
		"silent":  {model: failing(errors.New(" ")), notice: i18n.InternalError().Failure(i18n.English)},
		"timeout": {model: failing(context.DeadlineExceeded), notice: i18n.ModelTimedOut().Failure(i18n.English)},
		"panic": {
			model: newModel(func(context.Context, llm.Request, func(llm.Chunk) error) error {
				panic("secret detail")
			}),
			notice: i18n.InternalError().Failure(i18n.English), log: "secret detail",
		},
		"too long": {
			model:  saying(llm.Chunk{ContentDelta: strings.Repeat("x", maxReplyBytes+1)}),
			notice: "[错误] the reply is longer than 8 MiB",
		},
		"input hook": {
			model: saying(text("x")), notice: i18n.InternalError().Failure(i18n.English), log: "broken input",
			use: func(k *kernel.Context) {
				agent.InputBefore.Use(k, func(context.Context, *agent.InputData, kernel.Next) error {
					return errors.New("broken input")
				})
			},
		},
		"llm hook": {
			model: saying(text("x")), notice: i18n.InternalError().Failure(i18n.English), log: "broken llm",
			use: func(k *kernel.Context) {
				agent.LLMBefore.Use(k, func(context.Context, *agent.LLMData, kernel.Next) error { return errors.New("broken llm") })
			},
		},
		"after hook": {
			model: saying(text("x")), notice: i18n.InternalError().Failure(i18n.English), log: "broken after",
			use: func(k *kernel.Context) {
				agent.LLMAfter.Use(k, func(context.Context, *agent.LLMAfterData, kernel.Next) error { panic("broken after") })
			},
		},
		"reply hook": {
			model: saying(text("x")), notice: i18n.InternalError().Failure(i18n.English), log: "broken reply",
			use: func(k *kernel.Context) {
				agent.ReplyBefore.Use(k, func(context.Context, *agent.ReplyData, kernel.Next) error {
					return errors.New("broken reply")
				})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kerneltest.NoLeaks(t)
			b := newBot(t, tc.model)
			if tc.use != nil {
				tc.use(b.Root())
			}
			b.handle(hello())
			if len(b.out) != 1 {
				t.Fatalf("sent %v\n%s", b.out, b.Logs)
			}
			want := message.Outgoing{Content: tc.notice, SessionID: "s", Platform: "test", TurnID: "t1", Source: message.FromSystem}
			if diff := cmp.Diff(want, b.out[0]); diff != "" {
				t.Errorf("notice (-want +got):\n%s", diff)
			}
			trace := b.trace()
			if got := trace[len(trace)-2:]; !slices.Equal(got, []string{"done", "turn error"}) {
				t.Errorf("trace %v", trace)
			}
			if tc.log != "" && len(b.Logs.Find("ERROR", "Failed turn", tc.log)) != 1 {
				t.Errorf("the failure is not in the log:\n%s", b.Logs)
			}
			for _, m := range b.store.all("s") {
				if m.Role == message.RoleAssistant {
					t.Errorf("something was stored as a reply: %+v", m)
				}
			}
		})
	}
}

func TestFailedCallsAreTold(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		said string
		want bool
	}{"before the first piece": {"", false}, "in the middle": {"half a reply", true}} {
		model := newModel(func(_ context.Context, _ llm.Request, onChunk func(llm.Chunk) error) error {
			return errors.Join(onChunk(llm.Chunk{ContentDelta: tc.said}), broken)
		})
		b := newBot(t, model)
		b.handle(hello())
		if len(b.calls) != 1 || !errors.Is(b.calls[0].Err, broken) || !b.calls[0].Estimated {
			t.Fatalf("%s: calls %+v", name, b.calls)
		}
		if u := b.calls[0].Usage; (u.PromptTokens > 0) != tc.want || (u.CompletionTokens > 0) != tc.want {
			t.Errorf("%s: usage %+v", name, u)
		}
	}
}

func TestNoModel(t *testing.T) {
	b := newBot(t, nil, kerneltest.WithSetting("language", "zh-CN"))
	b.handle(hello())
	if diff := cmp.Diff([]string{"out " + i18n.NoModel().Notice(i18n.Chinese), "done", "turn error"}, b.trace()); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	if got := b.store.all("s"); len(got) != 1 || got[0].Role != message.RoleUser {
		t.Errorf("the message was not stored: %v", got)
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"plain words about keys and tokens":           "plain words about keys and tokens",
		"Incorrect API key provided: sk-proj-AbC***9": "Incorrect API key provided: ***",
		"Authorization: Bearer abc.def-ghi":           "***",
		"sent Bearer abcdef123":                       "sent ***",
		`{"api_key": "hunter2", "x": 1}`:              `{"***", "x": 1}`,
		"GET https://host/v1?key=abc failed":          "GET https://host/v1?*** failed",
		"dial redis://user:pass@host:6379":            "dial redis://***@host:6379",
	} {
		if got := redact(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
