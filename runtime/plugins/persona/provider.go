// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// provider implements persona.Provider. What it holds is replaced, never modified, so that a turn sees one card whole.
type provider struct {
	k       *kernel.Context
	role    atomic.Pointer[role]
	options atomic.Pointer[options]
}

// role is a card with the text made from it.
type role struct {
	card   persona.Card
	prompt string
}

// options is the config in the form in which it is used.
type options struct {
	tellTime bool
	zone     *time.Location // nil is the zone of the clock
}

func newProvider(k *kernel.Context) *provider {
	p := &provider{k: k}
	p.play(defaultCard())
	return p
}

// configure takes over a config, or changes nothing and names the field that is wrong.
func (p *provider) configure(cfg Config) error {
	zone, err := cfg.location()
	if err != nil {
		return err
	}
	p.options.Store(&options{tellTime: cfg.TimeInjection, zone: zone})
	return nil
}

// take takes over a card, or the built-in one if there is none. A card that is unfit leaves the one in effect.
func (p *provider) take(_ context.Context, card persona.Card, present bool) {
	if !present {
		card = defaultCard()
	}
	if err := check(card); err != nil {
		p.k.Logger().Warn("Refused Persona", "source", card.Source, "error", err, "inEffect", p.Card().Source)
		return
	}
	p.play(card)
	p.k.Logger().Info("Took over Persona", "source", card.Source, "name", card.Name)
}

func (p *provider) play(card persona.Card) {
	card.Traits = slices.Clone(card.Traits)
	p.role.Store(&role{card: card, prompt: systemPrompt(card)})
}

// Card implements persona.Provider.
func (p *provider) Card() persona.Card {
	card := p.role.Load().card
	card.Traits = slices.Clone(card.Traits)
	return card
}

// SystemPrompt implements persona.Provider.
func (p *provider) SystemPrompt() string { return p.role.Load().prompt }

// VolatilePrompt implements persona.Provider.
func (p *provider) VolatilePrompt(view persona.View) string {
	o := p.options.Load()
	env := environment(view)
	if !o.tellTime {
		return env
	}
	now := p.k.Now()
	if o.zone != nil {
		now = now.In(o.zone)
	}
	text := clock(now)
	if env != "" {
		text += "\n\n" + env
	}
	return text
}

var _ persona.Provider = (*provider)(nil)
