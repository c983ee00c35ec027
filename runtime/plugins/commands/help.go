// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

const (
	// helpName is the command that shows all this, and is not listed itself.
	helpName = "help"
	// maxBrief bounds, in code points, what the overview shows of a description.
	maxBrief = 24
)

// briefEnds are the characters before which a description is cut for the overview.
const briefEnds = "。；;，,、（(：:\n"

// Help implements commands.Registry.
func (r *registry) Help(name string) string {
	lang, prefix := r.language(), r.Prefix()
	words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(name), prefix))
	if text, ok := r.help(words, prefix, lang); ok {
		return text
	}
	return r.unknown(strings.Join(words, ".")).In(lang)
}

func (r *registry) help(words []string, prefix string, lang i18n.Language) (text string, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(words) == 0 {
		return r.overview(prefix, lang), true
	}
	n, rest := r.tree.resolve(words)
	if n == nil || len(rest) > 0 {
		return "", false
	}
	return r.detail(n, prefix, lang), true
}

// overview lists the top-level commands as bullets.
func (r *registry) overview(prefix string, lang i18n.Language) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(r.tree.root.children)) {
		if key == helpName {
			continue
		}
		lines = append(lines, bullet(r.tree.root.children[key], prefix, lang))
	}
	help := prefix + helpName
	if len(lines) == 0 {
		return i18n.HelpNone(help).In(lang)
	}
	return "**" + i18n.HelpTitle(r.bot()).In(lang) + "**\n\n" + strings.Join(lines, "\n") + "\n\n" +
		i18n.HelpFooter(help).In(lang)
}

// bullet is the line of one command; a group that nobody described shows nothing but the number of its members.
func bullet(n *node, prefix string, lang i18n.Language) string {
	line := "- `" + prefix + n.name + "`"
	if n.active() != nil {
		if b := brief(describe(n, lang)); b != "" {
			line += " — " + b
		}
	}
	if len(n.children) > 0 {
		line = glue(line, i18n.HelpChildren(len(n.children)).In(lang))
	}
	return line
}

// brief is the beginning of a description.
func brief(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, briefEnds); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	count := 0
	for i := range s {
		if count == maxBrief {
			return strings.TrimSpace(s[:i]) + "…"
		}
		count++
	}
	return s
}

// describe is the description of a name in a language.
func describe(n *node, lang i18n.Language) string {
	if l := n.active(); l != nil {
		if d := translated(l, lang).Description; d != "" || l.Handler != nil {
			return d
		}
	}
	return i18n.HelpGroup.In(lang)
}

// glue puts a remark behind a text. Full-width brackets bring their own space.
func glue(text, remark string) string {
	if text == "" || strings.HasPrefix(remark, "（") {
		return text + remark
	}
	return text + " " + remark
}

// detail tells everything about one command, in a block that keeps its columns. Nothing is cut.
func (r *registry) detail(n *node, prefix string, lang i18n.Language) string {
	var parts []string
	if l := n.runnable(); l != nil {
		parts = append(parts, usageLines(prefix, l, lang), section(i18n.HelpArguments, argumentRows(l, lang), lang),
			section(i18n.HelpOptions, optionRows(l, lang), lang))
	}
	parts = append(parts, section(i18n.HelpSubCommands, childRows(n, prefix, lang), lang))
	if aliases := r.tree.shownAliases(n); len(aliases) > 0 {
		parts = append(parts, i18n.HelpAliases.In(lang)+": "+prefix+strings.Join(aliases, ", "+prefix))
	}
	if l := n.runnable(); l != nil && len(l.Examples) > 0 {
		parts = append(parts, i18n.HelpExamples.In(lang)+":\n  "+strings.Join(l.Examples, "\n  "))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	body := strings.Join(parts, "\n\n")
	fence := fenceFor(body)
	title := "**" + prefix + n.name + "**"
	if d := describe(n, lang); d != "" {
		title += " — " + d
	}
	return title + "\n\n" + fence + "\n" + body + "\n" + fence
}

// fenceFor is a fence that a text cannot end.
func fenceFor(body string) string {
	longest, run := 0, 0
	for _, r := range body {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", max(3, longest+1))
}

// usageLine shows how a command is written.
func usageLine(prefix string, l *layer, lang i18n.Language) string {
	words := []string{prefix + l.name}
	for _, a := range l.args {
		words = append(words, a.String())
	}
	if len(l.options) > 0 {
		words = append(words, i18n.HelpSomeOptions.In(lang))
	}
	return strings.Join(words, " ")
}

func usageLines(prefix string, l *layer, lang i18n.Language) string {
	s := i18n.HelpUsageLine(usageLine(prefix, l, lang)).In(lang)
	if extra := translated(l, lang).Usage; extra != "" {
		s += "\n" + extra
	}
	return s
}

func argumentRows(l *layer, lang i18n.Language) [][2]string {
	var rows [][2]string
	for _, a := range l.args {
		need := i18n.HelpOptional
		if a.required {
			need = i18n.HelpRequired
		}
		rows = append(rows, [2]string{a.String(), need.In(lang)})
	}
	return rows
}

func optionRows(l *layer, lang i18n.Language) [][2]string {
	var rows [][2]string
	texts := translated(l, lang).Options
	for _, o := range l.options {
		text := o.Description
		if t := texts[o.name]; t != "" {
			text = t
		}
		if o.Required {
			text = glue(text, i18n.HelpMustBeGiven.In(lang))
		}
		if len(o.Choices) > 0 {
			text = glue(text, i18n.HelpChoices(strings.Join(o.Choices, ", ")).In(lang))
		}
		if o.Default != nil {
			text = glue(text, i18n.HelpDefault(fmt.Sprint(o.Default)).In(lang))
		}
		rows = append(rows, [2]string{o.String(), text})
	}
	return rows
}

func childRows(n *node, prefix string, lang i18n.Language) [][2]string {
	var rows [][2]string
	for _, key := range slices.Sorted(maps.Keys(n.children)) {
		child := n.children[key]
		rows = append(rows, [2]string{prefix + child.name, describe(child, lang)})
	}
	return rows
}

// section writes a heading and two columns below it, or nothing without rows.
func section(heading i18n.Label, rows [][2]string, lang i18n.Language) string {
	if len(rows) == 0 {
		return ""
	}
	widest := 0
	for _, row := range rows {
		widest = max(widest, width(row[0]))
	}
	lines := []string{heading.In(lang) + ":"}
	for _, row := range rows {
		pad := strings.Repeat(" ", widest-width(row[0])+2)
		lines = append(lines, strings.TrimRight("  "+row[0]+pad+row[1], " "))
	}
	return strings.Join(lines, "\n")
}
