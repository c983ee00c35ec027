// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// clearLevel is what clearing a session asks for where others take part in it.
const clearLevel = 2

// clearable is one type of what can be cleared.
type clearable struct {
	id    string
	label i18n.Label
}

// clearables lists the types, in the order in which they are shown.
var clearables = [...]clearable{
	{memory.TypeContext, i18n.ClearContext}, {"summary", i18n.ClearSummary}, {"vector", i18n.ClearVector},
	{"image", i18n.ClearImage}, {"video", i18n.ClearVideo}, {"audio", i18n.ClearAudio}, {"file", i18n.ClearFile},
	{"persona", i18n.ClearPersona}, {"checkpoint", i18n.ClearCheckpoint}, {"user-profile", i18n.ClearUserProfile},
	{"user-relation", i18n.ClearUserRelation},
}

// clearAliases are other words for some of them.
var clearAliases = map[string]string{
	"history": memory.TypeContext, "messages": memory.TypeContext, "profile": "user-profile", "profiles": "user-profile",
}

// everything is the word for all types.
const everything = "all"

// clearer is /clear and what belongs to it.
type clearer struct{ k *kernel.Context }

func (c *clearer) commands() []commands.Command {
	types := func() []commands.Option { return []commands.Option{{Syntax: "-t, --type <type:string[]>"}} }
	return []commands.Command{
		{
			Declaration: "clear", Options: types(), Policy: access.Policy{Confirm: access.ConfirmSession},
			Examples: []string{"/clear", "/clear -t summary -t image,file"},
			Handler: func(ctx context.Context, call commands.Call) (string, error) {
				return c.clear(ctx, memory.ClearSessionScope, call), nil
			},
		},
		{
			Declaration: "clear.list",
			Handler:     func(context.Context, commands.Call) (string, error) { return c.list(), nil },
		},
		{
			Declaration: "clear.all", Options: types(), Policy: access.Policy{Risk: access.Dangerous},
			Handler: func(ctx context.Context, call commands.Call) (string, error) {
				return c.clear(ctx, memory.ClearAllScope, call), nil
			},
		},
	}
}

func (c *clearer) list() string {
	lang := i18n.Of(c.k)
	lines := []string{i18n.ClearTypesTitle.In(lang)}
	for _, t := range clearables {
		lines = append(lines, "- `"+t.id+"` — "+t.label.In(lang))
	}
	return strings.Join(lines, "\n")
}

func (c *clearer) clear(ctx context.Context, scope memory.ClearScope, call commands.Call) string {
	lang := i18n.Of(c.k)
	given, _ := call.Options["type"].([]string)
	types, unknown := clearTypes(given)
	if unknown != "" {
		return i18n.ClearUnknown(shown(unknown), knownTypes()).In(lang)
	}
	if !c.may(call) {
		return i18n.ClearLevel(clearLevel).In(lang)
	}
	data := memory.ClearData{Scope: scope, Types: types, SessionID: call.SessionID}
	err := memory.RunClear(ctx, c.k, &data)
	return summary(data.Results, err, lang)
}

// may tells whether somebody may clear a session: everybody their own, but where others take part only who has the level.
func (c *clearer) may(call commands.Call) bool {
	switch call.SessionType {
	case message.SessionGroup, message.SessionChannel:
		return access.Reaches(c.k, call.Platform, call.UserID, clearLevel)
	case message.SessionPrivate:
	}
	return true
}

// clearTypes reads the types that were asked for. None means everything. The first one that does not exist is returned.
func clearTypes(given []string) (types []string, unknown string) {
	for _, g := range given {
		word := strings.ToLower(g)
		if word == everything {
			return nil, ""
		}
		if id, ok := clearAliases[word]; ok {
			word = id
		}
		if !slices.ContainsFunc(clearables[:], func(t clearable) bool { return t.id == word }) {
			return nil, g
		}
		if !slices.Contains(types, word) {
			types = append(types, word)
		}
	}
	return types, ""
}

func knownTypes() string {
	var ids []string
	for _, t := range clearables {
		ids = append(ids, t.id)
	}
	return strings.Join(append(ids, everything), ", ")
}

// summary tells what a clearing has done, one line for each part.
func summary(results []memory.ClearResult, err error, lang i18n.Language) string {
	var lines []string
	failed := false
	for _, r := range results {
		mark, text := "✅ ", i18n.ClearDone.In(lang)
		if !r.Success {
			mark, text, failed = "⚠ ", i18n.ClearFailed.In(lang), true
		}
		if r.Message != "" {
			text = r.Message
		}
		lines = append(lines, mark+r.Source+": "+text)
	}
	switch {
	case err != nil:
		if !failed {
			lines = append(lines, "⚠ "+i18n.CommandFailed(err.Error()).In(lang))
		}
		lines = append(lines, "⚠ "+i18n.ClearUndone.In(lang))
	case len(lines) == 0:
		return i18n.ClearNothing.In(lang)
	}
	return strings.Join(lines, "\n")
}
