// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func toolCall(id string) message.ToolCall {
	return message.ToolCall{ID: id, Type: "function", Function: message.FunctionCall{Name: "f", Arguments: "{}"}}
}

func contribute(t *testing.T, k *kernel.Context, id string, anchor agent.Anchor, texts ...string) {
	t.Helper()
	_, err := agent.Prompt.Contribute(k, id, agent.Contribution{
		Anchor: anchor,
		Build:  func(context.Context, agent.PromptView) ([]string, error) { return texts, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWholePrompt compares everything that a model gets with a golden file for each kind of turn.
func TestWholePrompt(t *testing.T) {
	at := func(minutes int) int64 {
		return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(minutes) * time.Minute).UnixMilli()
	}
	history := []message.Message{
		{Role: message.RoleTool, Content: "the call is outside of the window", ToolCallID: "0", Timestamp: at(-600000)},
		{Role: message.RoleUser, Content: "[Bob(2)]: long ago", Name: "2", Timestamp: at(-525600)},
		{Role: message.RoleAssistant, Content: "indeed", Timestamp: at(-525599)},
		{Role: message.RoleNotice, Kind: "poke", Content: "Bob poked you", Timestamp: at(-50)},
		{Role: message.RoleNotice, Kind: message.KindEventMarker, Content: "for machines only", Timestamp: at(-49)},
		{Role: message.RoleAssistant, ToolCalls: []message.ToolCall{toolCall("1"), toolCall("2")}, Timestamp: at(-40)},
		{Role: message.RoleTool, Content: "result 2", ToolCallID: "2", Timestamp: at(-40) + 1},
		{Role: message.RoleTool, Content: "result 1", ToolCallID: "1", Timestamp: at(-40) + 2},
		{Role: message.RoleAssistant, Content: "half", ToolCalls: []message.ToolCall{toolCall("3"), toolCall("4")}, Timestamp: at(-30)},
		{Role: message.RoleTool, Content: "result 3", ToolCallID: "3", Timestamp: at(-30) + 1},
		{Role: message.RoleUser, Content: "(1/2 02:44) labelled already", Name: "1", Timestamp: at(-20)},
		{Role: message.RoleUser, Content: "no time", Name: "1"},
	}
	group := message.Incoming{
		Content: "see [图片1：a cat]", SessionID: "s", Platform: "onebot", UserID: "1", Nickname: "Ann",
		SessionType: message.SessionGroup, TriggerType: message.TriggerDirect, GroupID: "7", GroupName: "G",
		Attachments: []message.Attachment{{Kind: "image", Data: "data:image/png;base64,AA=="}, {Kind: "file", Data: "x"}, {Kind: "image"}},
	}
	private := message.Incoming{Content: "hi", SessionID: "s", Platform: "onebot", UserID: "1", SessionType: message.SessionPrivate}
	proactive := message.Incoming{
		Content: "tell them", SessionID: "s", Platform: "onebot", TriggerType: message.TriggerProactive,
		Source: "proactive:from:other", SessionType: message.SessionGroup,
	}
	for name, m := range map[string]message.Incoming{"group": group, "private": private, "proactive": proactive} {
		t.Run(name, func(t *testing.T) {
			kerneltest.NoLeaks(t)
			model := saying(text("ok"))
			p := &fakePersona{system: "You are Owl.", volatile: "It is night."}
			b := newBot(t, model, withConfig(map[string]any{"systemPrompt": "Be brief."}),
				kerneltest.WithService[persona.Provider](persona.Service, p))
			b.store.add("s", history...)
			for _, a := range []agent.Anchor{
				agent.AnchorTurnHint, agent.AnchorContext, agent.AnchorTurnContext, agent.AnchorKnowledge, agent.AnchorIdentity,
			} {
				contribute(t, b.Root(), "z-"+string(a), a, "late "+string(a))
				contribute(t, b.Root(), "a-"+string(a), a, "early "+string(a), "", "second "+string(a))
			}
			b.handle(m)
			golden(t, name, model.last(t).Messages)
			if name == "group" {
				want := persona.View{
					SessionID: "s", Platform: "onebot", SessionType: "group", UserID: "1", Nickname: "Ann", GroupID: "7", GroupName: "G",
				}
				if diff := cmp.Diff(want, p.seen); diff != "" {
					t.Errorf("view (-want +got):\n%s", diff)
				}
			}
			if len(b.Logs.Find("WARN", "Left incomplete tool calls", `messages="3"`)) != 1 {
				t.Errorf("dropped tool calls are not in the log:\n%s", b.Logs)
			}
		})
	}
}

func golden(t *testing.T, name string, got any) {
	t.Helper()
	data, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "prompt-"+name+".json")
	if *update {
		if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(data)+"\n"); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// What stands before the end of the history must be the same in the next turn, whatever this turn adds.
func TestPrefixIsStable(t *testing.T) {
	model := saying(text("ok"))
	b := newBot(t, model, kerneltest.WithService[persona.Provider](persona.Service, &fakePersona{system: "S", volatile: "V"}))
	k := b.Root()
	contribute(t, k, "k", agent.AnchorKnowledge, "knowledge")
	contribute(t, k, "t", agent.AnchorTurnContext, "first")
	b.handle(hello())
	first := model.last(t).Messages
	contribute(t, k, "t", agent.AnchorTurnContext, "second")
	b.Clock.Advance(25 * time.Hour)
	b.handle(hello())
	second := model.last(t).Messages
	n := slices.IndexFunc(first, func(m message.Message) bool { return m.Content == "first" })
	if diff := cmp.Diff(first[:n], second[:n]); diff != "" || n < 2 {
		t.Errorf("the first %d messages changed (-first +second):\n%s", n, diff)
	}
	// The message that was the current one comes back as it was.
	if was, is := first[len(first)-1].Content, second[n].Content; was != is {
		t.Errorf("as the current message %q, as history %q", was, is)
	}
}

func TestFocusGuidance(t *testing.T) {
	for _, tc := range []struct {
		session message.SessionType
		trigger message.TriggerType
		want    bool
	}{
		{message.SessionGroup, message.TriggerDirect, true},
		{message.SessionGroup, message.TriggerImmediate, true},
		{message.SessionGroup, message.TriggerInterval, false},
		{message.SessionGroup, message.TriggerIdle, false},
		{message.SessionGroup, message.TriggerProactive, false},
		{message.SessionGroup, "", false},
		{message.SessionPrivate, message.TriggerDirect, false},
		{message.SessionChannel, message.TriggerDirect, false},
		{"", message.TriggerDirect, false},
	} {
		turn := &turn{msg: message.Incoming{SessionType: tc.session, TriggerType: tc.trigger}}
		if got := turn.needsFocus(); got != tc.want {
			t.Errorf("%q, %q: got %v", tc.session, tc.trigger, got)
		}
	}
}

func TestAttachmentTraces(t *testing.T) {
	for text, want := range map[string]bool{
		"[图片: a cat]": true, "[图片：a]": true, "[图片12:a]": true, "[文件: a.txt]": true, "[文件：a]": true,
		"x\n--- 文件内容 ---\ny": true, "[图片 | ref:x]": false, "[图片]": false, "[文件 a]": false, "图片: a": false, "": false,
	} {
		if got := carriesAttachment.MatchString(text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestDelegationWithoutASource(t *testing.T) {
	turn := &turn{msg: message.Incoming{Content: "do it", Source: "scheduler"}}
	m := turn.delegation()
	if strings.Contains(m.Content, "session_get_history") || strings.Contains(m.Content, "scheduler") || m.Metadata["sourceSessionId"] != nil {
		t.Errorf("got %+v", m)
	}
}

func BenchmarkTurn(b *testing.B) {
	model := saying(append(slices.Repeat([]messageChunk{{ContentDelta: "word "}}, 49), text("end"))...)
	h := newBotForBench(b, model)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m := hello()
		m.SessionID = fmt.Sprint(i % 100)
		h.HandleMessage(context.Background(), m)
	}
}
