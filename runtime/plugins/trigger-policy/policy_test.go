// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package triggerpolicy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/flow"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/contract/trigger"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// desk is flow control as a test sets it, and an archive.
type desk struct {
	flow.Control
	archive.Archive
	mu       sync.Mutex
	snapshot *flow.Snapshot
	notes    []string
	breaks   bool
}

func (d *desk) Snapshot(string) (flow.Snapshot, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.breaks {
		panic("broken")
	}
	if d.snapshot == nil {
		return flow.Snapshot{}, false
	}
	return *d.snapshot, true
}

func (d *desk) note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, text)
}

func (d *desk) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.notes
	d.notes = nil
	return out
}

func (d *desk) RecordTriggered(id string) { d.note("triggered " + id) }
func (d *desk) RescheduleIdle(id string)  { d.note("idle " + id) }
func (d *desk) SetMuted(_ context.Context, id, platform string, length time.Duration) {
	d.note("muted " + platform + " " + id + " " + length.String())
}

func (d *desk) ArchiveIncoming(_ context.Context, m message.Incoming) (message.Message, error) {
	d.note("archived " + m.Content)
	return message.Message{}, errors.New("out of order")
}

// card is the persona.
type card struct{ persona.Provider }

func (card) Card(persona.Options) persona.Card  { return persona.Card{Name: "Owl"} }
func (card) NickNames(persona.Options) []string { return []string{"Hooty", "", "Owl"} }

type bot struct {
	*kerneltest.Harness
	t    testing.TB
	desk *desk
	p    trigger.Policy
}

func start(t testing.TB, cfg map[string]any, opts ...kerneltest.Option) *bot {
	t.Helper()
	b := &bot{t: t, desk: &desk{}}
	b.Harness = kerneltest.New(t, append([]kerneltest.Option{
		kerneltest.WithService[gateway.Gateway](gateway.Service, nowhere{}),
		kerneltest.WithPlugin(Plugin, "", cfg),
	}, opts...)...)
	p, ok := trigger.Service.Get(b.Root())
	if !ok {
		t.Fatalf("there is no policy:\n%s", b.Logs)
	}
	b.p = p
	return b
}

type nowhere struct{ gateway.Gateway }

func (b *bot) withFlow(s *flow.Snapshot) *bot {
	b.desk.snapshot = s
	flow.Service.Provide(b.Root(), flow.Control(b.desk))
	archive.Service.Provide(b.Root(), archive.Archive(b.desk))
	return b
}

func group(text string) message.Incoming {
	return message.Incoming{Content: text, SessionID: "s", Platform: "onebot", UserID: "u", GroupID: "g", SessionType: message.SessionGroup}
}

// send takes a message through the phase: whether it goes on, and as what.
func (b *bot) send(m message.Incoming) (goesOn bool, as message.TriggerType) {
	b.t.Helper()
	d := &gateway.Inbound{Message: m}
	goesOn, err := gateway.Trigger.Run(context.Background(), b.Root(), d, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return goesOn, d.Message.TriggerType
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[gateway.Gateway](gateway.Service, nowhere{}))
}

