// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// TestQuestion: the line after a question is its answer, and the turn goes on with what comes of it. Where there is no line the
// answer is nothing.
func TestQuestion(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"answered":     {"wipe\nY\nbye\n", "sure?\nheard Y\nheard bye\n"},
		"no more":      {"wipe\n", "sure?\nheard \n"},
		"another turn": {"hello\nwipe\nno\n", "heard hello\nsure?\nheard no\n"},
	} {
		var out bytes.Buffer
		c := New(Options{In: strings.NewReader(tc.in), Out: &out})
		answers := make(chan string, 1)
		asking := make(chan struct{}, 1)
		testRoot(t, c, func(k *kernel.Context, m message.Incoming) {
			if m.Content == "wipe" {
				asking <- struct{}{}
				message.Outbound.Emit(context.Background(), k, message.Outgoing{
					SessionID: m.SessionID, Platform: m.Platform, TurnID: m.TurnID, Source: message.FromSystem, Content: "sure?", Interim: true,
				})
				reply(k, m, message.FromAgent, "heard "+<-answers)
				done(k, m, gateway.PhaseDispatch, true)
				return
			}
			select {
			case <-asking:
				answers <- m.Content
				done(k, m, gateway.PhaseConfirm, false)
			default:
				reply(k, m, message.FromAgent, "heard "+m.Content)
				done(k, m, gateway.PhaseDispatch, true)
			}
		})
		if err := c.Run(t.Context(), t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := out.String(); strings.TrimSpace(got) != strings.TrimSpace(tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// TestQuestionToNobody: one message alone has nobody to answer for it.
func TestQuestionToNobody(t *testing.T) {
	c := New(Options{In: strings.NewReader(""), Out: io.Discard})
	answers := make(chan string, 1)
	testRoot(t, c, func(k *kernel.Context, m message.Incoming) {
		if m.Content == "" {
			answers <- m.Content
			return
		}
		message.Outbound.Emit(context.Background(), k, message.Outgoing{
			SessionID: m.SessionID, Platform: m.Platform, TurnID: m.TurnID, Source: message.FromSystem, Content: "sure?", Interim: true,
		})
		<-answers
		reply(k, m, message.FromAgent, "cancelled")
		done(k, m, gateway.PhaseDispatch, true)
	})
	if err := c.Ask(t.Context(), "wipe"); err != nil {
		t.Error(err)
	}
}
