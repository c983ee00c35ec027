// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func ptr[T any](v T) *T { return &v }

// actor is a card with an output format.
func actor() persona.Card {
	c := owl()
	c.Source = "actor"
	c.OutputFormat = &persona.OutputFormat{Fields: []persona.OutputField{
		{Name: "say", Description: "what you say", Reply: true}, {Name: "mood", Description: "how you feel"},
		{Name: "energy", Type: persona.FieldNumber}, {Name: "awake", Type: persona.FieldBoolean},
	}}
	return c
}

func reply(t *testing.T, h *kerneltest.Harness, d agent.ReplyData) agent.ReplyData {
	t.Helper()
	if _, err := agent.ReplyBefore.Run(context.Background(), h.Root(), &d, nil); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPlainReplies(t *testing.T) {
	h, _ := start(t, kerneltest.WithSetting(persona.Setting.Key(), owl()))
	for name, tc := range map[string]struct{ in, want string }{
		"plain":           {"hello", "hello"},
		"empty":           {"", ""},
		"object":          {` {"reply": "hi", "message": "no"}`, "hi"},
		"order of names":  {`{"message": "5", "content": "3", "response": "1"}`, "1"},
		"message":         {`{"message": "hi"}`, "hi"},
		"to be repaired":  {`{"text": "he said "hi"",}`, `he said "hi"`},
		"no text":         {`{"a": "b"}`, `{"a": "b"}`},
		"no text value":   {`{"text": 1}`, `{"text": 1}`},
		"no JSON":         {`{smile} hi`, `{smile} hi`},
		"JSON in between": {`see {"text": "x"}`, `see {"text": "x"}`},
	} {
		got := reply(t, h, agent.ReplyData{Content: tc.in})
		if diff := cmp.Diff(agent.ReplyData{Content: tc.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStructuredReplies(t *testing.T) {
	const right = `{"say":"hi","mood":"fine","energy":3,"awake":true}`
	h, _ := start(t, kerneltest.WithSetting(persona.Setting.Key(), actor()))
	for name, tc := range map[string]struct{ in, content, archive string }{
		"right":           {right, "hi", right},
		"fence and prose": {"Sure:\n```json\n" + right + "\n```", "hi", right},
		"texts of values": {`{"say":"hi","mood":"m","energy":" 1.5e2 ","awake":"false"}`, "hi", `{"say":"hi","mood":"m","energy":" 1.5e2 ","awake":"false"}`},
		"deliberate silence": {
			`{"say":"","mood":"m","energy":0,"awake":true}`, "", `{"say":"","mood":"m","energy":0,"awake":true}`,
		},
		"repaired": {
			`{"say":"so "hi"","mood":"m","energy":0,"awake":true,}`, `so "hi"`, `{"say":"so \"hi\"","mood":"m","energy":0,"awake":true}`,
		},
		"more fields, other order": {
			`{"x":1,"awake":true,"energy":0,"mood":"<b>","say":"hi"}`, "hi", `{"x":1,"awake":true,"energy":0,"mood":"<b>","say":"hi"}`,
		},
	} {
		got := reply(t, h, agent.ReplyData{Content: tc.in})
		want := agent.ReplyData{Content: tc.content, ArchiveContent: tc.archive, MaxRetries: 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRawJSONNeverReachesTheUser is trap 12: strict validation, bounded retries with feedback, silence in the end.
func TestRawJSONNeverReachesTheUser(t *testing.T) {
	card := actor()
	card.OutputFormat.Retries = ptr(int32(2))
	h, _ := start(t, kerneltest.WithSetting(persona.Setting.Key(), card))
	for in, reason := range map[string]string{
		"just text":                          notAnObject,
		`[1]`:                                notAnObject,
		`{"say":"hi"}`:                       "缺少字段 mood；缺少字段 energy；缺少字段 awake",
		`{"say":null,"mood":"m","energy":1}`: "缺少字段 say；缺少字段 awake",
		`{"reply":"hi","mood":"m","energy":1,"awake":true}`:      "缺少字段 say",
		`{"say":1,"mood":"m","energy":1,"awake":true}`:           "字段 say 的类型必须是 string",
		`{"say":"hi","mood":"m","energy":"much","awake":true}`:   "字段 energy 的类型必须是 number",
		`{"say":"hi","mood":"m","energy":"NaN","awake":true}`:    "字段 energy 的类型必须是 number",
		`{"say":"hi","mood":"m","energy":true,"awake":"yes"}`:    "字段 energy 的类型必须是 number；字段 awake 的类型必须是 boolean",
		`{"say":"hi","mood":{"a":1},"energy":1,"awake":"false"}`: "字段 mood 的类型必须是 string",
	} {
		for attempt := range 3 {
			got := reply(t, h, agent.ReplyData{Content: in, Attempt: attempt})
			if got.MaxRetries != 2 {
				t.Errorf("%s: %d retries", in, got.MaxRetries)
			}
			if attempt < 2 {
				if !got.RetryRequested || !strings.Contains(got.RetryFeedback, reason) || !strings.Contains(got.RetryFeedback, "- energy（number）") ||
					!strings.Contains(got.RetryFeedback, "请将 say 字段留空") {
					t.Errorf("%s, attempt %d: got %+v, want %q", in, attempt, got, reason)
				}
				continue
			}
			if got.RetryRequested || got.Content != "" || got.ArchiveContent != droppedNote+reason {
				t.Errorf("%s: at last got %+v, want %q", in, got, reason)
			}
		}
	}
}

func TestReplyFieldIsNotAText(t *testing.T) {
	card := owl()
	card.OutputFormat = &persona.OutputFormat{Fields: []persona.OutputField{{Name: "n", Type: persona.FieldNumber, Reply: true}}}
	h, _ := start(t, kerneltest.WithSetting(persona.Setting.Key(), card))
	for in, want := range map[string]string{`{"n":1,"text":"one"}`: "one", `{"n":1,"x":"only"}`: "only", `{"n":"2"}`: "2"} {
		if got := reply(t, h, agent.ReplyData{Content: in}); got.Content != want {
			t.Errorf("%s: got %+v", in, got)
		}
	}
	if got := reply(t, h, agent.ReplyData{Content: `{"n":1,"x":"a","y":"b"}`}); !got.RetryRequested {
		t.Errorf("got %+v", got)
	}
}

func TestOptionsOfTheSession(t *testing.T) {
	const right = `{"say":"hi","mood":"fine","energy":3,"awake":true}`
	client := actor()
	client.Source, client.ClientSideJSONRendering = "client", true
	sessions := fakeSessions{configs: map[string]session.Config{
		"plain@p":  {DisableOutputFormat: ptr(true)},
		"owl@p":    {Persona: "night-owl"},
		"client@p": {Persona: "client"},
		"server@p": {Persona: "client", ClientSideJSONRendering: ptr(false)},
		"lost@p":   {Persona: "no-such"},
	}}
	h, _ := start(t, kerneltest.WithSetting(persona.Setting.Key(), actor()),
		kerneltest.WithSetting(persona.OthersSetting.Key(), []persona.Card{owl(), client}),
		kerneltest.WithService[session.Manager](session.Service, sessions))
	for id, want := range map[string]string{"plain": right, "owl": right, "client": right, "server": "hi", "lost": "hi", "new": "hi"} {
		if got := reply(t, h, agent.ReplyData{Content: right, SessionID: id, Platform: "p"}); got.Content != want {
			t.Errorf("%s: got %+v, want %q", id, got, want)
		}
	}
	silent := reply(t, h, agent.ReplyData{Content: `{"say":" ","mood":"m","energy":0,"awake":true}`, SessionID: "client", Platform: "p"})
	if strings.TrimSpace(silent.Content) != "" {
		t.Errorf("silence at the client: %+v", silent)
	}
}

func TestAFailedHookIsLeftAlone(t *testing.T) {
	h, _ := start(t, kerneltest.WithSetting(persona.Setting.Key(), actor()))
	d := agent.ReplyData{Content: "text"}
	if _, err := agent.ReplyBefore.Run(context.Background(), h.Root(), &d, func(context.Context) error { return errBroken }); err == nil {
		t.Error("the error is lost")
	}
	if d.Content != "text" || d.RetryRequested {
		t.Errorf("got %+v", d)
	}
}

func TestState(t *testing.T) {
	const right = `{"say":"hi","mood":"fine & <dandy>","energy":"3","awake":"true","extra":1}`
	mem := newMemory()
	opts := []kerneltest.Option{
		kerneltest.WithPlugin(Plugin, "", map[string]any{"statePersistence": true, "timeInjection": false}),
		kerneltest.WithSetting(persona.Setting.Key(), actor()), kerneltest.WithService[memory.Backend](memory.Service, mem),
	}
	h, p := start(t, opts...)
	reply(t, h, agent.ReplyData{Content: right, SessionID: "a"})
	want := map[string]any{"mood": "fine & <dandy>", "energy": 3.0, "awake": true}
	if diff := cmp.Diff(want, p.State("a")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.State("a")["mood"] = "spoilt"
	const block = "【上一轮状态】\n{\"awake\":true,\"energy\":3,\"mood\":\"fine & <dandy>\"}\n以上是你上一次回复时的状态，仅供参考，可随对话变化。"
	if got := p.VolatilePrompt(persona.View{SessionID: "a"}, persona.Options{}); got != block {
		t.Errorf("got %q", got)
	}
	if got := p.VolatilePrompt(persona.View{SessionID: "b"}, persona.Options{}); got != "" {
		t.Errorf("another session has a state: %q", got)
	}
	reply(t, h, agent.ReplyData{Content: "bad", SessionID: "a", Attempt: 1})
	if p.State("a")["mood"] != "fine & <dandy>" {
		t.Error("a reply that was dropped changed the state")
	}
	h.Stop()

	// The bot starts again with the same memory.
	h, p = start(t, opts...)
	if p.State("a") != nil {
		t.Error("a state that was not asked for is there")
	}
	for _, id := range []string{"a", "b", ""} {
		input(t, h, id)
	}
	if diff := cmp.Diff(want, p.State("a")); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}

	clearState := func(d memory.ClearData) memory.ClearData {
		t.Helper()
		if err := memory.RunClear(context.Background(), h.Root(), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	clearState(memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "a", Types: []string{"summary"}})
	clearState(memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "b"})
	clearState(memory.ClearData{Scope: memory.ClearSessionScope})
	if p.State("a") == nil {
		t.Error("cleared for somebody else")
	}
	d := clearState(memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "a", Types: []string{"persona"}})
	if p.State("a") != nil || len(mem.values) != 0 || len(d.Results) != 1 || d.Results[0] != (memory.ClearResult{Source: "persona", Success: true}) {
		t.Errorf("after clearing: %v %v %+v", p.State("a"), mem.values, d.Results)
	}
	reply(t, h, agent.ReplyData{Content: right, SessionID: "a"})
	reply(t, h, agent.ReplyData{Content: right, SessionID: "b"})
	clearState(memory.ClearData{Scope: memory.ClearAllScope, Types: []string{"context"}})
	if p.State("a") != nil || p.State("b") != nil || len(mem.values) != 0 {
		t.Errorf("after clearing all: %v", mem.values)
	}
}

func input(t *testing.T, h *kerneltest.Harness, session string) {
	t.Helper()
	d := agent.InputData{Message: message.Incoming{SessionID: session}}
	if ok, err := agent.InputBefore.Run(context.Background(), h.Root(), &d, nil); !ok || err != nil {
		t.Fatal(ok, err)
	}
}

func TestAFailedClearingBringsTheStateBack(t *testing.T) {
	const right = `{"say":"hi","mood":"fine","energy":3,"awake":true}`
	for _, scope := range []memory.ClearScope{memory.ClearAllScope, memory.ClearSessionScope} {
		mem := newMemory()
		h, p := start(t, kerneltest.WithPlugin(Plugin, "", map[string]any{"statePersistence": true}),
			kerneltest.WithSetting(persona.Setting.Key(), actor()), kerneltest.WithService[memory.Backend](memory.Service, mem))
		reply(t, h, agent.ReplyData{Content: right, SessionID: "a"})
		memory.Clear.Use(h.Root(), func(context.Context, *memory.ClearData, kernel.Next) error { return errBroken })
		if err := memory.RunClear(context.Background(), h.Root(), &memory.ClearData{Scope: scope, SessionID: "a"}); err == nil {
			t.Fatal("the clearing did not fail")
		}
		input(t, h, "a")
		if p.State("a")["mood"] != "fine" {
			t.Errorf("%s: got %v", scope, p.State("a"))
		}
	}
}

func TestABrokenMemoryIsSurvived(t *testing.T) {
	const right = `{"say":"hi","mood":"fine","energy":3,"awake":true}`
	mem := newMemory()
	mem.set(true)
	h, p := start(t, kerneltest.WithPlugin(Plugin, "", map[string]any{"statePersistence": true}),
		kerneltest.WithSetting(persona.Setting.Key(), actor()), kerneltest.WithService[memory.Backend](memory.Service, mem))
	input(t, h, "a")
	if got := reply(t, h, agent.ReplyData{Content: right, SessionID: "a"}); got.Content != "hi" || p.State("a")["mood"] != "fine" {
		t.Errorf("got %+v, state %v", got, p.State("a"))
	}
	for _, scope := range []memory.ClearScope{memory.ClearAllScope, memory.ClearSessionScope} {
		d := memory.ClearData{Scope: scope, SessionID: "a", Types: []string{"persona"}}
		if err := memory.RunClear(context.Background(), h.Root(), &d); err != nil || len(d.Results) != 1 || d.Results[0].Success {
			t.Errorf("%s: got %v %+v", scope, err, d.Results)
		}
	}
	for _, msg := range []string{"Could not read persona state", "Could not store persona state", "Could not clear persona state"} {
		if len(h.Logs.Find("WARN", msg)) == 0 {
			t.Errorf("not in the log: %s", msg)
		}
	}
	mem.set(false)
	mem.values["c"] = []byte(`[]`)
	input(t, h, "c")
	if p.State("c") != nil {
		t.Error("a spoilt state is used")
	}
}

func TestStatesAreBounded(t *testing.T) {
	h, _ := start(t)
	s := newStates(h.Root(), 3)
	for _, id := range []string{"a", "b", "c"} {
		s.save(context.Background(), id, map[string]any{"id": id})
	}
	s.get("a")
	s.save(context.Background(), "d", nil)
	s.save(context.Background(), "c", map[string]any{"id": "C"})
	for id, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if _, known := s.get(id); known != want {
			t.Errorf("%s: known %v", id, known)
		}
	}
	if got, _ := s.get("c"); got["id"] != "C" || s.order.Len() != 3 {
		t.Errorf("got %v, %d in order", got, s.order.Len())
	}
}

// TestNoStateWithoutPersistence: it is off by default.
func TestNoStateWithoutPersistence(t *testing.T) {
	mem := newMemory()
	h, p := start(t, kerneltest.WithSetting(persona.Setting.Key(), actor()), kerneltest.WithService[memory.Backend](memory.Service, mem))
	input(t, h, "a")
	reply(t, h, agent.ReplyData{Content: `{"say":"hi","mood":"fine","energy":3,"awake":true}`, SessionID: "a"})
	if p.State("a") != nil || len(mem.values) > 0 {
		t.Errorf("got %v, %v", p.State("a"), mem.values)
	}
}

// TestIdentityNeverLeaks has many sessions speak at once while the cards change: each prompt and reply knows its own.
func TestIdentityNeverLeaks(t *testing.T) {
	kerneltest.NoLeaks(t)
	h, p := start(t, kerneltest.WithPlugin(Plugin, "", map[string]any{"statePersistence": true, "timeInjection": false}),
		kerneltest.WithSetting(persona.Setting.Key(), actor()),
		kerneltest.WithService[memory.Backend](memory.Service, newMemory()))
	const sessions, turns = 16, 50
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			id := fmt.Sprintf("s%d", i)
			who := fmt.Sprintf("user-%d-only", i)
			for n := range turns {
				input(t, h, id)
				text := p.VolatilePrompt(persona.View{SessionID: id, Platform: "p", UserID: who, SessionType: "private"}, persona.Options{})
				want := "【会话环境】\n- 平台：p\n- 会话类型：私聊\n- 当前发言者：" + who + "\n以上历史消息只属于当前会话。"
				if n > 0 {
					want += "\n\n【上一轮状态】\n{\"awake\":true,\"energy\":1,\"mood\":\"" + who + "\"}\n以上是你上一次回复时的状态，仅供参考，可随对话变化。"
				}
				if text != want {
					t.Errorf("%s: got %q, want %q", id, text, want)
					return
				}
				got := reply(t, h, agent.ReplyData{Content: `{"say":"` + who + `","mood":"` + who + `","energy":1,"awake":true}`, SessionID: id})
				if got.Content != who {
					t.Errorf("%s: got %+v", id, got)
				}
			}
		})
	}
	for i := range 20 {
		card := actor()
		card.Name = fmt.Sprintf("Actor %d", i)
		set(t, h, &card)
	}
	wg.Wait()
}

func FuzzReply(f *testing.F) {
	for _, s := range []string{"x", `{"say":"a"}`, `{"say":"a","mood":"b","energy":"1","awake":true}`, "```json\n{\"say\":\"a \"b\"\",\"mood\":\"\"", `{"say":null}`} {
		f.Add(s)
	}
	h := kerneltest.New(f, kerneltest.WithPlugin(Plugin, "", nil), kerneltest.WithSetting(persona.Setting.Key(), actor()))
	f.Fuzz(func(t *testing.T, s string) {
		got := reply(t, h, agent.ReplyData{Content: s, Attempt: 1})
		if got.RetryRequested {
			t.Errorf("%q: a retry beyond the limit", s)
		}
		if strings.TrimSpace(s) != "" && got.ArchiveContent == "" {
			t.Errorf("%q: taken as it is: %+v", s, got)
		}
	})
}
