// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysummary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// TestCase3Lengths: what is summarised by length, and that nothing is left out of the summary.
func TestCase3Lengths(t *testing.T) {
	for name, tc := range map[string]struct {
		messages, threshold, keep, window int
		aloud, did                        bool
		calls                             int
	}{
		"below":                    {29, 30, 20, 100_000, false, false, 0},
		"at the threshold":         {30, 30, 20, 100_000, false, true, 1},
		"120 messages":             {120, 30, 20, 100_000, false, true, 1},
		"above the old probe":      {300, 240, 20, 100_000, false, true, 1},
		"backlog of several calls": {700, 30, 20, 4096, false, true, 5},
		"aloud below":              {25, 30, 20, 100_000, true, true, 1},
		"aloud, all recent":        {20, 30, 20, 100_000, true, false, 0},
		"keep over threshold":      {15, 10, 20, 100_000, false, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel("S", llm.CapStreaming)
			m.window = tc.window
			b := start(t, m, func(c *Config) { c.Threshold, c.KeepRecent = tc.threshold, tc.keep })
			b.say("s", "word", tc.messages)
			did, err := b.work("s", tc.aloud)
			if did != tc.did || err != nil {
				t.Fatalf("got %v, %v", did, err)
			}
			if n := len(m.requests()); n != tc.calls && (tc.calls < 2 || n < 2) {
				t.Errorf("%d calls", n)
			}
			if !did {
				if n := len(b.live("s")); n != tc.messages {
					t.Errorf("%d are left", n)
				}
				return
			}
			old := tc.messages - tc.keep
			if missing := said(m.requests(), "word", old); len(missing) > 0 {
				t.Errorf("not summarised: %v", missing)
			}
			live := b.live("s")
			last := live[len(live)-1]
			if len(live) != tc.keep+1 || last.Kind != message.KindEventMarker || !strings.Contains(last.Content, fmt.Sprint(old)) {
				t.Errorf("%d are left, the last %+v", len(live), last)
			}
			if r := b.record("s"); r.Summary != "S" || r.CoveredUpTo != old || r.Pending != 0 || r.MessageCount != tc.messages {
				t.Errorf("record %+v", r)
			}
		})
	}
}

// TestCase3Failures: a failing model leaves the old summary, trims once, and loses nothing.
func TestCase3Failures(t *testing.T) {
	down := func(int, llm.Request) (string, error) { return "", errDown }
	streaming := newModel("half a summary", llm.CapStreaming)
	streaming.breakOff = true
	failing := newModel("half a summary", llm.CapStreaming)
	failing.breakOff, failing.err = true, errDown
	for name, m := range map[string]*fakeModel{
		"error": {id: "m", caps: []llm.Capability{llm.CapChat}, answer: down}, "empty": newModel(" \n"),
		"stream ends early": streaming, "stream fails": failing, "no chat model": {id: "m"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, m, nil)
			b.say("s", "word", 40)
			b.put("s", record{Summary: "old", CoveredUpTo: 5})
			if did, err := b.work("s", false); !did || err == nil {
				t.Fatalf("got %v, %v", did, err)
			}
			asked := len(m.requests())
			live := b.live("s")
			if len(live) != 21 || !strings.Contains(live[20].Content, "without a summary") {
				t.Errorf("left %+v", live)
			}
			if diff := cmp.Diff(record{Summary: "old", CoveredUpTo: 5, Pending: 20, MessageCount: 40}, b.record("s")); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if did, err := b.work("s", false); did || err != nil || len(m.requests()) != asked {
				t.Errorf("again: %v, %v", did, err)
			}
			// Once a model answers, what was set aside is summarised first.
			good := newModel("new")
			good.id = "good"
			llm.Service.Provide(b.Root(), llm.Model(good), kernel.WithEntryID("p/good"), kernel.WithPriority(10))
			b.say("s", "later", 30)
			if did, err := b.work("s", false); !did || err != nil {
				t.Fatalf("got %v, %v", did, err)
			}
			if missing := said(good.requests(), "word", 40); len(missing) > 0 {
				t.Errorf("lost: %v", missing)
			}
			// 20 pending, and of the 21 that were left and 30 new ones all but 20.
			if r := b.record("s"); r.Summary != "new" || r.Pending != 0 || r.CoveredUpTo != 5+20+31 {
				t.Errorf("record %+v", r)
			}
			if text := good.requests()[0].Messages[1].Content; !strings.Contains(text, "old") {
				t.Errorf("the old summary is not in %q", text)
			}
		})
	}
}

