// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
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

// refusing refuses replies until one holds a text.
func refusing(b *bot, most int, until, feedback string) {
	agent.ReplyBefore.Use(b.Root(), func(ctx context.Context, d *agent.ReplyData, next kernel.Next) error {
		if err := next(ctx); err != nil {
			return err
		}
		d.MaxRetries = most
		if !strings.Contains(d.Content, until) {
			d.RetryRequested, d.RetryFeedback = true, feedback
			return nil
		}
		d.ArchiveContent, d.Content = d.Content, "decoded"
		return nil
	})
}

func TestReplyRetries(t *testing.T) {
	for name, tc := range map[string]struct {
		replies        []string
		most           int
		feedback, told string
		sent, stored   []string
	}{
		"good at once":      {[]string{"good"}, 1, "", "", []string{"decoded"}, []string{"good"}},
		"good at last":      {[]string{"bad", "bad", "good"}, 2, "be good", "be good", []string{"decoded"}, []string{"good"}},
		"default reminder":  {[]string{"bad", "good"}, 1, "", formatReminder, []string{"decoded"}, []string{"good"}},
		"refused for good":  {[]string{"bad", "bad2"}, 1, "x", "x", nil, nil},
		"not allowed":       {[]string{"bad"}, 0, "", "", nil, nil},
		"nothing to repair": {[]string{" "}, 3, "", "", []string{i18n.NoAnswer().Notice(i18n.English)}, nil},
	} {
		var chunks []llm.Chunk
		for _, r := range tc.replies {
			chunks = append(chunks, llm.Chunk{ContentDelta: r, ToolCalls: nil})
		}
		model := scripted(chunks...)
		b := newBot(t, model)
		refusing(b, tc.most, "good", tc.feedback)
		b.handle(hello())
		if diff := cmp.Diff(tc.sent, contents(b.out)); diff != "" {
			t.Errorf("%s: sent (-want +got):\n%s", name, diff)
		}
		var stored []string
		for _, m := range b.store.all("s")[1:] {
			stored = append(stored, m.Content)
		}
		if diff := cmp.Diff(tc.stored, stored); diff != "" {
			t.Errorf("%s: stored (-want +got):\n%s", name, diff)
		}
		if len(model.requests) != len(tc.replies) {
			t.Errorf("%s: %d requests", name, len(model.requests))
		}
		if list := model.last(t).Messages; tc.told != "" && (list[len(list)-1].Content != tc.told || list[len(list)-2].Role != message.RoleAssistant || model.last(t).Tools != nil) {
			t.Errorf("%s: the last request ends with %+v", name, list[len(list)-2:])
		}
		if tc.stored != nil && !cmp.Equal(b.out[0].Segments, []message.Segment{{Type: message.SegmentText, Content: "decoded"}}) {
			t.Errorf("%s: segments %+v", name, b.out[0].Segments)
		}
	}
}

func TestRepliesAreRepaired(t *testing.T) {
	for in, want := range map[string]string{
		"fine":                   "fine",
		"a | b\n--|--|--\n1 | 2": "a | b\n--|--\n1 | 2",
		"so <｜DSML｜invoke name=\"x\"></｜DSML｜invoke>": "so",
	} {
		b := newBot(t, saying(text(in)))
		b.handle(hello())
		if got := b.out[0].Content; got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if s := b.out[0].Segments; strings.Contains(fmt.Sprint(s), "DSML") || len(s) != 1 {
			t.Errorf("%q: segments %+v", in, s)
		}
	}
}

// failing is a model whose calls fail.
func failing(id string, err error, first ...llm.Chunk) *scriptedModel {
	m := newModel(func(_ context.Context, _ llm.Request, onChunk func(llm.Chunk) error) error {
		for _, c := range first {
			if err := onChunk(c); err != nil {
				return err
			}
		}
		return err
	})
	m.info.ID = id
	return m
}

func TestFallback(t *testing.T) {
	down := &llm.Error{Cause: llm.Unavailable, Text: "it is down", BeforeFirstByte: true}
	busy := &llm.Error{Cause: llm.RateLimited, Text: "it is busy", BeforeFirstByte: true}
	late := &llm.Error{Cause: llm.Unavailable, Text: "it broke off"}
	on := []llm.Cause{llm.Unavailable}
	for name, tc := range map[string]struct {
		on   []llm.Cause
		err  error
		said []llm.Chunk
		sent string
	}{
		"the next one answers":           {on, down, nil, "third"},
		"only where it is declared":      {nil, down, nil, "[错误] it is down"},
		"only for the causes named":      {on, busy, nil, "[错误] it is busy"},
		"not after the first byte":       {on, late, nil, "[错误] it broke off"},
		"not after what the user saw":    {on, down, []llm.Chunk{{ContentDelta: "half"}}, "[错误] it is down"},
		"and not for anything else":      {on, fmt.Errorf("odd"), nil, "[错误] odd"},
		"empty pieces are not an answer": {on, down, []llm.Chunk{{}}, "third"},
	} {
		third := saying(text("third"))
		third.info.ID, third.info.ContextLength = "third", 9000
		b := newBot(t, failing("first", tc.err, tc.said...), kerneltest.WithSetting(llm.FallbackSetting.Key(), map[string][]llm.Cause{"llm": tc.on}))
		provide(b.Root(), third)
		provide(b.Root(), failing("second", busyUnless(tc.err, down)))
		b.Root().Prefer("llm", "llm:main/first", "llm:main/second", "llm:main/third")
		b.handle(hello())
		if got := contents(b.out); !slices.Equal(got, []string{tc.sent}) {
			t.Errorf("%s: sent %q\n%s", name, got, b.Logs)
		}
		if tc.sent == "third" && b.out[0].ModelInfo.Model != "third" {
			t.Errorf("%s: model info %+v", name, b.out[0].ModelInfo)
		}
	}
}

func busyUnless(_, other error) error { return other }
