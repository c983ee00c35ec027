// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package toolsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
)

// toolName is the name of the tool.
const toolName = "search_tools"

// What models read.
const (
	description = "按关键词搜索可用的工具。需要某种能力而当前没有合适的工具时，先用它找到工具及其参数定义，然后再调用找到的工具。"
	hintFound   = "上列工具现在可以直接调用。"
	hintMore    = "还有更多结果，可用 offset 继续查看。"
	hintNone    = "没有匹配的工具，换用其他关键词，或用空关键词列出全部工具。"
)

// tool is the search as the registry has it: for everybody, in no group.
func (s *searcher) tool() tools.Tool {
	return tools.Tool{
		Definition: message.ToolDefinition{Type: "function", Function: message.ToolFunction{
			Name: toolName, Description: description,
			Parameters: map[string]any{
				"type": "object",
				"properties": map[string]any{
					"query": map[string]any{
						"type":        "string",
						"description": "以空格分隔的关键词，匹配其中任意一个即可；空字符串列出全部工具",
					},
					"limit":  map[string]any{"type": "integer", "description": "最多返回多少个"},
					"offset": map[string]any{"type": "integer", "description": "跳过多少个，默认 0"},
				},
				"required": []string{"query"},
			},
		}},
		Handler: s.handle,
	}
}

// result is what a search gives, in the order in which the model reads it.
type result struct {
	Found      string      `json:"found"`
	Pagination *pagination `json:"pagination,omitempty"`
	Tools      []hit       `json:"tools"`
	Related    []string    `json:"related,omitempty"`
	Hint       string      `json:"hint"`
}

type pagination struct {
	Total      int  `json:"total"`
	Offset     int  `json:"offset"`
	Returned   int  `json:"returned"`
	NextOffset *int `json:"nextOffset,omitempty"`
}

type hit struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
}

func (s *searcher) handle(_ context.Context, args map[string]any, call tools.CallContext) (string, error) {
	registry, ok := tools.Service.Get(s.k)
	if !ok {
		return "", errors.New("工具服务不可用")
	}
	query, ok := args["query"].(string)
	if !ok {
		return "", fmt.Errorf("query 必须是字符串，收到 %T", args["query"])
	}
	limit, offset, err := page(args)
	if err != nil {
		return "", err
	}
	if limit <= 0 {
		limit = s.cfg.Load().MaxSearchResults
	}
	available := slices.DeleteFunc(registry.Definitions(call.EnabledGroups),
		func(t message.ToolDefinition) bool { return t.Function.Name == toolName })
	matches := match(available, query)
	r := cut(matches, limit, offset)
	r.Found = fmt.Sprintf("%d/%d", len(matches), len(available))
	r.Related = related(registry.List(), available, r.Tools, matches)
	return tools.Result(r)
}

// page reads the two numbers; a limit of 0 means that none was given.
func page(args map[string]any) (limit, offset int, err error) {
	for key, to := range map[string]*int{"limit": &limit, "offset": &offset} {
		v, given := args[key]
		if !given || v == nil {
			continue
		}
		n, ok := whole(v)
		if !ok {
			return 0, 0, fmt.Errorf("%s 必须是整数，收到 %v", key, v)
		}
		*to = max(n, 0)
	}
	return limit, offset, nil
}

// whole reads an integer as JSON or a caller in Go gives it. Great ones are cut to what is more than enough.
func whole(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case json.Number:
		f, err := n.Float64()
		if err != nil {
			return 0, false
		}
		return whole(f)
	case float64:
		if math.IsNaN(n) || n != math.Trunc(n) {
			return 0, false
		}
		return int(min(max(n, math.MinInt32), math.MaxInt32)), true
	}
	return 0, false
}

// match picks the tools that have any of the keywords in their name or description, all without keywords.
func match(available []message.ToolDefinition, query string) []message.ToolDefinition {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return available
	}
	var out []message.ToolDefinition
	for _, t := range available {
		text := strings.ToLower(t.Function.Name + " " + t.Function.Description)
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
			out = append(out, t)
		}
	}
	return out
}

// cut takes one page of the matches; a limit of 0 takes all.
func cut(matches []message.ToolDefinition, limit, offset int) result {
	total := len(matches)
	from := min(offset, total)
	to := total
	if limit > 0 {
		to = min(from+limit, total)
	}
	r := result{Tools: []hit{}, Hint: hintFound}
	for _, t := range matches[from:to] {
		r.Tools = append(r.Tools, hit{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	if to-from < total {
		r.Pagination = &pagination{Total: total, Offset: from, Returned: to - from}
	}
	switch {
	case to < total:
		r.Pagination.NextOffset = &to
		r.Hint += hintMore
	case len(r.Tools) == 0:
		r.Hint = hintNone
	}
	return r
}

// related names tools of the same groups as the hits that did not match themselves.
func related(infos []tools.Info, available []message.ToolDefinition, hits []hit, matches []message.ToolDefinition) []string {
	in, left := map[string]bool{}, map[string]bool{}
	for _, h := range hits {
		in[h.Name] = true
	}
	for _, t := range available {
		left[t.Function.Name] = true
	}
	for _, t := range matches {
		delete(left, t.Function.Name)
	}
	groups := map[string]bool{}
	for _, i := range infos {
		for _, g := range i.Groups {
			if in[i.Name] {
				groups[g] = true
			}
		}
	}
	var out []string
	for _, i := range infos {
		if left[i.Name] && slices.ContainsFunc(i.Groups, func(g string) bool { return groups[g] }) {
			out = append(out, i.Name)
		}
	}
	return out
}
