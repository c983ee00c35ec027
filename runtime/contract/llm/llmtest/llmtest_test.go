// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmtest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm/llmtest"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestScript(t *testing.T) {
	ctx, broken := context.Background(), errors.New("broken")
	call := message.ToolCall{ID: "c1"}
	m := llmtest.New(llm.Info{}, llmtest.Text("he", "llo"), llmtest.Call(call)).
		Then(llmtest.Fail(broken, llm.Chunk{ContentDelta: "half"}))
	got, err := m.Chat(ctx, llm.Request{MaxTokens: 1})
	if err != nil || got.Content != "hello" || got.Usage.TotalTokens != 12 {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = m.Chat(ctx, llm.Request{MaxTokens: 2})
	if err != nil || len(got.ToolCalls) != 1 || got.ToolCalls[0].ID != "c1" {
		t.Errorf("got %+v, %v", got, err)
	}
	var pieces []string
	err = m.ChatStream(ctx, llm.Request{MaxTokens: 3}, func(c llm.Chunk) error { pieces = append(pieces, c.ContentDelta); return nil })
	if !errors.Is(err, broken) || len(pieces) != 1 {
		t.Errorf("got %v, %v", pieces, err)
	}
	if got, err := m.Chat(ctx, llm.Request{}); !errors.Is(err, llmtest.ErrOver) || got.Content != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	m.Always(llmtest.Text("again"))
	for range 2 {
		if got, err := m.Chat(ctx, llm.Request{}); err != nil || got.Content != "again" {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	var limits []int
	for _, r := range m.Requests() {
		limits = append(limits, r.MaxTokens)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 0, 0, 0}, limits); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestConsumerStops(t *testing.T) {
	stop := errors.New("stop")
	for name, step := range map[string]llmtest.Step{
		"text": llmtest.Text("x"), "fail": llmtest.Fail(errors.New("other"), llm.Chunk{}), "hang": llmtest.Hang(nil, llm.Chunk{}),
	} {
		err := llmtest.New(llm.Info{}, step).ChatStream(context.Background(), llm.Request{}, func(llm.Chunk) error { return stop })
		if !errors.Is(err, stop) {
			t.Errorf("%s returned %v", name, err)
		}
	}
}

func TestHang(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why, started := errors.New("enough"), make(chan struct{})
	m := llmtest.New(llm.Info{}, llmtest.Hang(started))
	done := make(chan error)
	go func() {
		_, err := m.Chat(ctx, llm.Request{})
		done <- err
	}()
	<-started
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if _, err := m.Chat(ctx, llm.Request{}); !errors.Is(err, why) {
		t.Errorf("a cancelled request got %v", err)
	}
}

func TestProvide(t *testing.T) {
	h := kerneltest.New(t)
	off := llmtest.New(llm.Info{ID: "m", Provider: "p"}).Provide(h.Root())
	entries := llm.Service.Entries(h.Root())
	if len(entries) != 1 || entries[0].EntryID != "p/m" {
		t.Errorf("entries %+v", entries)
	}
	off()
	if _, ok := llm.Service.Get(h.Root()); ok {
		t.Error("it is still there")
	}
}
