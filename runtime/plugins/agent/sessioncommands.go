// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// The JSON names of the fields that the commands set and reset.
const (
	fieldModel    = "llm"
	fieldPersona  = "persona"
	fieldThinking = "thinking"
)

// platformOfNone is the platform whose profile a session without one has.
const platformOfNone = "webui"

const (
	thinkingOn  = "on"
	thinkingOff = "off"
)

func (a *conductor) sessionCommand() commands.Command {
	return commands.Command{
		Declaration: "session",
		Description: "Show which model, persona, thinking and name are in effect in this conversation, and where each comes from.",
		Translations: map[string]commands.Texts{string(i18n.Chinese): {
			Description: "查看当前对话生效的模型 / 人设 / thinking / 名称，及各自来源与解析链",
		}},
		Policy:  access.Policy{Risk: access.Sensitive},
		Handler: a.withSessions(a.showSession),
	}
}

func (a *conductor) sessionSetCommand() commands.Command {
	return commands.Command{
		Declaration: "session.set",
		Description: "Set what this conversation decides for itself; it is kept over restarts.",
		Translations: map[string]commands.Texts{string(i18n.Chinese): {
			Description: "设定会话级覆盖（持久化，重启不丢）",
			Options: map[string]string{
				optModel: "模型引用 provider/model，用 /model 列出可选值", optPersona: "人设卡名（不含后缀）",
				optThinking: "thinking 开关", optName: "会话显示名称",
			},
		}},
		Examples: []string{
			"/session.set -m @aalis/plugin-llm-openai:main/gpt-4o -p catgirl", "/session.set -p strict-reviewer",
			"/session.set -t off", "/session.set -n 深夜助手",
		},
		Options: []commands.Option{
			{Syntax: "-m, --" + optModel + " <v>", Description: "The model, as provider/model."},
			{Syntax: "-p, --" + optPersona + " <v>", Description: "The persona, by the name of its card."},
			{
				Syntax: "-t, --" + optThinking + " <v>", Description: "Whether the model reasons first.",
				Choices: []string{thinkingOn, thinkingOff},
			},
			{Syntax: "-n, --" + optName + " <v>", Description: "The name that is shown."},
		},
		Policy:  access.Policy{Risk: access.Sensitive},
		Handler: a.withSessions(a.setSession),
	}
}

func (a *conductor) sessionResetCommand() commands.Command {
	return commands.Command{
		Declaration: "session.reset",
		Description: "Take back what this conversation decides for itself: model, persona and thinking, or only those that are named. The name stays.",
		Translations: map[string]commands.Texts{string(i18n.Chinese): {
			Description: "复位会话级覆盖：默认清模型 + 人设 + thinking，-m/-p/-t 单独清对应项（显示名不在此列）",
			Options:     map[string]string{optModel: "只清模型", optPersona: "只清人设", optThinking: "只清 thinking"},
		}},
		Options: []commands.Option{
			{Syntax: "-m, --" + optModel, Description: "The model."},
			{Syntax: "-p, --" + optPersona, Description: "The persona."},
			{Syntax: "-t, --" + optThinking, Description: "The thinking."},
		},
		Policy:  access.Policy{Risk: access.Sensitive},
		Handler: a.withSessions(a.resetSession),
	}
}

// sessionHandler is a command about the session in which it is given.
type sessionHandler func(ctx context.Context, m session.Manager, call commands.Call) (string, error)

func (a *conductor) withSessions(h sessionHandler) commands.Handler {
	return func(ctx context.Context, call commands.Call) (string, error) {
		m, ok := session.Service.Get(a.k)
		if !ok {
			return i18n.NoSessionManager().In(i18n.Of(a.k)), nil
		}
		if call.Platform == "" {
			call.Platform = platformOfNone
		}
		return h(ctx, m, call)
	}
}

// showSession is /session.
func (a *conductor) showSession(_ context.Context, m session.Manager, call commands.Call) (string, error) {
	lang := i18n.Of(a.k)
	info, known := m.Get(call.SessionID)
	title := info.Name
	if title == "" {
		title = call.SessionID
	}
	lines := []string{i18n.SessionTitle(title).In(lang)}
	layers := m.Layers(call.SessionID, call.Platform)
	for _, f := range [...]struct {
		label    i18n.Message
		of       func(session.Config) string
		fallback string
	}{
		{i18n.LabelModel(), modelOf, a.defaultModelName(lang)},
		{i18n.LabelPersona(), personaOf, a.defaultPersonaName(lang)},
		{i18n.LabelThinking(), thinkingOf, i18n.SessionUnset().In(lang)},
	} {
		lines = append(lines, explainValue(f.label, f.of, f.fallback, layers, call.Platform, lang)...)
	}
	name, source := i18n.SessionUnset(), i18n.SourceDefault()
	shown := name.In(lang)
	if info.Name != "" {
		shown, source = info.Name, i18n.SourceSession()
	}
	lines = append(lines, i18n.SessionValue(i18n.LabelSessionName().In(lang), shown, source.In(lang)).In(lang))
	if !known {
		lines = append(lines, i18n.SessionNoRecord().In(lang))
	}
	return strings.Join(append(lines, i18n.SessionUsage(a.prefix()).In(lang)), "\n"), nil
}

func modelOf(c session.Config) string {
	ref, ok := c.Model()
	if !ok {
		return ""
	}
	return ref.String()
}

func personaOf(c session.Config) string { return c.Persona }

