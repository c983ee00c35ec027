// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func start(t testing.TB) (*kerneltest.Harness, tools.Registry) {
	t.Helper()
	h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, "", nil))
	r, ok := tools.Service.Get(h.Root())
	if !ok {
		t.Fatalf("there is no registry:\n%s", h.Logs)
	}
	return h, r
}

// fork makes the context of a plugin that registers tools.
func fork(t testing.TB, h *kerneltest.Harness, id string) *kernel.Context {
	t.Helper()
	k, err := h.Root().Fork(id)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func dispose(t testing.TB, k *kernel.Context) {
	t.Helper()
	if err := k.Dispose(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// echo is a tool that says its own name and is in some groups.
func echo(name string, groups ...string) tools.Tool {
	return tools.Tool{
		Definition: message.ToolDefinition{Function: message.ToolFunction{Name: name, Description: "says " + name}},
		Groups:     groups,
		Handler:    func(context.Context, map[string]any, tools.CallContext) (string, error) { return name, nil },
	}
}

func defined(r tools.Registry, groups ...string) []string {
	var out []string
	for _, d := range r.Definitions(groups) {
		out = append(out, d.Function.Name)
	}
	return out
}

// failure reads why a call failed; the test fails if it did not.
func failure(t testing.TB, result string) string {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(result), &o); err != nil || len(o) != 1 {
		t.Fatalf("got %q, want an object with an error", result)
	}
	text, _ := o["error"].(string)
	if text == "" || !tools.IsErrorResult(result) {
		t.Fatalf("got %q, want an error", result)
	}
	return text
}

func TestConformance(t *testing.T) { kerneltest.Run(t, Plugin) }

func TestDefinitionsByGroup(t *testing.T) {
	h, r := start(t)
	for _, e := range []tools.Tool{echo("c", "x"), echo("a"), echo("b", "x", "y"), echo("d", "z")} {
		r.Register(h.Root(), e)
	}
	for name, tc := range map[string]struct{ groups, want []string }{
		"none":    {nil, []string{"a"}},
		"empty":   {[]string{}, []string{"a"}},
		"one":     {[]string{"x"}, []string{"c", "a", "b"}},
		"other":   {[]string{"y"}, []string{"a", "b"}},
		"unknown": {[]string{"q"}, []string{"a"}},
		"all":     {[]string{"*"}, []string{"c", "a", "b", "d"}},
	} {
		if diff := cmp.Diff(tc.want, defined(r, tc.groups...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	want := message.ToolDefinition{Type: "function", Function: message.ToolFunction{
		Name: "a", Description: "says a", Parameters: map[string]any{"type": "object", "properties": map[string]any{}},
	}}
	if diff := cmp.Diff(want, r.Definitions(nil)[0]); diff != "" {
		t.Errorf("a definition is completed (-want +got):\n%s", diff)
	}
}

func TestOwnership(t *testing.T) {
	h, r := start(t)
	first, second := fork(t, h, "first"), fork(t, h, "second")
	off := r.Register(first, echo("a"))
	r.Register(first, echo("b"))
	r.Register(second, echo("a"))
	if len(h.Logs.Find("WARN", "Replaced Tool", "first", "second")) != 1 {
		t.Errorf("no warning:\n%s", h.Logs)
	}
	if diff := cmp.Diff([]string{"a", "b"}, defined(r)); diff != "" {
		t.Errorf("the place changed: %s", diff)
	}
	off()
	off()
	if infos := r.List(); len(infos) != 2 || infos[0].Owner != "second" {
		t.Errorf("who was replaced took the tool of the other away: %+v", infos)
	}
	dispose(t, second)
	if diff := cmp.Diff([]string{"b"}, defined(r)); diff != "" {
		t.Errorf("a replaced tool must not come back: %s", diff)
	}
	r.Register(second, echo("late"))
	dispose(t, first)
	if got := r.List(); len(got) != 0 {
		t.Errorf("left behind: %+v", got)
	}
}

func TestUnfitToolsAreRefused(t *testing.T) {
	h, r := start(t)
	bad := []tools.Tool{echo(""), echo("a b"), echo("工具"), echo(strings.Repeat("a", 65)), {
		Definition: message.ToolDefinition{Function: message.ToolFunction{Name: "none"}},
	}}
	for _, b := range bad {
		r.Register(h.Root(), b)()
	}
	if len(r.List()) != 0 || len(h.Logs.Find("ERROR", "Refused Tool")) != len(bad) {
		t.Errorf("got %+v\n%s", r.List(), h.Logs)
	}
}

func TestGroups(t *testing.T) {
	h, r := start(t)
	k := fork(t, h, "owner")
	r.RegisterGroup(h.Root(), tools.Group{Name: "b", Label: "old"})
	off := r.RegisterGroup(h.Root(), tools.Group{Name: "a"})
	r.RegisterGroup(k, tools.Group{Name: "b", Label: "new"})
	r.RegisterGroup(k, tools.Group{Name: "*"})
	r.RegisterGroup(k, tools.Group{})
	want := []tools.Group{{Name: "a"}, {Name: "b", Label: "new"}}
	if diff := cmp.Diff(want, r.Groups()); diff != "" {
		t.Error(diff)
	}
	off()
	dispose(t, k)
	if got := r.Groups(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestExecute(t *testing.T) {
	h, r := start(t)
	var seen tools.CallContext
	called := 0
	strict := tools.Tool{
		Definition: message.ToolDefinition{Function: message.ToolFunction{Name: "file_read", Parameters: map[string]any{
			"type":                 "object",
			"properties":           map[string]any{"path": map[string]any{}, "max_lines": map[string]any{}},
			"required":             []any{"path", "max_lines", 7},
			"additionalProperties": false,
		}}},
		Handler: func(_ context.Context, args map[string]any, call tools.CallContext) (string, error) {
			called++
			seen = call
			return fmt.Sprint(args["path"]), nil
		},
	}
	empty := echo("empty")
	empty.Definition.Function.Parameters = map[string]any{"additionalProperties": false, "required": []string{}}
	wrong, broken := echo("wrong"), echo("broken")
	wrong.Handler = func(context.Context, map[string]any, tools.CallContext) (string, error) {
		return "half", errors.New("no <space>")
	}
	broken.Handler = func(context.Context, map[string]any, tools.CallContext) (string, error) { panic("secret detail") }
	for _, e := range []tools.Tool{strict, empty, wrong, broken, echo("file_write", "files"), echo("web_search")} {
		r.Register(h.Root(), e)
	}
	call := tools.CallContext{SessionID: "s", UserID: "u", Platform: "p"}
	for name, tc := range map[string]struct {
		tool string
		args map[string]any
		want []string
	}{
		"missing":          {"file_read", nil, []string{"缺少必填参数: path；缺少必填参数: max_lines"}},
		"present but null": {"file_read", map[string]any{"path": nil, "max_lines": nil, "q": 1}, []string{"未知参数: q（可用参数: max_lines, path）"}},
		"resembling":       {"file_read", map[string]any{"path": "", "max_lines": 1, "lines": 1}, []string{"未知参数: lines，你是否想用: max_lines"}},
		"takes nothing":    {"empty", map[string]any{"a": 1, "b": 2}, []string{"未知参数: a（此工具没有参数）；未知参数: b"}},
		"error":            {"wrong", nil, []string{"no <space>"}},
		"panic":            {"broken", nil, []string{"工具 broken 内部出错"}},
		"unknown":          {"read_file", nil, []string{"未知工具: read_file，你是否想用: file_read"}},
		"like nothing":     {"zzz", nil, []string{"未知工具: zzz"}},
		"no name":          {"", nil, []string{"未知工具: "}},
		"other group":      {"file_write", nil, []string{"工具 file_write 未在当前会话启用"}},
	} {
		got := failure(t, r.Execute(context.Background(), tc.tool, tc.args, call))
		for _, w := range tc.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: got %q, want %q", name, got, w)
			}
		}
		if strings.Contains(got, "secret") || strings.Contains(got, "file_write，") {
			t.Errorf("%s: told too much: %q", name, got)
		}
	}
	if called != 0 {
		t.Error("a call that was refused ran")
	}
	if got := r.Execute(context.Background(), "file_read", map[string]any{"path": "p", "max_lines": 1}, call); got != "p" {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff(call, seen); diff != "" {
		t.Error(diff)
	}
	call.EnabledGroups = []string{"*"}
	if got := r.Execute(context.Background(), "file_write", nil, call); got != "file_write" {
		t.Errorf("got %q", got)
	}
}

func TestUnknownToolsGetAtMostThreeSuggestions(t *testing.T) {
	h, r := start(t)
	for _, n := range []string{"todo", "todo_add", "todo_list", "todo_remove", "note_add"} {
		r.Register(h.Root(), echo(n))
	}
	got := failure(t, r.Execute(context.Background(), "todo_add_item", nil, tools.CallContext{}))
	if want := "未知工具: todo_add_item，你是否想用: todo_add, todo, todo_list"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := failure(t, r.Execute(context.Background(), strings.Repeat("\xff😀", 1<<20), nil, tools.CallContext{}))
	if len(long) > 1000 {
		t.Errorf("a long name is repeated in %d bytes", len(long))
	}
}

func policies() map[string]access.Policy {
	return map[string]access.Policy{
		"undeclared": {}, "public": {Visibility: access.Public}, "safe": {Risk: access.Safe},
		"sensitive": {Risk: access.Sensitive}, "dangerous": {Risk: access.Dangerous},
		"restricted": {Visibility: access.Restricted}, "confirmed": {Confirm: access.ConfirmSession},
		"always": {Confirm: access.ConfirmAlways},
	}
}

// TestWithoutAGuardOnlyHarmlessToolsRun is the fail-closed half of case 8.6.11; the owner's half needs the plugin that
// knows owners.
func TestWithoutAGuardOnlyHarmlessToolsRun(t *testing.T) {
	h, r := start(t)
	runs := []string{"undeclared", "public", "safe"}
	for name, p := range policies() {
		e := echo(name)
		e.Policy = p
		r.Register(h.Root(), e)
		got := r.Execute(context.Background(), name, nil, tools.CallContext{UserID: "console", Platform: "cli"})
		if ran := got == name; ran != slices.Contains(runs, name) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestGuard(t *testing.T) {
	h, r := start(t)
	for name, p := range policies() {
		e := echo(name)
		e.Policy = p
		r.Register(h.Root(), e)
	}
	var asked []access.Request
	off := r.SetGuard(func(_ context.Context, req access.Request) string {
		asked = append(asked, req)
		if req.UserID == "" {
			return "权限不足"
		}
		return ""
	})
	args := map[string]any{"userId": "owner", "a": 1.0}
	if got := failure(t, r.Execute(context.Background(), "dangerous", args, tools.CallContext{SessionID: "s"})); got != "权限不足" {
		t.Errorf("got %q", got)
	}
	if got := r.Execute(context.Background(), "dangerous", args, tools.CallContext{SessionID: "s", UserID: "u", Platform: "p"}); got != "dangerous" {
		t.Errorf("got %q", got)
	}
	want := []access.Request{
		{Capability: "tool:dangerous", Policy: access.Policy{Risk: access.Dangerous}, SessionID: "s", Platform: "unknown", Args: args},
		{Capability: "tool:dangerous", Policy: access.Policy{Risk: access.Dangerous}, SessionID: "s", Platform: "p", UserID: "u", Args: args},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("identity comes from the call and never from the arguments (-want +got):\n%s", diff)
	}
	if n := len(h.Logs.Find("INFO", "Ran restricted Tool", `tool="dangerous"`)); n != 1 {
		t.Errorf("%d lines of the log tell of restricted calls, want 1", n)
	}
	second := r.SetGuard(func(context.Context, access.Request) string { panic("broken guard") })
	if len(h.Logs.Find("WARN", "Replaced Guard")) != 1 {
		t.Error("no warning of a second guard")
	}
	off() // has been replaced: nothing to take away
	if got := failure(t, r.Execute(context.Background(), "public", nil, tools.CallContext{})); !strings.Contains(got, "权限检查失败") {
		t.Errorf("a guard that fails must not let anything run: %q", got)
	}
	second()
	if got := r.Execute(context.Background(), "public", nil, tools.CallContext{}); got != "public" {
		t.Errorf("got %q", got)
	}
	r.SetGuard(nil)()
	failure(t, r.Execute(context.Background(), "restricted", nil, tools.CallContext{UserID: "u"}))
}

func TestUseFollowsTheRegistry(t *testing.T) {
	h, r := start(t)
	k := fork(t, h, "user")
	off := tools.Use(k, []tools.Tool{echo("a", "g")}, tools.Group{Name: "g"})
	if len(r.List()) != 1 || len(r.Groups()) != 1 {
		t.Fatal("not registered")
	}
	if err := h.App.Plugins().Bounce(context.Background(), Plugin.Name); err != nil {
		t.Fatal(err)
	}
	h.Idle()
	again, ok := tools.Service.Get(h.Root())
	if !ok || again == r || len(again.List()) != 1 || len(again.Groups()) != 1 {
		t.Error("not registered with the new registry")
	}
	off()
	if len(again.List()) != 0 || len(again.Groups()) != 0 {
		t.Error("not taken back")
	}
}

func TestTenThousandTools(t *testing.T) {
	const n = 10_000
	h, r := start(t)
	k := fork(t, h, "many")
	for i := range n {
		r.Register(k, echo(fmt.Sprintf("tool_%05d", i), fmt.Sprintf("g%d", i%10)))
	}
	if got := len(r.Definitions([]string{"g3"})); got != n/10 {
		t.Errorf("got %d", got)
	}
	if got := defined(r, tools.AllGroups); len(got) != n || !slices.IsSorted(got) {
		t.Errorf("got %d tools", len(got))
	}
	call := tools.CallContext{EnabledGroups: []string{"*"}}
	if got := r.Execute(context.Background(), "tool_09999", nil, call); got != "tool_09999" {
		t.Errorf("got %q", got)
	}
	got := failure(t, r.Execute(context.Background(), "tool", nil, call))
	if want := "未知工具: tool，你是否想用: tool_00000, tool_00001, tool_00002"; got != want {
		t.Errorf("got %q", got)
	}
	dispose(t, k)
	if len(r.List()) != 0 {
		t.Error("left behind")
	}
}

func TestConcurrentUse(t *testing.T) {
	kerneltest.NoLeaks(t)
	h, r := start(t)
	r.Register(h.Root(), echo("steady"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				off := r.Register(h.Root(), echo(fmt.Sprintf("t%d", (i+j)%5)))
				guard := r.SetGuard(func(context.Context, access.Request) string { return "" })
				if got := r.Execute(context.Background(), "steady", nil, tools.CallContext{}); got != "steady" {
					t.Errorf("got %q", got)
				}
				r.Definitions(nil)
				r.List()
				guard()
				off()
			}
		})
	}
	wg.Wait()
	if got := defined(r); !slices.Equal(got, []string{"steady"}) {
		t.Errorf("left behind: %v", got)
	}
}

// FuzzArguments checks that no schema and no arguments break a call, and that the answer is the result or an error.
func FuzzArguments(f *testing.F) {
	f.Add(`{"properties":{"a":{}},"required":["a"],"additionalProperties":false}`, `{"b":1}`)
	f.Add(`{"properties":[],"required":{"a":1},"additionalProperties":{}}`, `{"a":null}`)
	f.Add(`{"required":[null,1,"\ud800"]}`, `{}`)
	h, r := start(f)
	f.Fuzz(func(t *testing.T, schema, args string) {
		var parameters, values map[string]any
		if json.Unmarshal([]byte(schema), &parameters) != nil || json.Unmarshal([]byte(args), &values) != nil {
			t.Skip()
		}
		e := echo("fuzzed")
		e.Definition.Function.Parameters = parameters
		off := r.Register(h.Root(), e)
		defer off()
		got := r.Execute(context.Background(), "fuzzed", values, tools.CallContext{})
		if got != "fuzzed" {
			failure(t, got)
		}
		if problems := checksOf(parameters).of(values); (got == "fuzzed") != (len(problems) == 0) {
			t.Errorf("got %q with the problems %q", got, problems)
		}
	})
}