// TestFailureHalfWay keeps what was summarised and sets the rest aside.
func TestFailureHalfWay(t *testing.T) {
	m := newModel("")
	m.window = 4096
	m.answer = func(n int, _ llm.Request) (string, error) {
		if n == 2 {
			return "", errDown
		}
		return fmt.Sprint("S", n), nil
	}
	b := start(t, m, nil)
	b.say("s", "word", 1000)
	if did, err := b.work("s", false); !did || !errors.Is(err, errDown) {
		t.Fatalf("got %v, %v", did, err)
	}
	r := b.record("s")
	if r.Summary != "S1" || r.CoveredUpTo == 0 || r.CoveredUpTo+r.Pending != 980 {
		t.Errorf("record %+v", r)
	}
	if n := len(b.live("s")); n != 21 {
		t.Errorf("%d are left", n)
	}
	if did, err := b.work("s", true); !did || err != nil {
		t.Fatalf("got %v, %v", did, err)
	}
	ok := slices.Delete(slices.Clone(m.requests()), 1, 2)
	if missing := said(ok, "word", 980); len(missing) > 0 {
		t.Errorf("lost: %v", missing)
	}
}

// TestMemoryFailures: without the record, messages stay.
func TestMemoryFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		broken fakeMemory
		live   int
	}{
		"commit":   {fakeMemory{noCommit: true}, 40},
		"archive":  {fakeMemory{noArchive: true}, 41}, // a marker tells that the summary is there
		"history":  {fakeMemory{noHistory: true}, 40},
		"metadata": {fakeMemory{noMetadata: true}, 40},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, newModel("S"), nil)
			b.say("s", "word", 40)
			tc.broken.Backend = b.mem
			memory.Service.Provide(b.Root(), memory.Backend(&tc.broken), kernel.WithPriority(10))
			if _, err := b.work("s", false); !errors.Is(err, errDown) {
				t.Errorf("got error %v", err)
			}
			if n := len(b.live("s")); n != tc.live {
				t.Errorf("%d are left", n)
			}
		})
	}
	t.Run("marker", func(t *testing.T) {
		b := start(t, newModel("S"), nil)
		b.say("s", "word", 40)
		memory.Service.Provide(b.Root(), memory.Backend(&fakeMemory{Backend: b.mem, noSave: true}), kernel.WithPriority(10))
		if _, err := b.work("s", false); err != nil || len(b.Logs.Find("WARN", "marker")) != 1 {
			t.Errorf("got %v:\n%s", err, b.Logs)
		}
	})
}

func TestToolResultsStayWithTheirCall(t *testing.T) {
	m := newModel("S")
	b := start(t, m, func(c *Config) { c.Threshold, c.KeepRecent = 5, 2 })
	call := message.ToolCall{ID: "1", Type: "function", Function: message.FunctionCall{Name: todoTool, Arguments: `{"todoList":["x"]}`}}
	b.say("s", "word", 4)
	b.save("s", message.Message{Role: message.RoleAssistant, ToolCalls: []message.ToolCall{call}})
	for range 3 {
		b.save("s", message.Message{Role: message.RoleTool, ToolCallID: "1", Content: "result"})
	}
	if did, err := b.work("s", true); !did || err != nil {
		t.Fatalf("got %v, %v", did, err)
	}
	live := b.live("s")
	if len(live) != 5 || len(live[0].ToolCalls) != 1 {
		t.Errorf("left %+v", live)
	}
	if text := m.requests()[0].Messages[1].Content; !strings.Contains(text, `{"todoList":["x"]}`) || strings.Contains(text, "result") {
		t.Errorf("asked %q", text)
	}
}

