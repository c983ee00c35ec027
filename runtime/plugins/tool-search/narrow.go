// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package toolsearch

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// namesNotice comes before the names of the tools that are not shown. Models read it.
const namesNotice = "\n\n现有的其他工具（仅为名称；未经本工具查到参数定义之前，不得凭名称直接调用）："

// narrow is the handler of agent:llm:before. It only ever takes tools away. A search that is the only tool has nothing to
// find and is taken away itself.
func (s *searcher) narrow(ctx context.Context, d *agent.LLMData, next kernel.Next) error {
	cfg := s.cfg.Load()
	place := slices.IndexFunc(d.Tools, func(t message.ToolDefinition) bool { return t.Function.Name == toolName })
	switch {
	case place >= 0 && len(d.Tools) == 1:
		d.Tools = nil
		return next(ctx)
	case place < 0 || len(d.Tools) <= cfg.MaxDirectTools+1:
		return next(ctx)
	}
	take := s.found.absorb
	if d.DryRun {
		take = s.found.look
	}
	shown := map[string]bool{}
	for _, name := range take(d.SessionID, evidence(d.Messages), cfg.MaxDiscoveredKeep) {
		shown[name] = true
	}
	for _, name := range cfg.AlwaysDirectTools {
		shown[name] = true
	}
	s.warnMissing(cfg.AlwaysDirectTools, d.Tools)
	d.Tools = narrowed(d.Tools, place, shown, cfg.ShowToolNames)
	return next(ctx)
}

// narrowed makes the list that the model gets: the search first, then what is shown, in the given order.
func narrowed(all []message.ToolDefinition, search int, shown map[string]bool, names bool) []message.ToolDefinition {
	out := []message.ToolDefinition{all[search]}
	var others []string
	for i, t := range all {
		if i == search {
			continue
		}
		others = append(others, t.Function.Name)
		if shown[t.Function.Name] {
			out = append(out, t)
		}
	}
	if names {
		out[0].Function.Description += namesNotice + strings.Join(others, ", ")
	}
	return out
}

// warnMissing tells once of each tool that should be shown always and is not there.
func (s *searcher) warnMissing(wanted []string, all []message.ToolDefinition) {
	for _, name := range wanted {
		there := slices.ContainsFunc(all, func(t message.ToolDefinition) bool { return t.Function.Name == name })
		if !there && s.warned.first(name) {
			s.k.Logger().Warn("Found no tool of alwaysDirectTools", "tool", name)
		}
	}
}

// warned remembers of which names a warning was given.
type warned struct {
	mu    sync.Mutex
	names map[string]bool
}

func newWarned() *warned { return &warned{names: map[string]bool{}} }

// first tells whether a name comes for the first time. After very many names it never is.
func (w *warned) first(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.names[name] || len(w.names) >= maxFound {
		return false
	}
	w.names[name] = true
	return true
}
