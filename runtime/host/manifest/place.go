// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Place is where something stands.
type Place struct {
	File string
	// Document counts from 1.
	Document int
	// Line counts from 1 in the file; 0 is unknown.
	Line int
}

// String names the place, as in bot.yaml: document 2, line 14.
func (p Place) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: document %d", p.File, p.Document)
	}
	return fmt.Sprintf("%s: document %d, line %d", p.File, p.Document, p.Line)
}

// document is one YAML document of a file.
type document struct {
	Place
	text string
	root *yaml.Node // nil until parsed
}

// split cuts a file into documents at lines that begin with ---, as kubectl does. Empty ones keep their number.
func split(file, text string) []document {
	var (
		docs  []document
		start int
		line  = 1
		first = 1
	)
	flush := func(end int) {
		docs = append(docs, document{Place: Place{File: file, Document: len(docs) + 1, Line: first}, text: text[start:end]})
	}
	for at := 0; at < len(text); line++ {
		next := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if isSeparator(text[at:next]) {
			if len(docs) > 0 || !blank(text[start:at]) {
				flush(at)
			}
			start, first = next, line+1
		}
		at = next
	}
	if start < len(text) || len(docs) == 0 {
		flush(len(text))
	}
	return docs
}

func isSeparator(line string) bool {
	rest, ok := strings.CutPrefix(line, "---")
	return ok && (strings.TrimSpace(rest) == "" || strings.HasPrefix(strings.TrimSpace(rest), "#") && rest[0] == ' ')
}

// blank tells whether a text holds nothing but blank lines, comments and directives.
func blank(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// at is the place of a field, given as spec.plugins[0].name, or of the nearest thing around it.
func (d document) at(path string) Place {
	p := d.Place
	if d.root == nil {
		return p
	}
	node := d.root
	if node.Kind == yaml.DocumentNode && len(node.Content) > 0 {
		node = node.Content[0]
	}
	line := node.Line
	for _, step := range steps(path) {
		next, at := child(node, step)
		if next == nil {
			break
		}
		node, line = next, at
	}
	p.Line = d.Line + line - 1
	return p
}

var stepForm = regexp.MustCompile(`[^.\[\]]+|\[[^\]]*\]`)

func steps(path string) []string { return stepForm.FindAllString(path, -1) }

// child finds the value of a step and the line of its key.
func child(node *yaml.Node, step string) (*yaml.Node, int) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if key, ok := strings.CutPrefix(step, "["); ok {
		return item(node, strings.TrimSuffix(key, "]"))
	}
	if node.Kind != yaml.MappingNode {
		return nil, 0
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == step {
			return node.Content[i+1], node.Content[i].Line
		}
	}
	return nil, 0
}

// item finds an item of a list by its index, or by its name.
func item(node *yaml.Node, key string) (*yaml.Node, int) {
	if node.Kind != yaml.SequenceNode {
		return nil, 0
	}
	index, err := strconv.Atoi(key)
	for i, n := range node.Content {
		name, _ := child(n, "name")
		if err == nil && i == index || err != nil && name != nil && name.Value == key {
			return n, n.Line
		}
	}
	return nil, 0
}
