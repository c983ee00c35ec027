// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

// TestBadInput: whatever comes in, from a person or from a model, the turn has an outcome and what was asked is something
// that a vendor takes.
func TestBadInput(t *testing.T) {
	for name, tc := range map[string]struct {
		content string
		reply   llm.Chunk
		want    agent.Outcome
	}{
		"an empty message":            {"", text("ok"), agent.Replied},
		"a message of 1 MiB":          {strings.Repeat("长文", 1<<20/6), text("ok"), agent.Replied},
		"invalid UTF-8":               {"a\xffb\xed\xa0\x80", text("ok"), agent.Replied},
		"a model that says nothing":   {"hi", llm.Chunk{}, agent.Silent},
		"a model that only thinks":    {"hi", llm.Chunk{ReasoningDelta: "hm"}, agent.Silent},
		"a model that says a blank":   {"hi", text("\u3000\n"), agent.Silent},
		"a reply with invalid UTF-8":  {"hi", text("a\xff"), agent.Replied},
		"a model that wrote too much": {"hi", text(strings.Repeat("x", maxReplyBytes+1)), agent.Failed},
	} {
		model := scripted(tc.reply)
		b := newBot(t, model)
		m := hello()
		m.Content = tc.content
		b.handle(m)
		b.handle(hello())
		if b.turns[0].Outcome != tc.want || !b.stream[len(b.stream)-1].Done {
			t.Errorf("%s: turn %+v", name, b.turns[0].Outcome)
		}
		vendor := fakellm.New(fakellm.Options{})
		for _, req := range model.requests {
			post(t, vendor, req.Messages)
		}
	}
}