// TestRequest: what the model is asked, by whom and with what instructions.
func TestRequest(t *testing.T) {
	m, other := newModel("S", llm.CapStreaming), newModel("O")
	other.id = "other"
	b := start(t, m, func(c *Config) {
		c.SummaryPrompt, c.SummaryModelMode, c.SummaryLLM = "Be brief.", modeCustom, ModelRef{Plugin: "p", ID: "other"}
	}, kerneltest.WithSetting("language", "zh-CN"))
	llm.Service.Provide(b.Root(), llm.Model(other), kernel.WithEntryID("p/other"))
	calls := b.calls()
	b.save("s", message.Message{Role: message.RoleUser, Content: strings.Repeat("长", 100_000)})
	b.save("s", message.Message{Role: message.RoleNotice, Content: "a poke"})
	b.say("s", "word", 38)
	if did, err := b.work("s", false); !did || err != nil {
		t.Fatalf("got %v, %v", did, err)
	}
	for _, req := range other.requests() {
		if *req.Temperature != 0.3 || *req.Think || !strings.HasPrefix(req.Messages[0].Content, "Be brief.\n") ||
			!strings.Contains(req.Messages[0].Content, "5000") || !strings.Contains(req.Messages[1].Content, "新的消息") ||
			strings.Contains(req.Messages[1].Content, "poke") || len(req.Messages[1].Content) > 100_000 {
			t.Errorf("asked %.200q %.200q", req.Messages[0].Content, req.Messages[1].Content)
		}
	}
	if len(other.requests()) != 2 || len(m.requests()) != 0 || len(*calls) != 2 || (*calls)[0].Usage.TotalTokens != 7 {
		t.Errorf("calls: %+v", *calls)
	}
}

// TestFallback goes to the next preferred model for the causes that the config names, and tells of both calls.
func TestFallback(t *testing.T) {
	bad, good := newModel("", llm.CapStreaming), newModel("good", llm.CapStreaming)
	good.id = "good"
	bad.answer = func(int, llm.Request) (string, error) {
		return "", &llm.Error{Cause: llm.Unavailable, Text: "down", BeforeFirstByte: true}
	}
	b := start(t, bad, nil, kerneltest.WithSetting("fallbackOn", map[string]any{"llm": []string{"Unavailable"}}))
	llm.Service.Provide(b.Root(), llm.Model(good), kernel.WithEntryID("p/good"))
	b.Root().Prefer(llm.Service.Name(), "p/m", "p/good")
	calls := b.calls()
	b.say("s", "word", 30)
	if _, err := b.work("s", false); err != nil || b.record("s").Summary != "good" {
		t.Errorf("got %v, %+v", err, b.record("s"))
	}
	if c := *calls; len(c) != 2 || c[0].Err == nil || c[1].Err != nil || !c[1].Estimated || c[1].Usage.CompletionTokens != 2 {
		t.Errorf("calls: %+v", c)
	}
}

func TestPendingIsFoundOrLeftAlone(t *testing.T) {
	b := start(t, newModel("S"), nil)
	b.say("s", "word", 40)
	live := b.live("s")
	if _, err := b.mem.ArchiveOldest(context.Background(), "s", 10); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		live []message.Message
		n    int
		want int
		err  error
	}{
		"none": {live[10:], 0, 0, nil}, "some": {live[10:], 4, 4, nil}, "more than there are": {live[10:], 99, 10, nil},
		"others came": {live[10:30], 4, 4, nil}, "another history": {[]message.Message{{Content: "?"}}, 4, 0, errMoved},
	} {
		got, err := pendingOf(t.Context(), b.mem, "s", tc.live, tc.n)
		if len(got) != tc.want || !errors.Is(err, tc.err) || tc.want > 0 && got[len(got)-1].Content != live[9].Content {
			t.Errorf("%s: got %d, %v", name, len(got), err)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	c := Default()
	if err := c.check(); err != nil {
		t.Error(err)
	}
	c.SummaryModelMode = modeCustom
	if err := c.check(); err == nil || !strings.Contains(err.Error(), "config.summaryLLM: must name both") {
		t.Errorf("got %v", err)
	}
}
