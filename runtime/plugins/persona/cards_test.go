// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestFormatPrompt(t *testing.T) {
	own := actor().OutputFormat
	own.Prompt = "Answer like this, please: \n"
	odd := &persona.OutputFormat{Fields: []persona.OutputField{{Name: `a"<b`, Reply: true}}}
	for name, tc := range map[string]struct {
		format *persona.OutputFormat
		want   string
	}{
		"full": {actor().OutputFormat, `【回复格式】
你的最终回复必须是一个 JSON 对象，结构如下：
{
  "say": "...",
  "mood": "...",
  "energy": 0,
  "awake": true
}
字段说明：
- say（string，发送给对方的内容）：what you say
- mood（string）：how you feel
- energy（number）
- awake（boolean）
调用工具时不受此格式限制；除工具调用外，最终回复只能是这个 JSON 对象：不要使用代码块，也不要在 JSON 之外写任何文字。如果没有要发送的内容，请将 say 字段留空（""）。`},
		"own words": {own, "Answer like this, please:\n{\n  \"say\": \"...\",\n  \"mood\": \"...\",\n  \"energy\": 0,\n  \"awake\": true\n}"},
		"quoted":    {odd, ""},
	} {
		got := formatPrompt(newRole(persona.Card{Name: "n", Prompt: "p", OutputFormat: tc.format}).card.OutputFormat)
		if tc.want == "" {
			if !strings.Contains(got, `"a\"<b": "..."`) {
				t.Errorf("%s: got %q", name, got)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestChoosingACard(t *testing.T) {
	lark := persona.Card{Source: "lark", Name: "Lark", Prompt: "Sing.", NickNames: []string{"L", " ", "L", "Larky "}}
	h, p := start(t, kerneltest.WithSetting(persona.Setting.Key(), owl()),
		kerneltest.WithSetting(persona.OthersSetting.Key(), []persona.Card{lark, actor(), owl()}))
	if diff := cmp.Diff([]string{"actor", "lark", "night-owl"}, p.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for choice, want := range map[string]string{"": "Night Owl", "lark": "Lark", "nobody": "Night Owl", "night-owl": "Night Owl"} {
		if got := p.Card(persona.Options{Persona: choice}).Name; got != want {
			t.Errorf("%q: got %s", choice, got)
		}
	}
	if diff := cmp.Diff([]string{"L", "Larky"}, p.NickNames(persona.Options{Persona: "lark"})); diff != "" {
		t.Errorf("nicknames (-want +got):\n%s", diff)
	}
	full := p.SystemPrompt(persona.Options{Persona: "actor"})
	plain := p.SystemPrompt(persona.Options{Persona: "actor", DisableOutputFormat: true})
	if !strings.HasPrefix(full, plain+"\n\n【回复格式】") {
		t.Errorf("got %q, and plain %q", full, plain)
	}
	if p.OutputFormat(persona.Options{Persona: "actor"}).Fields[0].Name != "say" ||
		p.OutputFormat(persona.Options{Persona: "actor", DisableOutputFormat: true}) != nil || p.OutputFormat(persona.Options{}) != nil {
		t.Error("the wrong output format")
	}
	if p.TellsTime() != true {
		t.Error("the time is told by default")
	}

	// A further card that becomes unfit stays as it was, and one that is gone is gone.
	report := setOthers(t, h, `[{"source":"lark","name":"","prompt":"x"},{"source":"","name":"n","prompt":"p"},{"source":"z","name":"Z","prompt":"p"}]`)
	if len(report.Bounced)+len(report.Reconfigured) > 0 {
		t.Errorf("report %+v", report)
	}
	if diff := cmp.Diff([]string{"lark", "night-owl", "z"}, p.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got := p.Card(persona.Options{Persona: "lark"}).Name; got != "Lark" {
		t.Errorf("got %q", got)
	}
	for _, want := range []string{"personas[lark].name must not be empty", "personas[].source must be set"} {
		if len(h.Logs.Find("WARN", "Refused Persona", want)) == 0 {
			t.Errorf("not in the log: %s", want)
		}
	}
}

func setOthers(t *testing.T, h *kerneltest.Harness, raw string) kernel.ApplyReport {
	t.Helper()
	return h.Apply(func(cfg *kernel.Config) { cfg.Settings[persona.OthersSetting.Key()] = json.RawMessage(raw) })
}

// TestTheConfigChoosesACard for a bot that no persona is declared for; one that is declared wins.
func TestTheConfigChoosesACard(t *testing.T) {
	h, p := start(t, kerneltest.WithPlugin(Plugin, "", map[string]any{"persona": "night-owl"}))
	if got := p.Card(persona.Options{}).Source; got != "default" {
		t.Errorf("no such card: %s", got)
	}
	raw, err := json.Marshal([]persona.Card{owl()})
	if err != nil {
		t.Fatal(err)
	}
	setOthers(t, h, string(raw))
	if got := p.Card(persona.Options{}).Source; got != "night-owl" {
		t.Errorf("got %s", got)
	}
	card := actor()
	set(t, h, &card)
	if got := p.Card(persona.Options{}).Source; got != "actor" {
		t.Errorf("got %s", got)
	}
}

func TestUnusableOutputFormats(t *testing.T) {
	for want, format := range map[string]*persona.OutputFormat{
		"must mark one field as the reply":                    {Fields: []persona.OutputField{{Name: "a"}}},
		"fields[1].name may not be used twice, got \\\"a\\\"": {Fields: []persona.OutputField{{Name: "a", Reply: true}, {Name: "a"}}},
		"fields[0].name must not be empty":                    {Fields: []persona.OutputField{{Name: " ", Reply: true}}},
	} {
		card := owl()
		card.OutputFormat = format
		h, p := start(t, kerneltest.WithSetting(persona.Setting.Key(), card))
		if p.OutputFormat(persona.Options{}) != nil || p.Card(persona.Options{}).Name != "Night Owl" || strings.Contains(p.SystemPrompt(persona.Options{}), "JSON") {
			t.Errorf("%s: in effect: %+v", want, p.Card(persona.Options{}))
		}
		if len(h.Logs.Find("WARN", "Ignored output format")) == 0 {
			t.Errorf("not in the log: %s\n%s", want, h.Logs)
		}
	}
}

func TestTheLastReplyFieldWins(t *testing.T) {
	f := &persona.OutputFormat{Fields: []persona.OutputField{{Name: "a", Reply: true}, {Name: "b", Reply: true, Type: "odd"}, {Name: "c"}}, Retries: ptr(int32(-1))}
	_, p := start(t, kerneltest.WithSetting(persona.Setting.Key(), persona.Card{Name: "n", Prompt: "p", OutputFormat: f}))
	got := p.OutputFormat(persona.Options{})
	if name, _ := got.ReplyField(); name != "b" || got.Fields[1].Type != persona.FieldString || got.MaxRetries() != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestEnvironment(t *testing.T) {
	for name, tc := range map[string]struct {
		view persona.View
		want string
	}{
		"group": {
			persona.View{
				SessionID: "onebot:1:group:77", Platform: "onebot", SessionType: "group", UserID: "5", Nickname: "Ann", SenderRole: "owner",
				SenderTitle: "Boss\n", SelfRole: "admin", SelfTitle: "Bot", SelfID: "1", SelfNickname: "Me",
			},
			"【会话环境】\n- 平台：onebot\n- 自己的账号：Me(1)\n- 会话类型：群聊\n- 群：77\n- 自己在群内的身份：管理员，头衔「Bot」\n- 当前发言者：Ann(5)，群主，头衔「Boss」\n以上历史消息只属于当前会话。",
		},
		"odd roles": {
			persona.View{SessionID: "x:group", SessionType: "group", UserID: "5", SenderTitle: "T", SelfRole: "king", SelfID: "1"},
			"【会话环境】\n- 自己的账号：1\n- 会话类型：群聊\n- 自己在群内的身份：king\n- 当前发言者：5，头衔「T」\n以上历史消息只属于当前会话。",
		},
		"a role of nobody": {persona.View{SenderRole: "member"}, ""},
	} {
		if diff := cmp.Diff(tc.want, environment(tc.view)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
