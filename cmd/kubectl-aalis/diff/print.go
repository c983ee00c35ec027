// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/aalis-dev/aalis-operator/controllers/compose"
)

// Print writes the changes for people. Where says in which file a field of an object stands; nil if there are none. A text
// diff that several bots share is written once.
func Print(w io.Writer, bots []Bot, where func(object, path string) string) error {
	p := &printer{w: w, where: where, seen: map[string]string{}}
	for _, bot := range bots {
		p.bot(bot)
	}
	return p.err
}

type printer struct {
	w     io.Writer
	where func(object, path string) string
	seen  map[string]string
	err   error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, printers.EscapeTerminal(fmt.Sprintf(format, args...))+"\n")
	}
}

var meanings = map[Effect]string{
	Reload:  "taken over while it runs",
	Restart: "its pod is replaced",
	Create:  "a new bot",
	Delete:  "is removed",
	Refused: "the operator would refuse this, and what runs would go on",
}

func (p *printer) bot(bot Bot) {
	name := bot.Namespace + "/" + bot.Name
	p.line("AgentInstance %s: %s (%s)", name, bot.Effect, meanings[bot.Effect])
	for _, r := range bot.Reasons {
		p.line("  %-8s %s", r.Effect, r.Text)
	}
	for _, plugin := range bot.Plugins {
		text := plugin.Change
		if plugin.Message != "" {
			text += ": " + plugin.Message
		}
		p.line("  plugin   %s %s", plugin.ID, text)
	}
	for _, problem := range bot.Problems {
		if problem.Severity == compose.SeverityInfo && bot.Effect != Refused {
			continue
		}
		place := ""
		if p.where != nil {
			if place = p.where(problem.Object, problem.Path); place != "" {
				place += ": "
			}
		}
		p.line("  %-8s %s%s", strings.ToLower(string(problem.Severity)), place, compose.Problem(problem))
	}
	for _, d := range bot.Diffs {
		p.text(name, d)
	}
	p.line("")
}

func (p *printer) text(name string, d Text) {
	key := d.Title + "\n" + d.Diff
	if first, ok := p.seen[key]; ok && strings.HasPrefix(d.Title, "persona ") {
		p.line("  %s: as for %s", d.Title, first)
		return
	}
	p.seen[key] = name
	p.line("--- %s: %s (now)", name, d.Title)
	p.line("+++ %s: %s (then)", name, d.Title)
	for line := range strings.Lines(d.Diff) {
		p.line("%s", strings.TrimSuffix(line, "\n"))
	}
}
