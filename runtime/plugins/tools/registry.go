// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// toolName is what vendors accept as the name of a function.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// entry is a registered tool. It is never modified.
type entry struct {
	tools.Tool
	owner string
	place uint64 // in the order of registration; one that replaces another takes over its place
	check checks
}

// group is a described group.
type group struct {
	tools.Group
}

// registry implements tools.Registry. Its lock is never held while foreign code runs.
type registry struct {
	log *slog.Logger
	// unguarded records what is refused for want of a guard.
	unguarded func(context.Context, access.Request)

	mu     sync.RWMutex
	byName map[string]*entry
	sorted []*entry // by place; nil when it must be made anew
	groups map[string]*group
	guard  access.Slot
	last   uint64
}

func newRegistry(k *kernel.Context) *registry {
	return &registry{log: k.Logger(), unguarded: access.Unguarded(k), byName: map[string]*entry{}, groups: map[string]*group{}}
}

// Register implements tools.Registry.
func (r *registry) Register(k *kernel.Context, t tools.Tool) (off func()) {
	name := t.Definition.Function.Name
	switch {
	case k.Disposed():
		r.log.Warn("Ignored Tool of a plugin that is torn down", "tool", name, "owner", k.ID())
		return func() {}
	case !toolName.MatchString(name):
		r.log.Error("Refused Tool: the name must be 1 to 64 letters, digits, _ and -", "tool", name, "owner", k.ID())
		return func() {}
	case t.Handler == nil:
		r.log.Error("Refused Tool: it has no handler", "tool", name, "owner", k.ID())
		return func() {}
	}
	e := newEntry(t, k.ID())
	r.add(e)
	return k.Own("tool:"+name, func() { r.remove(e) })
}

func newEntry(t tools.Tool, owner string) *entry {
	t.Groups = slices.Clone(t.Groups)
	if t.Definition.Type == "" {
		t.Definition.Type = "function"
	}
	f := &t.Definition.Function
	f.Parameters = maps.Clone(f.Parameters)
	if f.Parameters == nil {
		f.Parameters = map[string]any{}
	}
	for key, value := range map[string]any{"type": "object", "properties": map[string]any{}} {
		if _, ok := f.Parameters[key]; !ok {
			f.Parameters[key] = value
		}
	}
	return &entry{Tool: t, owner: owner, check: checksOf(f.Parameters)}
}

func (r *registry) add(e *entry) {
	name := e.Definition.Function.Name
	r.mu.Lock()
	former := r.byName[name]
	if former != nil {
		e.place = former.place
	} else {
		r.last++
		e.place = r.last
	}
	r.byName[name] = e
	r.sorted = nil
	r.mu.Unlock()
	if former != nil {
		r.log.Warn("Replaced Tool of the same name", "tool", name, "owner", e.owner, "former", former.owner)
	}
}

func (r *registry) remove(e *entry) {
	name := e.Definition.Function.Name
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName[name] == e {
		delete(r.byName, name)
		r.sorted = nil
	}
}

// RegisterGroup implements tools.Registry.
func (r *registry) RegisterGroup(k *kernel.Context, g tools.Group) (off func()) {
	if k.Disposed() || g.Name == "" || g.Name == tools.AllGroups {
		r.log.Warn("Ignored Group: it needs a name other than * and a living plugin", "group", g.Name, "owner", k.ID())
		return func() {}
	}
	made := &group{g}
	r.mu.Lock()
	r.groups[g.Name] = made
	r.mu.Unlock()
	return k.Own("tool-group:"+g.Name, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.groups[g.Name] == made {
			delete(r.groups, g.Name)
		}
	})
}

// SetGuard implements tools.Registry.
func (r *registry) SetGuard(g access.Guard) (off func()) {
	off, replaced := r.guard.Set(g)
	if replaced {
		r.log.Warn("Replaced Guard of tools")
	}
	return off
}

// all lists the tools in their order. The slice is shared and never modified.
func (r *registry) all() []*entry {
	r.mu.RLock()
	sorted := r.sorted
	r.mu.RUnlock()
	if sorted != nil {
		return sorted
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sorted == nil {
		r.sorted = slices.SortedFunc(maps.Values(r.byName), func(a, b *entry) int { return cmp.Compare(a.place, b.place) })
		if r.sorted == nil {
			r.sorted = []*entry{}
		}
	}
	return r.sorted
}

// Definitions implements tools.Registry.
func (r *registry) Definitions(groups []string) []message.ToolDefinition {
	enabled := setOf(groups)
	var out []message.ToolDefinition
	for _, e := range r.all() {
		if offered(e.Groups, enabled) {
			out = append(out, e.Definition)
		}
	}
	return out
}

// List implements tools.Registry.
func (r *registry) List() []tools.Info {
	all := r.all()
	out := make([]tools.Info, 0, len(all))
	for _, e := range all {
		out = append(out, tools.Info{
			Name: e.Definition.Function.Name, Description: e.Definition.Function.Description, Owner: e.owner,
			Policy: e.Policy, Groups: slices.Clone(e.Groups),
		})
	}
	return out
}

// Groups implements tools.Registry.
func (r *registry) Groups() []tools.Group {
	r.mu.RLock()
	out := make([]tools.Group, 0, len(r.groups))
	for _, g := range r.groups {
		out = append(out, g.Group)
	}
	r.mu.RUnlock()
	slices.SortFunc(out, func(a, b tools.Group) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (r *registry) find(name string) (e *entry, guard access.Guard) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byName[name], r.guard.Guard()
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// offered tells whether a tool of some groups is there for who has enabled some.
func offered(groups []string, enabled map[string]bool) bool {
	if len(groups) == 0 || enabled[tools.AllGroups] {
		return true
	}
	return slices.ContainsFunc(groups, func(g string) bool { return enabled[g] })
}

var _ tools.Registry = (*registry)(nil)
