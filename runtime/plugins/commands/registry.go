// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// registry implements commands.Registry. Its lock is never held while foreign code runs.
type registry struct {
	log      *slog.Logger
	language func() i18n.Language
	bot      func() string
	// unguarded records what is refused for want of a guard.
	unguarded func(context.Context, access.Request)

	mu     sync.RWMutex
	tree   *tree
	guard  access.Slot
	prefix string
}

func newRegistry(k *kernel.Context, prefix string) *registry {
	return &registry{
		log: k.Logger(), language: func() i18n.Language { return i18n.Of(k) }, bot: k.AppName,
		tree: newTree(), prefix: prefix, unguarded: access.Unguarded(k),
	}
}

// Register implements commands.Registry.
func (r *registry) Register(k *kernel.Context, c commands.Command) (off func(), err error) {
	l, err := newLayer(c, k.ID())
	if err != nil {
		return func() {}, fmt.Errorf("registering command %q: %w", c.Declaration, err)
	}
	if k.Disposed() {
		r.log.Warn("Ignored Command of a plugin that is torn down", "command", l.name, "owner", k.ID())
		return func() {}, nil
	}
	r.mu.Lock()
	former, stolen := r.tree.add(l)
	var hidden []string
	for _, a := range l.Aliases {
		if n := r.tree.find(a); n != nil && n.name != l.name {
			hidden = append(hidden, a)
		}
	}
	r.mu.Unlock()
	if former != nil {
		r.log.Warn("Put Command in front of another of the same name", "command", l.name, "owner", l.owner, "former", former.owner)
	}
	for _, a := range slices.Sorted(maps.Keys(stolen)) {
		r.log.Warn("Took Alias from another Command", "alias", a, "command", l.name, "former", stolen[a].name)
	}
	for _, a := range hidden {
		r.log.Warn("Alias does nothing because a Command has that name", "alias", a, "command", l.name)
	}
	return k.Own("command:"+l.name, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tree.remove(l)
	}), nil
}

// newLayer reads a declaration and keeps copies of what could be changed later.
func newLayer(c commands.Command, owner string) (*layer, error) {
	name, args, err := parseDeclaration(c.Declaration)
	if err != nil {
		return nil, err
	}
	options, err := parseOptions(c.Options)
	if err != nil {
		return nil, err
	}
	for _, a := range c.Aliases {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`'"\`, r) }) {
			return nil, fmt.Errorf("alias %q: must not be empty or hold white space, quotes or backslashes", a)
		}
	}
	if c.Handler == nil && (len(args) > 0 || len(options) > 0 || len(c.Aliases) > 0) {
		return nil, errors.New("a command with arguments, options or aliases must have a handler")
	}
	c.Aliases, c.Examples = slices.Clone(c.Aliases), slices.Clone(c.Examples)
	return &layer{Command: c, name: name, args: args, options: options, owner: owner}, nil
}

// SetGuard implements commands.Registry.
func (r *registry) SetGuard(g access.Guard) (off func()) {
	off, replaced := r.guard.Set(g)
	if replaced {
		r.log.Warn("Replaced Guard of commands")
	}
	return off
}

// Prefix implements commands.Registry.
func (r *registry) Prefix() string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.prefix
}

func (r *registry) setPrefix(prefix string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prefix = prefix
}

// Parse implements commands.Registry.
func (r *registry) Parse(text string) (commands.Parsed, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	line, ok := strings.CutPrefix(strings.TrimSpace(text), r.prefix)
	if !ok || !r.begins(line) {
		return commands.Parsed{}, false
	}
	n, rest := r.tree.resolve(tokenize(line))
	if n == nil {
		return commands.Parsed{}, false
	}
	return commands.Parsed{Name: n.name, Tokens: rest, Raw: text}, true
}

// begins tells whether the first word of a line can be a command at all, before the whole line, which may be long, is
// taken apart. A word with quotes or backslashes is left to that.
func (r *registry) begins(line string) bool {
	word, _ := cutWord(line)
	return word != "" && (strings.ContainsAny(word, `'"\`) || r.tree.head(word) != nil)
}

// Names implements commands.Registry.
func (r *registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.tree.root.children))
}

// List implements commands.Registry.
func (r *registry) List() []commands.Info {
	lang := r.language()
	r.mu.RLock()
	defer r.mu.RUnlock()
	nodes := r.tree.all()
	out := make([]commands.Info, 0, len(nodes))
	for _, n := range nodes {
		info := commands.Info{
			Name: n.name, Description: describe(n, lang), Policy: n.policy(), Aliases: r.tree.shownAliases(n),
			Group: n.runnable() == nil,
		}
		if l := n.active(); l != nil {
			info.Owner = l.owner
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b commands.Info) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

var _ commands.Registry = (*registry)(nil)
