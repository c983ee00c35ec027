// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryinmemory

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func start(t *testing.T, cfg map[string]any) (*kerneltest.Harness, memory.Backend) {
	t.Helper()
	h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, "", cfg))
	b, ok := memory.Service.Get(h.Root())
	if !ok {
		t.Fatalf("there is no memory:\n%s", h.Logs)
	}
	return h, b
}

func save(t *testing.T, b memory.Backend, session string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := b.SaveMessage(t.Context(), session, message.Message{Role: message.RoleUser, Content: text}); err != nil {
			t.Fatal(err)
		}
	}
}

func texts(t *testing.T, b memory.Backend, session string, limit int) string {
	t.Helper()
	list, err := b.History(t.Context(), session, limit)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range list {
		out = append(out, m.Content)
	}
	return strings.Join(out, " ")
}

func TestConformance(t *testing.T) { kerneltest.Run(t, Plugin) }

func TestPriorityIsBelowOtherBackends(t *testing.T) {
	h, b := start(t, nil)
	other := newBackend(h.Root(), Default())
	memory.Service.Provide(h.Root(), other)
	if got, _ := memory.Service.Get(h.Root()); got != memory.Backend(other) || got == b {
		t.Error("the in-memory backend wins over another one")
	}
}

func TestHistory(t *testing.T) {
	h, b := start(t, nil)
	save(t, b, "a", "1", "2", "3")
	save(t, b, "b", "x")
	for _, tc := range []struct {
		session string
		limit   int
		want    string
	}{{"a", 2, "2 3"}, {"a", 3, "1 2 3"}, {"a", 100, "1 2 3"}, {"a", 0, "1 2 3"}, {"b", 1, "x"}, {"none", 5, ""}} {
		if got := texts(t, b, tc.session, tc.limit); got != tc.want {
			t.Errorf("%s, limit %d: got %q, want %q", tc.session, tc.limit, got, tc.want)
		}
	}
	many := make([]string, memory.DefaultHistoryLimit+5)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	save(t, b, "many", many...)
	if got, want := texts(t, b, "many", 0), strings.Join(many[5:], " "); got != want {
		t.Errorf("default limit: got %q", got)
	}
	list, _ := b.History(t.Context(), "a", 1)
	if list[0].Timestamp != h.Clock.Now().UnixMilli() {
		t.Errorf("timestamp was not filled in: %d", list[0].Timestamp)
	}
	if err := b.ClearSession(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, b, "a", 0) + texts(t, b, "b", 0); got != "x" {
		t.Errorf("after clearing one session: %q", got)
	}
	if err := b.ClearSession(t.Context(), "none"); err != nil {
		t.Error(err)
	}
	if err := b.SaveMessage(t.Context(), "", message.Message{}); err == nil {
		t.Error("a message without a session was taken")
	}
}

// An assistant that calls tools and its results are stored with growing timestamps that may lie ahead of the clock, so
// what is stored later must follow whatever its timestamp says.
func TestOrderIsThatOfSaving(t *testing.T) {
	_, b := start(t, nil)
	for i, ts := range []int64{5, 6, 7, 5, 5} {
		m := message.Message{Role: message.RoleUser, Content: fmt.Sprint(i), Timestamp: ts}
		if err := b.SaveMessage(t.Context(), "s", m); err != nil {
			t.Fatal(err)
		}
	}
	if got := texts(t, b, "s", 0); got != "0 1 2 3 4" {
		t.Errorf("got %q", got)
	}
}

func full() message.Message {
	return message.Message{
		Role: message.RoleAssistant, Content: "c", Timestamp: 1, Images: []string{"i"},
		ToolCalls: []message.ToolCall{{ID: "1", Type: "function"}},
		Segments:  []message.Segment{{Type: message.SegmentToolCall, Args: map[string]any{"k": []any{map[string]any{"x": "y"}}}}},
		Metadata:  map[string]any{"list": []string{"a"}, "map": map[string]string{"b": "c"}, "any": []any{"d"}, "n": 1},
	}
}

func spoil(m *message.Message) {
	m.Images[0] = "spoilt"
	m.ToolCalls[0].ID = "spoilt"
	m.Segments[0].Args["k"].([]any)[0].(map[string]any)["x"] = "spoilt"
	m.Metadata["list"].([]string)[0] = "spoilt"
	m.Metadata["map"].(map[string]string)["b"] = "spoilt"
	m.Metadata["any"].([]any)[0] = "spoilt"
	m.Metadata["new"] = true
}

