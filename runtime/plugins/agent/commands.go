// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// pageSize is the number of entries of a page of a list.
const pageSize = 20

// The long names of the options.
const (
	optPage     = "page"
	optModel    = "model"
	optPersona  = "persona"
	optThinking = "thinking"
	optName     = "name"
)

// commands are the slash commands of the plugin.
func (a *conductor) commands() []commands.Command {
	return []commands.Command{
		a.listing("model", i18n.LabelModels, a.chatModels, commands.Command{
			Description: "List or search the chat models that a session can use.",
			Translations: map[string]commands.Texts{string(i18n.Chinese): {
				Description: "列出 / 搜索可用对话模型", Usage: "/model [关键词] [-p <页码>]",
				Options: map[string]string{optPage: "页码"},
			}},
		}),
		a.listing("persona", i18n.LabelPersonas, a.personas, commands.Command{
			Description: "List or search the personas that a session can use.",
			Translations: map[string]commands.Texts{string(i18n.Chinese): {
				Description: "列出 / 搜索可用人设", Usage: "/persona [关键词] [-p <页码>]",
				Options: map[string]string{optPage: "页码"},
			}},
		}),
		a.sessionCommand(), a.sessionSetCommand(), a.sessionResetCommand(),
	}
}

// listing completes a command that lists names.
func (a *conductor) listing(
	name string, label func() i18n.Message, names func() []string, c commands.Command,
) commands.Command {
	c.Declaration = name + " [keyword:text]"
	c.Options = []commands.Option{{Syntax: "-p, --" + optPage + " <n:number>", Description: "The page to show."}}
	c.Handler = func(_ context.Context, call commands.Call) (string, error) {
		keyword, _ := call.Args["keyword"].(string)
		l := list{
			label: label(), command: a.prefix() + name, keyword: strings.TrimSpace(keyword), page: page(call.Options[optPage]),
		}
		return l.show(names(), i18n.Of(a.k)), nil
	}
	return c
}

// chatModels lists the entries of models that can chat, in the order in which they are tried, each once.
func (a *conductor) chatModels() (ids []string) {
	for _, e := range llm.Service.Entries(a.k) {
		if slices.Contains(e.Instance.Info().Capabilities, llm.CapChat) && !slices.Contains(ids, e.EntryID) {
			ids = append(ids, e.EntryID)
		}
	}
	return ids
}

func (a *conductor) personas() []string {
	p, ok := persona.Service.Get(a.k)
	if !ok {
		return nil
	}
	return p.Names()
}

// prefix is what a command begins with.
func (a *conductor) prefix() string {
	if r, ok := commands.Service.Get(a.k); ok {
		return r.Prefix()
	}
	return "/"
}

// page reads the number of a page; what is none is the first.
func page(v any) int {
	switch n := v.(type) {
	case int:
		return n
	case int64:
		return int(n)
	case float64:
		if n >= 1 && n < math.MaxInt32 {
			return int(n)
		}
	}
	return 1
}

// list is one page of names, as text.
type list struct {
	label   i18n.Message
	command string
	keyword string // empty means all
	page    int    // from 1; one that does not exist becomes the nearest
}

// show writes the page.
func (l list) show(names []string, lang i18n.Language) string {
	label := l.label.In(lang)
	if l.keyword != "" {
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
			return !strings.Contains(strings.ToLower(n), strings.ToLower(l.keyword))
		})
	}
	switch {
	case len(names) == 0 && l.keyword != "":
		return i18n.ListNoMatch(label, l.keyword).In(lang)
	case len(names) == 0:
		return i18n.ListEmpty(label).In(lang)
	}
	pages := (len(names) + pageSize - 1) / pageSize
	at := min(max(l.page, 1), pages)
	head := i18n.ListHead(label, len(names), at, pages)
	if l.keyword != "" {
		head = i18n.ListHeadMatching(label, l.keyword, len(names), at, pages)
	}
	lines := []string{head.In(lang)}
	for _, n := range names[(at-1)*pageSize : min(at*pageSize, len(names))] {
		lines = append(lines, "- "+n)
	}
	if pages > 1 {
		again := l.command
		if l.keyword != "" {
			again += " " + l.keyword
		}
		lines = append(lines, i18n.ListNextPage(fmt.Sprintf("%s -p %d", again, at%pages+1)).In(lang))
		if l.keyword == "" {
			lines = append(lines, i18n.ListSearch(l.command+" <keyword>").In(lang))
		}
	}
	return strings.Join(lines, "\n")
}
