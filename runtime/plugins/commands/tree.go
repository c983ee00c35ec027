// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"maps"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
)

// layer is one declaration of a command. It is never modified.
type layer struct {
	commands.Command
	name    string
	args    []argument
	options []option
	owner   string
}

// node is one name. It lives as long as it has a layer or a child.
type node struct {
	name     string
	parent   *node
	children map[string]*node // by the last segment
	layers   []*layer         // in the order of registration
}

// tree holds the names and aliases. It is not safe for concurrent use.
type tree struct {
	root    *node
	aliases map[string][]*layer // who declares an alias, in order; the last has it
}

func newTree() *tree {
	return &tree{root: &node{children: map[string]*node{}}, aliases: map[string][]*layer{}}
}

// add puts a declaration on top of those of its name and makes the groups on the way. It returns whose declaration and
// whose aliases it stands in front of now.
func (t *tree) add(l *layer) (former *layer, stolen map[string]*layer) {
	n := t.root
	for part := range strings.SplitSeq(l.name, ".") {
		child := n.children[part]
		if child == nil {
			child = &node{name: strings.TrimPrefix(n.name+"."+part, "."), parent: n, children: map[string]*node{}}
			n.children[part] = child
		}
		n = child
	}
	if len(n.layers) > 0 {
		former = n.layers[len(n.layers)-1]
	}
	n.layers = append(n.layers, l)
	stolen = map[string]*layer{}
	for _, a := range l.Aliases {
		if list := t.aliases[a]; len(list) > 0 && list[len(list)-1].name != l.name {
			stolen[a] = list[len(list)-1]
		}
		t.aliases[a] = append(t.aliases[a], l)
	}
	return former, stolen
}

// remove takes a declaration back, and with it the groups that nothing is left in.
func (t *tree) remove(l *layer) {
	n := t.find(l.name)
	if n == nil {
		return
	}
	n.layers = without(n.layers, l)
	for _, a := range l.Aliases {
		if list := without(t.aliases[a], l); len(list) > 0 {
			t.aliases[a] = list
		} else {
			delete(t.aliases, a)
		}
	}
	for n.parent != nil && len(n.layers) == 0 && len(n.children) == 0 {
		delete(n.parent.children, n.name[strings.LastIndexByte(n.name, '.')+1:])
		n = n.parent
	}
}

// without makes a list that lacks one declaration. Lists are replaced, not changed, since readers hold them.
func without(list []*layer, l *layer) []*layer {
	out := make([]*layer, 0, len(list))
	for _, o := range list {
		if o != l {
			out = append(out, o)
		}
	}
	return out
}

// find looks a full name up.
func (t *tree) find(name string) *node {
	n := t.root
	for part := range strings.SplitSeq(name, ".") {
		if n = n.children[part]; n == nil {
			return nil
		}
	}
	return n
}

// head looks up what the first word of a command names: a command, or else an alias of one.
func (t *tree) head(word string) *node {
	if n := t.find(word); n != nil {
		return n
	}
	if list := t.aliases[word]; len(list) > 0 {
		return t.find(list[len(list)-1].name)
	}
	return nil
}

// resolve follows words as far as they are names and returns the rest.
func (t *tree) resolve(words []string) (n *node, rest []string) {
	if len(words) == 0 {
		return nil, nil
	}
	n, rest = t.head(words[0]), words[1:]
	for n != nil && len(rest) > 0 {
		next := t.find(n.name + "." + rest[0])
		if next == nil {
			break
		}
		n, rest = next, rest[1:]
	}
	return n, rest
}

// all lists every node, sorted by name.
func (t *tree) all() []*node {
	var out []*node
	var walk func(n *node)
	walk = func(n *node) {
		for _, key := range slices.Sorted(maps.Keys(n.children)) {
			out = append(out, n.children[key])
			walk(n.children[key])
		}
	}
	walk(t.root)
	return out
}

// active is the declaration that runs: the last one that can. Where none can, the last one describes the group.
func (n *node) active() *layer {
	for _, l := range slices.Backward(n.layers) {
		if l.Handler != nil {
			return l
		}
	}
	if len(n.layers) > 0 {
		return n.layers[len(n.layers)-1]
	}
	return nil
}

// runnable is the declaration that runs, or nil for a group.
func (n *node) runnable() *layer {
	if l := n.active(); l != nil && l.Handler != nil {
		return l
	}
	return nil
}

// policy is the strictest of all declarations on the path to a name.
func (n *node) policy() access.Policy {
	var path []*node
	for at := n; at != nil; at = at.parent {
		path = append(path, at)
	}
	var declared []access.Policy
	for _, at := range slices.Backward(path) {
		for _, l := range at.layers {
			declared = append(declared, l.Policy)
		}
	}
	return access.Strictest(declared...)
}

// shownAliases are the aliases that any declaration of the node has and that lead here, sorted.
func (t *tree) shownAliases(n *node) []string {
	seen := map[string]bool{}
	for _, l := range n.layers {
		for _, a := range l.Aliases {
			if t.head(a) == n {
				seen[a] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