func TestMessagesAreCopies(t *testing.T) {
	_, b := start(t, nil)
	m := full()
	if err := b.SaveMessage(t.Context(), "s", m); err != nil {
		t.Fatal(err)
	}
	spoil(&m)
	for range 2 {
		list, err := b.History(t.Context(), "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(full(), list[0]); diff != "" {
			t.Fatalf("stored message changed (-want +got):\n%s", diff)
		}
		spoil(&list[0])
	}
}

func TestBounds(t *testing.T) {
	h, b := start(t, map[string]any{"maxMessagesPerSession": 3, "maxSessions": 2})
	save(t, b, "a", "1", "2", "3", "4", "5")
	if got := texts(t, b, "a", 0); got != "3 4 5" {
		t.Errorf("got %q", got)
	}
	save(t, b, "b", "x")
	texts(t, b, "a", 0) // a is used, so b is the one to go
	save(t, b, "c", "y")
	if got := texts(t, b, "a", 0) + "|" + texts(t, b, "b", 0) + "|" + texts(t, b, "c", 0); got != "3 4 5||y" {
		t.Errorf("got %q", got)
	}
	if len(h.Logs.Find("Dropped least recently used Session", `sessionId="b"`)) != 1 {
		t.Errorf("the dropped session is not in the log:\n%s", h.Logs)
	}
	report := h.Apply(func(cfg *kernel.Config) {
		cfg.Plugins[Plugin.Name] = kernel.PluginConfig{Config: map[string]any{"maxMessagesPerSession": 1, "maxSessions": 1}}
	})
	if len(report.Bounced) > 0 {
		t.Errorf("a change of bounds bounced the plugin and lost everything: %+v", report)
	}
	if got := texts(t, b, "a", 0) + "|" + texts(t, b, "c", 0); got != "|y" {
		t.Errorf("after lower bounds: %q", got)
	}
}

func put(ns, key, data string) memory.Op {
	return memory.Op{Namespace: ns, Key: key, Data: json.RawMessage(data)}
}

func TestMetadata(t *testing.T) {
	h, b := start(t, nil)
	ctx := t.Context()
	commit := func(ops ...memory.Op) {
		t.Helper()
		if err := b.CommitMetadata(ctx, ops); err != nil {
			t.Fatal(err)
		}
	}
	commit()
	commit(put("n", "b", `{"v":1}`), put("n", "a", `2`), put("m", "a", `3`), memory.Op{Namespace: "n", Key: "none"})
	list, err := b.ListMetadata(ctx, "n")
	if err != nil || len(list) != 2 || list[0].Key != "a" || list[1].Key != "b" {
		t.Fatalf("list %v, %v", list, err)
	}
	first := list[1].UpdatedAt
	if first != h.Clock.Now().UnixMilli() {
		t.Errorf("updatedAt %d", first)
	}
	copy(list[1].Data, `{"v":9}`)
	v, ok, err := b.Metadata(ctx, "n", "b")
	if err != nil || !ok || string(v) != `{"v":1}` {
		t.Errorf("got %s %v %v", v, ok, err)
	}
	copy(v, `{"v":8}`)
	data := json.RawMessage(`4`)
	commit(memory.Op{Namespace: "n", Key: "b", Data: data}, memory.Op{Namespace: "n", Key: "a"})
	data[0] = '5'
	if v, _, _ := b.Metadata(ctx, "n", "b"); string(v) != "4" {
		t.Errorf("got %s", v)
	}
	if list, _ = b.ListMetadata(ctx, "n"); len(list) != 1 || list[0].UpdatedAt <= first {
		t.Errorf("updatedAt did not grow: %v", list)
	}
	if _, ok, _ := b.Metadata(ctx, "n", "a"); ok {
		t.Error("a deleted value is still there")
	}
	commit(put("n", "x", "1"), memory.Op{Namespace: "n", Key: "x"}, put("n", "y", "1"), put("n", "y", "2"))
	if v, _, _ := b.Metadata(ctx, "n", "y"); string(v) != "2" {
		t.Errorf("of two writes to one place the later did not win: %s", v)
	}
	if _, ok, _ := b.Metadata(ctx, "n", "x"); ok {
		t.Error("a value deleted in the batch that wrote it is there")
	}
}

