// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// shelf is a registry of tools for tests: it offers those without a group and those of the groups.
type shelf struct{ list []tools.Tool }

func (s *shelf) Register(_ *kernel.Context, t tools.Tool) func() {
	s.list = append(s.list, t)
	return func() {
		s.list = slices.DeleteFunc(s.list, func(o tools.Tool) bool { return o.Definition.Function.Name == t.Definition.Function.Name })
	}
}
func (s *shelf) RegisterGroup(*kernel.Context, tools.Group) func() { return func() {} }
func (s *shelf) Groups() []tools.Group                             { return nil }
func (s *shelf) SetGuard(access.Guard) func()                      { return func() {} }

func (s *shelf) Definitions(groups []string) []message.ToolDefinition {
	var out []message.ToolDefinition
	for _, t := range s.list {
		if len(t.Groups) == 0 || slices.ContainsFunc(t.Groups, func(g string) bool { return slices.Contains(groups, g) }) {
			out = append(out, t.Definition)
		}
	}
	return out
}

func (s *shelf) List() []tools.Info {
	var out []tools.Info
	for _, t := range s.list {
		out = append(out, tools.Info{Name: t.Definition.Function.Name, Groups: t.Groups})
	}
	return out
}

func (s *shelf) Execute(ctx context.Context, name string, args map[string]any, call tools.CallContext) string {
	for _, t := range s.list {
		if t.Definition.Function.Name == name {
			result, err := t.Handler(ctx, args, call)
			if err != nil {
				return tools.ErrorResult(err.Error())
			}
			return result
		}
	}
	return tools.ErrorResult("unknown")
}

func named(name, about string, groups ...string) tools.Tool {
	return tools.Tool{Groups: groups, Definition: message.ToolDefinition{Type: "function", Function: message.ToolFunction{
		Name: name, Description: about, Parameters: map[string]any{"type": "object"},
	}}}
}

func start(t testing.TB, cfg map[string]any) (*kerneltest.Harness, *shelf) {
	t.Helper()
	s := &shelf{list: []tools.Tool{
		named("file_read", "Reads a FILE"), named("file_write", "writes one", "files"), named("file_list", "names them", "files"),
		named("web_search", "looks for pages", "web"), named("clock", "tells the time"), named("dice", "throws"),
	}}
	h := kerneltest.New(t, kerneltest.WithService[tools.Registry](tools.Service, s), kerneltest.WithPlugin(Plugin, "", cfg))
	return h, s
}

var allGroups = []string{"files", "web"}

// request runs the hook as the agent does and gives the names that the model would see.
func request(t testing.TB, h *kerneltest.Harness, s *shelf, session string, dry bool, ms ...message.Message) ([]string, agent.LLMData) {
	t.Helper()
	d := agent.LLMData{Messages: ms, Tools: s.Definitions(allGroups), SessionID: session, DryRun: dry}
	if reached, err := agent.LLMBefore.Run(context.Background(), h.Root(), &d, nil); err != nil || !reached {
		t.Fatalf("reached %t, %v", reached, err)
	}
	var names []string
	for _, x := range d.Tools {
		names = append(names, x.Function.Name)
	}
	return names, d
}

// used are the messages of one answered call.
func used(name, result string) []message.Message {
	return []message.Message{
		{Role: message.RoleAssistant, ToolCalls: []message.ToolCall{{ID: "1-" + name, Function: message.FunctionCall{Name: name}}}},
		{Role: message.RoleTool, ToolCallID: "1-" + name, Content: result},
	}
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[tools.Registry](tools.Service, &shelf{}))
}

func TestDisabledRegistersNothing(t *testing.T) {
	h, s := start(t, map[string]any{"enabled": false})
	if got, _ := request(t, h, s, "s", false); slices.Contains(got, toolName) || len(got) != 6 {
		t.Errorf("got %v", got)
	}
	h.Apply(func(c *kernel.Config) {
		c.Plugins[Plugin.Name] = kernel.PluginConfig{Module: Plugin.Name, Config: map[string]any{"enabled": true}}
	})
	if got, _ := request(t, h, s, "s", false); !slices.Equal(got, []string{toolName}) {
		t.Errorf("after it was turned on: %v", got)
	}
}

