// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

func TestPreprocessors(t *testing.T) {
	model := saying(text("hi"))
	b := newBot(t, model)
	add := func(s string) agent.Preprocessor {
		return func(ctx context.Context, m *message.Incoming, next kernel.Next) error {
			m.Content += s
			return next(ctx)
		}
	}
	names := func(want ...string) {
		t.Helper()
		if got := b.agent.Preprocessors(); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	offA := b.agent.RegisterPreprocessor("a", add(" old"))
	agent.UsePreprocessor(b.Root(), "b", add(" b"))
	offNew := b.agent.RegisterPreprocessor("a", add(" a"))
	offA() // it was replaced: nothing of the new one ends
	names("b", "a")
	b.handle(hello())
	if got := b.turns[0].Message.Content; got != "hello b a" {
		t.Errorf("got %q", got)
	}
	offNew()
	names("b")
	off := b.agent.RegisterPreprocessor("stop", func(context.Context, *message.Incoming, kernel.Next) error { return nil })
	b.handle(hello())
	if len(b.turns) != 1 {
		t.Errorf("a swallowed message made a turn: %+v", b.turns)
	}
	off()
	off()
	names("b")
}
