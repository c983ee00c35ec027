// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/completions"
)

func TestChatAndStreamAgree(t *testing.T) {
	r := start(t, nil)
	m := r.model("gpt-4o-mini")
	req := llm.Request{
		Messages: []message.Message{
			{Role: message.RoleSystem, Content: "Night Owl"},
			{Role: message.RoleUser, Content: "#reasoning let me see\n#say 你好, world 🦉"},
		},
	}
	whole, err := m.Chat(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Content != "你好, world 🦉" || whole.ReasoningContent != "let me see" || whole.Usage == nil {
		t.Fatalf("got %+v", whole)
	}
	r.fake.ClearCache()
	streamed, err := collect(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	r.fake.ClearCache()
	if streamed.done != 1 || streamed.chunks < 4 {
		t.Errorf("%d chunks, %d of them the last", streamed.chunks, streamed.done)
	}
	whole.Usage.CachedPromptTokens, streamed.Usage.CachedPromptTokens = nil, nil
	if d := cmp.Diff(whole, streamed.Response); d != "" {
		t.Error(d)
	}
	if body := r.lastBody(); body["stream"] != true ||
		!cmp.Equal(body["stream_options"], map[string]any{"include_usage": true}) {
		t.Errorf("request is %v", body)
	}
}

func TestUsage(t *testing.T) {
	r := start(t, nil)
	m := r.model("gpt-4o-mini")
	text := user("#usage prompt=120 cached=0 completion=30\n#say x")
	want := &llm.Usage{PromptTokens: 120, CompletionTokens: 30, TotalTokens: 150, CachedPromptTokens: new(0), ReasoningTokens: new(0)}
	whole, err := m.Chat(t.Context(), text)
	if d := cmp.Diff(want, whole.Usage); err != nil || d != "" {
		t.Error(err, d)
	}
	streamed, err := collect(t.Context(), m, text)
	if d := cmp.Diff(want, streamed.Usage); err != nil || d != "" {
		t.Error(err, d)
	}
	streamed, err = collect(t.Context(), m, user("#usage prompt=120 cached=100 completion=30\n#say x"))
	want.CachedPromptTokens = new(100)
	if d := cmp.Diff(want, streamed.Usage); err != nil || d != "" {
		t.Error(err, d)
	}
	streamed, err = collect(t.Context(), m, user("#fault no-usage"))
	if err != nil || streamed.Usage != nil || streamed.done != 1 {
		t.Errorf("got %+v, %v: want no usage", streamed, err)
	}
}

func TestToolCalls(t *testing.T) {
	r := start(t, nil)
	m := r.model("gpt-4o-mini")
	req := llm.Request{
		Messages: []message.Message{{Role: message.RoleUser, Content: `#tool weather {"city":"München","days":3} #tool now {}`}},
		Tools: []message.ToolDefinition{
			{Type: "function", Function: message.ToolFunction{Name: "weather", Description: "d", Strict: true, Parameters: map[string]any{"type": "object"}}},
			{Type: "function", Function: message.ToolFunction{Name: "now"}},
		},
	}
	streamed, err := collect(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range streamed.ToolCalls {
		names = append(names, c.Function.Name+" "+c.Function.Arguments+" "+c.Type)
		if c.ID == "" {
			t.Error("a call has no id")
		}
	}
	if d := cmp.Diff([]string{`weather {"city":"München","days":3} function`, "now {} function"}, names); d != "" {
		t.Error(d)
	}
	var last message.ToolCallProgress
	for _, p := range streamed.progress {
		if p.Index == 0 {
			last = p
		}
	}
	if d := cmp.Diff(message.ToolCallProgress{Index: 0, Name: "weather", CharsAccumulated: 27}, last); d != "" {
		t.Error(d)
	}
	whole, err := m.Chat(t.Context(), req)
	if d := cmp.Diff(streamed.ToolCalls, whole.ToolCalls); err != nil || d != "" {
		t.Error(err, d)
	}
	req.Messages = append(req.Messages,
		message.Message{Role: message.RoleAssistant, ToolCalls: whole.ToolCalls, ReasoningContent: "secret thoughts"},
		message.Message{Role: message.RoleTool, ToolCallID: whole.ToolCalls[0].ID, Content: "sun"},
		message.Message{Role: message.RoleTool, ToolCallID: whole.ToolCalls[1].ID})
	answer, err := collect(t.Context(), m, req)
	if err != nil || answer.Content != "Tool weather returned: sun\nTool now returned:  " {
		t.Errorf("got %q, %v", answer.Content, err)
	}
}

func TestWireMessages(t *testing.T) {
	got := completions.Messages(llm.Prepare([]message.Message{
		{Role: message.RoleSystem, Content: "be", Name: "x", Metadata: map[string]any{"injector": "persona"}},
		{Role: message.RoleNotice, Content: "poked"},
		{Role: message.RoleUser, Content: "what?", Images: []string{"data:image/png;base64,AA", "https://x/y.png"}},
		{Role: message.RoleUser, Images: []string{"https://x/z.png"}},
		{Role: message.RoleUser},
		{Role: message.RoleAssistant, Content: "hm", ReasoningContent: "thoughts", Images: []string{"https://x/no.png"}},
		{Role: message.RoleAssistant, ToolCalls: []message.ToolCall{{ID: "c1", Type: "function", Function: message.FunctionCall{Name: "f", Arguments: "{}"}}}},
		{Role: message.RoleTool, ToolCallID: "c1"},
		{Role: message.RoleUser, Kind: message.KindCrossSessionDelegation, Content: "do"},
		{Role: message.RoleUser, Content: "bad \xff"},
	}), true, false)
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var have, want any
	if err := json.Unmarshal(raw, &have); err != nil {
		t.Fatal(err)
	}
	err = json.Unmarshal([]byte(`[
		{"role":"system","content":"be"},
		{"role":"system","content":"[系统通知] poked"},
		{"role":"user","content":[{"type":"text","text":"what?"},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}},
			{"type":"image_url","image_url":{"url":"https://x/y.png"}}]},
		{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/z.png"}}]},
		{"role":"assistant","content":"hm"},
		{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","content":" ","tool_call_id":"c1"},
		{"role":"user","content":"[跨会话委派] do"},
		{"role":"user","content":"bad \ufffd"}]`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Error(d)
	}
}

func TestLimitsAndTemperature(t *testing.T) {
	r := start(t, map[string]any{"customModels": "o3-mini, gpt-5, gpt-4o", "temperature": 0.5, "maxTokens": 100})
	type sent struct{ maxTokens, maxCompletion, temperature any }
	tests := []struct {
		name, model string
		req         llm.Request
		want        sent
	}{
		{"config", "gpt-4o", llm.Request{}, sent{100.0, nil, 0.5}},
		{"request", "gpt-4o", llm.Request{MaxTokens: 7, Temperature: new(1.5)}, sent{7.0, nil, 1.5}},
		{"o series", "o3-mini", llm.Request{Temperature: new(1.5)}, sent{nil, 100.0, nil}},
		{"later series", "gpt-5", llm.Request{MaxTokens: 9}, sent{nil, 9.0, nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := settingsOf(t, map[string]any{"temperature": 0.5, "maxTokens": 100})
			tt.req.Messages = user("hi").Messages
			raw, err := json.Marshal(buildRequest(tt.model, tt.req, set))
			if err != nil {
				t.Fatal(err)
			}
			var body map[string]any
			if err := json.Unmarshal(raw, &body); err != nil {
				t.Fatal(err)
			}
			got := sent{body["max_tokens"], body["max_completion_tokens"], body["temperature"]}
			if got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if _, err := r.model("gpt-4o").Chat(t.Context(), llm.Request{Messages: user("hi").Messages, Temperature: new(0.0)}); err != nil {
		t.Fatal(err)
	}
	if got, ok := r.lastBody()["temperature"].(float64); !ok || got > 1e-40 {
		t.Errorf("temperature is %v, want next to nothing but sent", r.lastBody()["temperature"])
	}
}

func settingsOf(t *testing.T, cfg map[string]any) *settings {
	t.Helper()
	c, err := kernel.Decode(Default(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	set, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	return set
}
