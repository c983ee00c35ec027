// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// provider implements persona.Provider. What it holds is replaced, never modified, so that a call sees one card whole. It
// knows nothing of who is speaking: that comes with each call.
type provider struct {
	k       *kernel.Context
	cast    atomic.Pointer[cast]
	options atomic.Pointer[options]
	states  *states

	mu     sync.Mutex // serialises changes of the cast
	own    *role      // from the setting persona; nil if there is none
	others []*role    // from the setting personas
}

// cast is every role that can be chosen.
type cast struct {
	primary *role
	named   map[string]*role
	names   []string // sorted
}

// options is the config in the form in which it is used.
type options struct {
	tellTime  bool
	zone      *time.Location // nil is the zone of the clock
	keepState bool
	card      string // the source of the bot's own card, if no setting says
}

func newProvider(k *kernel.Context) *provider {
	p := &provider{k: k, states: newStates(k, maxStates)}
	p.options.Store(&options{})
	p.recast()
	return p
}

// configure takes over a config, or changes nothing and names the field that is wrong.
func (p *provider) configure(cfg Config) error {
	zone, err := cfg.location()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.options.Store(&options{
		tellTime: cfg.TimeInjection, zone: zone, keepState: cfg.StatePersistence, card: strings.TrimSpace(cfg.Persona),
	})
	p.recast()
	return nil
}

// take takes over the bot's own card, or the one of the config if there is none. A card that is unfit leaves the one in
// effect.
func (p *provider) take(_ context.Context, card persona.Card, present bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !present {
		p.own = nil
	} else if r := p.fit("persona", card); r != nil {
		p.own = r
	}
	p.recast()
	now := p.cast.Load().primary.card
	p.k.Logger().Info("Took over Persona", "source", now.Source, "name", now.Name)
}

// takeOthers takes over the further cards. One that is unfit stays what it was, if it was there; of two of the same
// source the first counts.
func (p *provider) takeOthers(_ context.Context, cards []persona.Card, _ bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.others
	p.others = nil
	for _, card := range cards {
		if strings.TrimSpace(card.Source) == "" || find(p.others, card.Source) != nil {
			p.k.Logger().Warn("Refused Persona", "source", card.Source, "error", "personas[].source must be set, and used once")
			continue
		}
		r := p.fit("personas["+card.Source+"]", card)
		if r == nil {
			r = find(before, card.Source)
		}
		if r != nil {
			p.others = append(p.others, r)
		}
	}
	p.recast()
	p.k.Logger().Info("Took over Personas", "count", len(p.others))
}

func find(roles []*role, source string) *role {
	i := slices.IndexFunc(roles, func(r *role) bool { return r.card.Source == source })
	if i < 0 {
		return nil
	}
	return roles[i]
}

// fit makes a role of a card, or says in the log what is wrong with it. A card whose output format alone is wrong is a
// role without one.
func (p *provider) fit(field string, card persona.Card) *role {
	if err := check(field, card); err != nil {
		p.k.Logger().Warn("Refused Persona", "source", card.Source, "error", err, "inEffect", p.cast.Load().primary.card.Source)
		return nil
	}
	if card.OutputFormat != nil {
		if err := checkFormat(field, card.OutputFormat); err != nil {
			p.k.Logger().Warn("Ignored output format of Persona", "source", card.Source, "error", err)
			card.OutputFormat = nil
		}
	}
	return newRole(card)
}

// recast puts together who can be chosen.
func (p *provider) recast() {
	primary := p.own
	if primary == nil {
		primary = find(p.others, p.options.Load().card)
	}
	if primary == nil {
		primary = newRole(defaultCard())
	}
	c := &cast{primary: primary, named: map[string]*role{primary.card.Source: primary}}
	for _, r := range p.others {
		if c.named[r.card.Source] == nil {
			c.named[r.card.Source] = r
		}
	}
	for name := range c.named {
		c.names = append(c.names, name)
	}
	slices.Sort(c.names)
	p.cast.Store(c)
}

// role is the one that the options choose.
func (p *provider) role(o persona.Options) *role {
	c := p.cast.Load()
	if r := c.named[o.Persona]; r != nil && o.Persona != "" {
		return r
	}
	return c.primary
}

// Names implements persona.Provider.
func (p *provider) Names() []string { return slices.Clone(p.cast.Load().names) }

// Card implements persona.Provider.
func (p *provider) Card(o persona.Options) persona.Card { return p.role(o).card.Clone() }

// NickNames implements persona.Provider.
func (p *provider) NickNames(o persona.Options) []string { return nonBlank(p.role(o).card.NickNames) }

// SystemPrompt implements persona.Provider.
func (p *provider) SystemPrompt(o persona.Options) string {
	r := p.role(o)
	if r.card.Format(o) == nil {
		return r.plain
	}
	return r.structured
}

// OutputFormat implements persona.Provider.
func (p *provider) OutputFormat(o persona.Options) *persona.OutputFormat {
	return p.role(o).card.Format(o).Clone()
}

// VolatilePrompt implements persona.Provider.
func (p *provider) VolatilePrompt(view persona.View, _ persona.Options) string {
	o := p.options.Load()
	var parts []string
	if o.tellTime {
		now := p.k.Now()
		if o.zone != nil {
			now = now.In(o.zone)
		}
		parts = append(parts, clock(now))
	}
	if env := environment(view); env != "" {
		parts = append(parts, env)
	}
	if s := lastState(p.State(view.SessionID)); s != "" {
		parts = append(parts, s)
	}
	return strings.Join(parts, "\n\n")
}

// State implements persona.Provider.
func (p *provider) State(sessionID string) map[string]any {
	if !p.options.Load().keepState {
		return nil
	}
	values, _ := p.states.get(sessionID)
	return values
}

// TellsTime implements persona.Provider.
func (p *provider) TellsTime() bool { return p.options.Load().tellTime }

// beforeInput has the state of the session at hand before its prompt is built.
func (p *provider) beforeInput(ctx context.Context, d *agent.InputData, next kernel.Next) error {
	if p.options.Load().keepState {
		p.states.load(ctx, d.Message.SessionID)
	}
	return next(ctx)
}

var _ persona.Provider = (*provider)(nil)