func thinkingOf(c session.Config) string {
	switch {
	case c.Thinking == nil:
		return ""
	case *c.Thinking:
		return thinkingOn
	default:
		return thinkingOff
	}
}

// explainValue writes a value, its source, and the layers that decide it.
func explainValue(
	label i18n.Message, of func(session.Config) string, fallback string, layers []session.LayerConfig, platform string,
	lang i18n.Language,
) []string {
	var chain []string
	value, source := fallback, i18n.SourceDefault().In(lang)
	for _, l := range layers {
		v := of(l.Config)
		if v == "" {
			continue
		}
		from := sourceOf(l.Layer, platform).In(lang)
		if chain = append(chain, from+" = "+v); len(chain) == 1 {
			value, source = v, from
		}
	}
	lines := []string{i18n.SessionValue(label.In(lang), value, source).In(lang)}
	if len(chain) > 0 {
		lines = append(lines, i18n.SessionChain(strings.Join(chain, " > ")).In(lang))
	}
	return lines
}

func sourceOf(l session.Layer, platform string) i18n.Message {
	switch l {
	case session.LayerSession:
		return i18n.SourceSession()
	case session.LayerParent:
		return i18n.SourceParent()
	case session.LayerPlatform:
		return i18n.SourcePlatform(platform)
	default:
		return i18n.SourceDefault()
	}
}

func (a *conductor) defaultModelName(lang i18n.Language) string {
	m, err := a.resolve(llm.Ref{})
	if err != nil {
		return i18n.SessionUnset().In(lang)
	}
	return m.Info().Entry()
}

func (a *conductor) defaultPersonaName(lang i18n.Language) string {
	if p, ok := persona.Service.Get(a.k); ok {
		if c := p.Card(persona.Options{}); c.Source != "" {
			return c.Source
		}
	}
	return i18n.SessionUnset().In(lang)
}

// setSession is /session.set.
func (a *conductor) setSession(ctx context.Context, m session.Manager, call commands.Call) (string, error) {
	lang := i18n.Of(a.k)
	patch := session.Patch{CreatedBy: session.ByUser}
	var changes []string
	change := func(label i18n.Message, value string) {
		changes = append(changes, label.In(lang)+" = "+value)
	}
	if v := option(call, optModel); v != "" {
		ref, problem := a.modelRef(v)
		if problem != nil {
			return problem.In(lang), nil
		}
		patch.Config.LLM = &ref
		change(i18n.LabelModel(), ref.String())
	}
	if v := option(call, optPersona); v != "" {
		if p, ok := persona.Service.Get(a.k); ok && !slices.Contains(p.Names(), v) {
			return i18n.SessionUnknownPersona(v, len(p.Names()), a.prefix()+"persona").In(lang), nil
		}
		patch.Config.Persona = v
		change(i18n.LabelPersona(), v)
	}
	if v := option(call, optThinking); v != "" {
		on := v == thinkingOn
		patch.Config.Thinking = &on
		change(i18n.LabelThinking(), v)
	}
	if v := option(call, optName); v != "" {
		patch.Name = v
		change(i18n.LabelSessionName(), v)
	}
	if len(changes) == 0 {
		return i18n.SessionUsage(a.prefix()).In(lang), nil
	}
	if _, err := m.Ensure(ctx, call.SessionID, patch); err != nil {
		return "", err
	}
	return i18n.SessionChanged(strings.Join(changes, ", ")).In(lang), nil
}

func option(call commands.Call, name string) string {
	s, _ := call.Options[name].(string)
	return strings.TrimSpace(s)
}

// modelRef finds the chat model that goes by a text, or says what is wrong with the text.
func (a *conductor) modelRef(text string) (llm.Ref, *i18n.Message) {
	if i := strings.LastIndexByte(text, '/'); i <= 0 || i == len(text)-1 {
		problem := i18n.SessionBadModel(text)
		return llm.Ref{}, &problem
	}
	for _, e := range llm.Service.Entries(a.k) {
		info := e.Instance.Info()
		if e.EntryID == text && slices.Contains(info.Capabilities, llm.CapChat) {
			return llm.Ref{Provider: info.Provider, ID: info.ID}, nil
		}
	}
	problem := i18n.SessionUnknownModel(text, len(a.chatModels()), a.prefix()+"model")
	return llm.Ref{}, &problem
}

// resetSession is /session.reset.
func (a *conductor) resetSession(ctx context.Context, m session.Manager, call commands.Call) (string, error) {
	info, _ := m.Get(call.SessionID)
	all := true
	for _, name := range []string{optModel, optPersona, optThinking} {
		all = all && call.Options[name] != true
	}
	var fields []string
	for _, f := range [...]struct {
		option, field string
		of            func(session.Config) string
	}{
		{optModel, fieldModel, modelOf}, {optPersona, fieldPersona, personaOf}, {optThinking, fieldThinking, thinkingOf},
	} {
		if (all || call.Options[f.option] == true) && f.of(info.Config) != "" {
			fields = append(fields, f.field)
		}
	}
	said := i18n.SessionNothingToReset
	if len(fields) > 0 {
		if _, err := m.Update(ctx, call.SessionID, session.Patch{Clear: fields}); err != nil {
			return "", err
		}
		said = i18n.SessionReset
	}
	lang := i18n.Of(a.k)
	now := m.Resolve(call.SessionID, call.Platform)
	model, who := modelOf(now), personaOf(now)
	if model == "" {
		model = a.defaultModelName(lang)
	}
	if who == "" {
		who = a.defaultPersonaName(lang)
	}
	return said(model, who).In(lang), nil
}