func TestFewToolsAreLeftAlone(t *testing.T) {
	h, s := start(t, map[string]any{"maxDirectTools": 6})
	got, d := request(t, h, s, "s", false)
	if len(got) != 7 || strings.Contains(d.Tools[6].Function.Description, "clock") {
		t.Errorf("got %v", got)
	}
	s.list = s.list[6:]
	if got, _ := request(t, h, s, "s", false); len(got) != 0 {
		t.Errorf("a search that finds nothing is shown: %v", got)
	}
}

func TestManyToolsAreNarrowed(t *testing.T) {
	h, s := start(t, map[string]any{"alwaysDirectTools": []any{"dice", "none"}})
	got, d := request(t, h, s, "s", false, used("file_list", "ok")...)
	if diff := cmp.Diff([]string{toolName, "file_list", "dice"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text := d.Tools[0].Function.Description
	if !strings.HasSuffix(text, "file_read, file_write, file_list, web_search, clock, dice") || !strings.Contains(text, "不得凭名称直接调用") {
		t.Errorf("description: %q", text)
	}
	request(t, h, s, "s", false)
	if n := len(h.Logs.Find("WARN", "alwaysDirectTools", "none")); n != 1 {
		t.Errorf("%d warnings, want 1", n)
	}
	h.Apply(func(c *kernel.Config) {
		c.Plugins[Plugin.Name] = kernel.PluginConfig{Module: Plugin.Name, Config: map[string]any{"showToolNames": false}}
	})
	got, d = request(t, h, s, "s", false)
	if len(got) != 2 || d.Tools[0].Function.Description != description {
		t.Errorf("without names: %v, %q", got, d.Tools[0].Function.Description)
	}
}

func TestOnlyWhatWasAnsweredIsDiscovered(t *testing.T) {
	messages := append(used("file_read", "x"), message.Message{
		Role: message.RoleAssistant, ToolCalls: []message.ToolCall{{ID: "2", Function: message.FunctionCall{Name: "dice"}}},
	}, message.Message{Role: message.RoleTool, ToolCallID: "lost", Content: "x"})
	messages = append(messages, used(toolName, `{"tools":[{"name":"clock"},{"name":"search_tools"},{}]}`)...)
	messages = append(messages, used("web_search", "x")...)
	if diff := cmp.Diff([]string{"file_read", "clock", "web_search"}, evidence(messages)); diff != "" {
		t.Error(diff)
	}
	if got := namesIn(`{"tools":[{"name":"clo[…]`); got != nil {
		t.Errorf("got %v of a result that was cut", got)
	}
}

// TestDiscoveriesAreRemembered is case 8.6.13.
func TestDiscoveriesAreRemembered(t *testing.T) {
	h, s := start(t, map[string]any{"maxDiscoveredKeep": 2})
	request(t, h, s, "s", false, append(used("file_read", ""), used("clock", "")...)...)
	if got, _ := request(t, h, s, "s", false); !slices.Equal(got, []string{toolName, "file_read", "clock"}) {
		t.Errorf("after the messages were trimmed: %v", got)
	}
	if got, _ := request(t, h, s, "other", false); len(got) != 1 {
		t.Errorf("another session: %v", got)
	}
	request(t, h, s, "s", false, append(used("file_read", ""), used("dice", "")...)...)
	if got, _ := request(t, h, s, "s", false); !slices.Equal(got, []string{toolName, "file_read", "dice"}) {
		t.Errorf("the least recent goes: %v", got)
	}
	request(t, h, s, "dry", true, used("clock", "")...)
	if got, _ := request(t, h, s, "dry", true); len(got) != 1 {
		t.Errorf("a dry run is remembered: %v", got)
	}
	request(t, h, s, "third", false, used("clock", "")...)
	clearing := memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "s", Types: []string{"vector"}}
	if err := memory.RunClear(context.Background(), h.Root(), &clearing); err != nil {
		t.Fatal(err)
	}
	if got, _ := request(t, h, s, "s", false); len(got) != 1 {
		t.Errorf("after clearing the session: %v", got)
	}
	if got, _ := request(t, h, s, "third", false); len(got) != 2 {
		t.Errorf("clearing one session cleared another: %v", got)
	}
	if err := memory.RunClear(context.Background(), h.Root(), &memory.ClearData{Scope: memory.ClearAllScope}); err != nil {
		t.Fatal(err)
	}
	if got, _ := request(t, h, s, "third", false); len(got) != 1 {
		t.Errorf("after clearing all: %v", got)
	}
}

func TestLeastActiveSessionsAreForgotten(t *testing.T) {
	d := newDiscoveries()
	for i := range maxSessions {
		d.absorb(fmt.Sprint(i), []string{"a"}, 0)
	}
	d.absorb("0", nil, 0)
	d.absorb("new", []string{"a"}, 0)
	if len(d.look("0", nil, 0)) != 1 || len(d.look("1", nil, 0)) != 0 {
		t.Error("the session that was least active must go")
	}
	if got := d.absorb("x", []string{"a", "b", "a"}, 0); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("got %v", got)
	}
}