// TestDecisions is the trigger-policy part of section 42, and traps 11 and 26.
func TestDecisions(t *testing.T) {
	quiet := &flow.Snapshot{MessageCount: 1, FixedInterval: 5, Score: 0.2, Threshold: 0.3}
	many := &flow.Snapshot{MessageCount: 5, FixedInterval: 5, Score: 0.2, Threshold: 0.3}
	lively := &flow.Snapshot{MessageCount: 2, FixedInterval: 5, Score: 0.3, Threshold: 0.3}
	poke := group("Owl-fan pokes you")
	poke.NoticeType = "poke"
	upload := group("file")
	upload.NoticeType = "group_upload"
	private := group("x")
	private.SessionType = message.SessionPrivate
	idle := group("x")
	idle.Source = flow.SourceIdle
	for name, tc := range map[string]struct {
		cfg    map[string]any
		flow   *flow.Snapshot
		m      message.Incoming
		goesOn bool
		as     message.TriggerType
		notes  []string
	}{
		"quiet":                       {nil, quiet, group("x"), false, "", []string{"archived x"}},
		"many messages":               {nil, many, group("x"), true, "interval", []string{"triggered s"}},
		"lively":                      {nil, lively, group("x"), true, "interval", []string{"triggered s"}},
		"many, only the score counts": {map[string]any{"intervalMode": "dynamic"}, many, group("x"), false, "", []string{"archived x"}},
		"lively, only many counts":    {map[string]any{"intervalMode": "fixed"}, lively, group("x"), false, "", []string{"archived x"}},
		"nothing is known":            {nil, nil, group("x"), true, "interval", []string{"triggered s"}},
		"mention":                     {nil, quiet, group(`<at self id="7">Owl</at> hi`), true, "immediate", []string{"triggered s"}},
		"mention in OneBot's words":   {nil, quiet, group(`[CQ:at,qq=123] hi`), true, "immediate", []string{"triggered s"}},
		"mention of another":          {nil, quiet, group(`<at id="8">Bob</at> hi`), false, "", []string{`archived <at id="8">Bob</at> hi`}},
		"mentions are off":            {map[string]any{"triggerOnAt": false}, quiet, group(`<at self id="7">x</at>`), false, "", []string{`archived <at self id="7">x</at>`}},
		"a plain @ is no mention":     {nil, quiet, group("@someone hi"), false, "", []string{"archived @someone hi"}},
		"name of the persona":         {nil, quiet, group("Owl, are you there?"), true, "immediate", []string{"triggered s"}},
		"nick name":                   {nil, quiet, group("hey Hooty"), true, "immediate", []string{"triggered s"}},
		"name of the config":          {map[string]any{"triggerNames": []any{"小夜，夜夜", ""}}, quiet, group("夜夜在吗"), true, "immediate", []string{"triggered s"}},
		"poke":                        {nil, quiet, poke, true, "immediate", []string{"triggered s"}},
		"pokes are off":               {map[string]any{"triggerOnPoke": false}, quiet, poke, false, "", []string{"archived Owl-fan pokes you"}},
		"another notice":              {nil, quiet, upload, false, "", []string{"archived file"}},
		"out of scope":                {nil, quiet, private, true, "", nil},
		"idle trigger":                {nil, quiet, idle, true, "", nil},
		"mute word":                   {map[string]any{"muteKeywords": []any{"hush, 闭嘴"}, "muteTimeSeconds": 90.9}, quiet, group("Owl 闭嘴"), false, "", []string{"muted onebot s 1m30s", "idle s", "archived Owl 闭嘴"}},
		"mute word out of scope":      {map[string]any{"muteKeywords": []any{"hush"}, "scopes": []any{"webui"}}, quiet, group("hush"), true, "", nil},
		"override": {
			map[string]any{"overrides": []any{map[string]any{"scope": "onebot:group:g", "intervalMode": "fixed", "triggerNames": []any{"zed"}}}},
			lively, group("x"), false, "", []string{"archived x"},
		},
		"blank override": {
			map[string]any{"muteKeywords": []any{"hush"}, "overrides": []any{map[string]any{"scope": "onebot:group:g", "muteKeywords": []any{" "}, "intervalMode": ""}}},
			quiet, group("hush"), false, "", []string{"muted onebot s 1m0s", "idle s", "archived hush"},
		},
		"override that is off": {
			map[string]any{"overrides": []any{map[string]any{"scope": "*:group:g", "triggerOnAt": false}}},
			quiet, group(`<at self id="7">x</at>`), false, "", []string{`archived <at self id="7">x</at>`},
		},
	} {
		b := start(t, tc.cfg, kerneltest.WithService[persona.Provider](persona.Service, card{})).withFlow(tc.flow)
		goesOn, as := b.send(tc.m)
		if notes := b.desk.take(); goesOn != tc.goesOn || as != tc.as || !slices.Equal(notes, tc.notes) {
			t.Errorf("%s: goes on %t as %q, noted %q", name, goesOn, as, notes)
		}
	}
}

func TestNames(t *testing.T) {
	b := start(t, map[string]any{"triggerNames": []any{"a, b", "a", " "}})
	if got := b.p.BotNames(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("without a persona: %q", got)
	}
	persona.Service.Provide(b.Root(), persona.Provider(card{}))
	if got := b.p.BotNames(); !slices.Equal(got, []string{"a", "b", "Owl", "Hooty"}) {
		t.Errorf("got %q", got)
	}
	if got, _ := b.send(group("@nick")); !got {
		t.Error("without flow control a message does not pass")
	}
}

// TestADecisionThatFails lets the message pass.
func TestADecisionThatFails(t *testing.T) {
	b := start(t, nil).withFlow(nil)
	b.desk.breaks = true
	if goesOn, as := b.send(group("x")); !goesOn || as != "" || len(b.Logs.Find("ERROR", "Could not decide")) != 1 {
		t.Errorf("goes on %t as %q:\n%s", goesOn, as, b.Logs)
	}
}

func TestServiceAnswers(t *testing.T) {
	b := start(t, map[string]any{"muteKeywords": []any{"hush"}}).withFlow(&flow.Snapshot{FixedInterval: 5, Threshold: 1})
	private := group("hush")
	private.SessionType = message.SessionPrivate
	if b.p.Decide(group("x")) != trigger.Swallow || b.p.Decide(private) != trigger.Direct {
		t.Error("the service decides otherwise")
	}
	if word, ok := b.p.MuteKeyword(group("oh hush now")); !ok || word != "hush" {
		t.Errorf("got %q", word)
	}
	if _, ok := b.p.MuteKeyword(private); ok {
		t.Error("mute words hold out of scope")
	}
	if notes := b.desk.take(); notes != nil {
		t.Errorf("asking changed something: %q", notes)
	}
}

func TestReconfigure(t *testing.T) {
	b := start(t, nil).withFlow(&flow.Snapshot{FixedInterval: 5, Threshold: 1})
	before := b.Plugin(Plugin.Name)
	b.Apply(func(c *kernel.Config) {
		p := c.Plugins[Plugin.Name]
		p.Config = map[string]any{"triggerNames": []any{"zed"}}
		c.Plugins[Plugin.Name] = p
	})
	if goesOn, _ := b.send(group("zed")); !goesOn || b.Plugin(Plugin.Name).Since != before.Since {
		t.Error("an edit does not hold, or starts the plugin anew")
	}
	for name, change := range map[string]func(c *Config){
		"scope":    func(c *Config) { c.Scopes = []string{strings.Repeat("x", 600)} },
		"override": func(c *Config) { c.Overrides = []Override{{Scope: ""}} },
	} {
		bad := Default()
		change(&bad)
		if _, err := bad.settings(); err == nil || !strings.HasPrefix(err.Error(), "config.") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
