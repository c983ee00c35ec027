// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package triggerpolicy_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/flow"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	flowcontrol "github.com/aalis-dev/aalis-operator/runtime/plugins/flow-control"
	triggerpolicy "github.com/aalis-dev/aalis-operator/runtime/plugins/trigger-policy"
)

const (
	people  = 200
	perDay  = 20 // messages of each, on average
	oneWeek = 7 * 24 * time.Hour
)

// model says, apart from the plugins, what they should do by the formulas of sections 8.4, 8.5 and 8.8, with the default
// config.
type model struct {
	count         int
	score         float64
	users         map[string]int
	triggered     time.Time
	cooldownUntil time.Time
}

func (m *model) message(now time.Time, user string, addressed bool) (outcome string) {
	m.users[user]++
	m.count++
	m.score += 1.0 / 5 * (1 + 0.5*math.Min(float64(m.users[user])/10, 1))
	if now.Before(m.cooldownUntil) {
		return "cooling"
	}
	limit := 0.3
	if !m.triggered.IsZero() {
		limit = 0.3 + (0.85-0.3)*math.Max(0, 1-now.Sub(m.triggered).Minutes()/10)
	}
	switch {
	case addressed:
		outcome = "immediate"
	case m.count >= 5 || m.score >= limit:
		outcome = "interval"
	default:
		return "swallow"
	}
	m.count, m.score, m.triggered = 0, 0, now
	m.cooldownUntil = now.Add(10 * time.Second) // it replies at once
	return outcome
}

// shelf counts what is archived.
type shelf struct {
	archive.Archive
	n map[string]int
}

func (s *shelf) ArchiveIncoming(_ context.Context, m message.Incoming) (message.Message, error) {
	s.n[m.MessageID]++
	return message.Message{}, nil
}

type nobody struct{ gateway.Gateway }

// TestAWeekOfAGroup: 200 people talk for a week. What the plugins do is what the formulas say, message by message; the bot
// never stays silent for more messages than the interval has once its cooldown is over; every message is counted once, and
// archived once unless it is answered; nothing is left of it all but what one session needs.
func TestAWeekOfAGroup(t *testing.T) {
	s := &shelf{n: map[string]int{}}
	h := kerneltest.New(t, kerneltest.WithService[gateway.Gateway](gateway.Service, nobody{}),
		kerneltest.WithService[archive.Archive](archive.Service, s),
		kerneltest.WithPlugin(flowcontrol.Plugin, "", nil),
		kerneltest.WithPlugin(triggerpolicy.Plugin, "", map[string]any{"triggerNames": []any{"owl"}}))
	ctx, rng := context.Background(), rand.New(rand.NewPCG(7, 7))
	want := &model{users: map[string]int{}}
	begin, outcomes, silent, total := h.Clock.Now(), map[string]int{}, 0, 0
	for h.Clock.Now().Sub(begin) < oneWeek {
		// Bursts: most messages follow each other within seconds, and at night there are few.
		gap := time.Duration(rng.ExpFloat64() * float64(24*time.Hour) / (people * perDay))
		if hour := h.Clock.Now().Hour(); hour < 7 {
			gap *= 20
		}
		h.Clock.Advance(gap)
		total++
		user := fmt.Sprint("u", int(math.Abs(rng.NormFloat64())*people/3)%people) // some talk much more than others
		addressed := rng.IntN(50) == 0
		text := map[bool]string{true: "owl?", false: "well"}[addressed]
		in := message.Incoming{
			Content: text, SessionID: "g", Platform: "onebot", UserID: user, GroupID: "g", SessionType: message.SessionGroup, MessageID: fmt.Sprint(total),
		}
		got := run(ctx, t, h, in)
		expected := want.message(h.Clock.Now(), user, addressed)
		if got != expected {
			t.Fatalf("message %d at %s: got %s, want %s", total, h.Clock.Now(), got, expected)
		}
		outcomes[got]++
		switch got {
		case "swallow":
			if silent++; silent >= 5 {
				t.Fatalf("message %d: the bot has let %d messages pass", total, silent)
			}
		case "immediate", "interval":
			silent = 0
			message.Outbound.Emit(ctx, h.Root(), message.Outgoing{Content: "x", SessionID: "g", Platform: "onebot", Source: message.FromAgent})
		}
		if archived := s.n[in.MessageID]; archived != map[bool]int{true: 1, false: 0}[got == "cooling" || got == "swallow"] {
			t.Fatalf("message %d, %s: archived %d times", total, got, archived)
		}
	}
	for _, o := range []string{"cooling", "swallow", "immediate", "interval"} {
		if outcomes[o] == 0 {
			t.Errorf("no message was %s", o)
		}
	}
	t.Logf("%d messages: %v", total, outcomes)
	c, _ := flow.Service.Get(h.Root())
	if snapshot, ok := c.Snapshot("g"); !ok || snapshot.MessageCount != want.count || math.Abs(snapshot.Score-want.score) > 1e-6 {
		t.Errorf("at the end: %+v, want %d and %v", snapshot, want.count, want.score)
	}
}

// run takes a message through both phases, as the gateway does.
func run(ctx context.Context, t *testing.T, h *kerneltest.Harness, m message.Incoming) string {
	t.Helper()
	d := &gateway.Inbound{Message: m}
	if goesOn, err := gateway.Flow.Run(ctx, h.Root(), d, nil); err != nil || !goesOn {
		return "cooling"
	}
	if goesOn, err := gateway.Trigger.Run(ctx, h.Root(), d, nil); err != nil || !goesOn {
		return "swallow"
	}
	return string(d.Message.TriggerType)
}