func search(t testing.TB, s *shelf, args map[string]any, groups ...string) string {
	t.Helper()
	return s.Execute(context.Background(), toolName, args, tools.CallContext{SessionID: "s", EnabledGroups: groups})
}

func TestSearch(t *testing.T) {
	_, s := start(t, map[string]any{"maxSearchResults": 2})
	for name, tc := range map[string]struct {
		args   map[string]any
		groups []string
		want   string
	}{
		"keyword": {map[string]any{"query": "TIME"}, nil,
			`{"found":"1/3","tools":[{"name":"clock","description":"tells the time","parameters":{"type":"object"}}],"hint":"上列工具现在可以直接调用。"}`},
		"related": {map[string]any{"query": "write"}, allGroups,
			`{"found":"1/6","tools":[{"name":"file_write","description":"writes one","parameters":{"type":"object"}}],"related":["file_list"],"hint":"上列工具现在可以直接调用。"}`},
		"groups of the call only": {map[string]any{"query": "write pages"}, nil,
			`{"found":"0/3","tools":[],"hint":"没有匹配的工具，换用其他关键词，或用空关键词列出全部工具。"}`},
		"page": {map[string]any{"query": "", "limit": 1.0, "offset": 1.0}, nil,
			`{"found":"3/3","pagination":{"total":3,"offset":1,"returned":1,"nextOffset":2},"tools":[{"name":"clock","description":"tells the time","parameters":{"type":"object"}}],"hint":"上列工具现在可以直接调用。还有更多结果，可用 offset 继续查看。"}`},
		"last page": {map[string]any{"query": " ", "offset": json.Number("2"), "limit": nil}, nil,
			`{"found":"3/3","pagination":{"total":3,"offset":2,"returned":1},"tools":[{"name":"dice","description":"throws","parameters":{"type":"object"}}],"hint":"上列工具现在可以直接调用。"}`},
		"beyond": {map[string]any{"query": "", "offset": 1e300}, nil,
			`{"found":"3/3","pagination":{"total":3,"offset":3,"returned":0},"tools":[],"hint":"没有匹配的工具，换用其他关键词，或用空关键词列出全部工具。"}`},
		"limit by config": {map[string]any{"query": "", "limit": -3}, nil, `"nextOffset":2`},
		"no text":         {map[string]any{"query": 1.0}, nil, `{"error":"query 必须是字符串，收到 float64"}`},
		"no number":       {map[string]any{"query": "", "limit": "x"}, nil, `{"error":"limit 必须是整数，收到 x"}`},
		"half":            {map[string]any{"query": "", "offset": 1.5}, nil, `{"error":"offset 必须是整数，收到 1.5"}`},
		"broken number":   {map[string]any{"query": "", "offset": json.Number("x")}, nil, `{"error":"offset 必须是整数，收到 x"}`},
	} {
		if got := search(t, s, tc.args, tc.groups...); !strings.Contains(got, tc.want) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tc.want)
		}
	}
}

func TestSearchAmongTenThousand(t *testing.T) {
	h, s := start(t, map[string]any{"maxSearchResults": 0})
	for i := range 10_000 {
		s.list = append(s.list, named(fmt.Sprintf("t%d", i), "one of many"))
	}
	if got := search(t, s, map[string]any{"query": "many"}); !strings.HasPrefix(got, `{"found":"10000/10003","tools"`) {
		t.Errorf("got %.80s", got)
	}
	if got, _ := request(t, h, s, "s", false, used("t9999", "")...); !slices.Equal(got, []string{toolName, "t9999"}) {
		t.Errorf("got %d tools", len(got))
	}
}

func FuzzEvidence(f *testing.F) {
	f.Add(`{"tools":[{"name":"a"}]}`)
	f.Add(`{"tools":{"name":1}}`)
	f.Fuzz(func(t *testing.T, result string) {
		for _, n := range evidence(used(toolName, result)) {
			if n == "" || n == toolName {
				t.Errorf("found %q in %q", n, result)
			}
		}
	})
}