func TestABadBatchChangesNothing(t *testing.T) {
	_, b := start(t, nil)
	for name, bad := range map[string]memory.Op{
		"config.namespace": put("", "k", "1"),
		"key":              put("n", "", "1"),
		"JSON":             put("n", "k", "{"),
		"empty":            {Namespace: "n", Key: "k", Data: json.RawMessage{}},
		"too long":         put("n", "k", `"`+strings.Repeat("x", memory.MaxDataBytes)+`"`),
	} {
		if err := b.CommitMetadata(t.Context(), []memory.Op{put("n", "good", "1"), bad}); err == nil ||
			!strings.Contains(err.Error(), "ops[1]") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	if list, _ := b.ListMetadata(t.Context(), "n"); len(list) != 0 {
		t.Errorf("half of a bad batch was applied: %v", list)
	}
}

func TestMetadataIsBounded(t *testing.T) {
	m := newMetadata()
	ops := make([]memory.Op, maxMetadataEntries)
	for i := range ops {
		ops[i] = put("n", fmt.Sprint(i), "1")
	}
	if err := m.commit(ops, 1); err != nil {
		t.Fatal(err)
	}
	if err := m.commit([]memory.Op{put("n", "one more", "1")}, 1); err == nil {
		t.Error("an entry beyond the bound was taken")
	}
	if err := m.commit([]memory.Op{{Namespace: "n", Key: "0"}, put("n", "one more", "1"), put("n", "1", "2")}, 1); err != nil {
		t.Errorf("an exchange was refused: %v", err)
	}
	if m.entries != maxMetadataEntries || len(m.namespaces["n"]) != maxMetadataEntries {
		t.Errorf("entries %d, really %d", m.entries, len(m.namespaces["n"]))
	}
}

func TestReadersNeverSeeHalfABatch(t *testing.T) {
	_, b := start(t, nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 500 {
			v := fmt.Sprint(i)
			if err := b.CommitMetadata(t.Context(), []memory.Op{put("n", "a", v), put("n", "b", v)}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for range 500 {
			list, _ := b.ListMetadata(t.Context(), "n")
			if len(list) == 2 && string(list[0].Data) != string(list[1].Data) {
				t.Errorf("saw half a batch: %s %s", list[0].Data, list[1].Data)
			}
		}
	})
	wg.Wait()
}

func TestManySessionsAtOnce(t *testing.T) {
	_, b := start(t, map[string]any{"maxSessions": 50})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			s := fmt.Sprint(i)
			for n := range 20 {
				if err := b.SaveMessage(t.Context(), s, message.Message{Content: fmt.Sprint(n), Metadata: map[string]any{}}); err != nil {
					t.Error(err)
				}
				if _, err := b.History(t.Context(), s, 10); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// The store behaves like plain lists under any sequence of saves, clears and reads.
func TestMessagesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &kerneltest.Logs{}
		limits := Config{MaxMessagesPerSession: 4, MaxSessions: 100}
		s := newMessages(limits, slog.New(h))
		model := map[string][]string{}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "session")
			if rapid.IntRange(0, 9).Draw(t, "step") == 0 {
				s.clear(id)
				delete(model, id)
				continue
			}
			text := fmt.Sprint(i)
			s.add(id, message.Message{Content: text})
			model[id] = append(model[id], text)
			model[id] = model[id][max(0, len(model[id])-4):]
			limit := rapid.IntRange(1, 6).Draw(t, "limit")
			want := model[id][max(0, len(model[id])-limit):]
			var got []string
			for _, m := range s.newest(id, limit, false) {
				got = append(got, m.Content)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("history (-want +got):\n%s", diff)
			}
		}
	})
}

func BenchmarkHistory50(b *testing.B) {
	m := newMessages(Default(), slog.New(&kerneltest.Logs{}))
	back := &backend{messages: m}
	for range 100 {
		x := message.Message{Content: strings.Repeat("x", 200), Metadata: map[string]any{"platform": "p", "userId": "u", "sessionType": "private", "messageId": "1"}}
		m.add("s", x)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = back.History(b.Context(), "s", 50)
	}
}
