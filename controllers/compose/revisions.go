// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/rollout"
)

// maxPins is the most entries of spec.pin, the same that admission checks.
const maxPins = 64

// Revision is one revision of a Persona or Plugin.
type Revision struct {
	Kind, Name string
	Number     int64
	// Live tells that this is the revision of the object's present spec.
	Live bool
	// Persona or Plugin is what the revision contains. It may be left out where neither a pin nor Held asks for it.
	Persona *v1alpha1.PersonaSpec
	Plugin  *v1alpha1.PluginSpec
}

// Held is an object of which the bot composes with an earlier revision, because a roll-out has not come to it yet.
type Held struct {
	Kind, Name string
	Revision   int64
}

// PinState says what became of an entry of spec.pin.
type PinState struct {
	Kind, Name string
	Revision   int64
	// Lapsed is one of the reasons of the condition PinLapsed; empty if the pin is in effect.
	Lapsed string
	// Newest is the newest revision of the object; 0 if none is known.
	Newest int64
}

// String names the pinned revision.
func (p PinState) String() string {
	return fmt.Sprintf("%s %s revision %d", p.Kind, p.Name, p.Revision)
}

// checkPins checks what admission checks in a cluster.
func (c *composer) checkPins() {
	pins := c.instance.Spec.Pin
	if n := len(pins); n > maxPins {
		c.bad(v1alpha1.ReasonInvalidSpec, "spec.pin", "may not have more than %d entries, got %d", maxPins, n)
	}
	for i, p := range pins {
		path := pinPath(string(p.Kind), p.Name)
		switch {
		case p.Kind != v1alpha1.KindPersona && p.Kind != v1alpha1.KindPlugin:
			c.bad(v1alpha1.ReasonInvalidSpec, path+".kind", "must be one of %s, got %q", list([]string{"Persona", "Plugin"}), p.Kind)
		case p.Revision < 1:
			c.bad(v1alpha1.ReasonInvalidSpec, path+".revision", "must be given and at least 1")
		case p.OverRevision != nil && *p.OverRevision < 1:
			c.bad(v1alpha1.ReasonInvalidSpec, path+".overRevision", "must be at least 1, got %d", *p.OverRevision)
		case slices.ContainsFunc(pins[:i], func(o v1alpha1.PinnedRevision) bool { return o.Kind == p.Kind && o.Name == p.Name }):
			c.bad(v1alpha1.ReasonInvalidSpec, path, "may not be listed twice")
		}
	}
}

func pinPath(kind, name string) string { return "spec.pin[" + kind + "/" + name + "]" }

// revised finds the revision of an object to compose with: that of a pin, that which a roll-out holds the bot at, or the
// present one, of which nothing is returned. The number is what the status names. False says that there is none.
func (c *composer) revised(kind, name string) (r *Revision, number int64, ok bool) {
	if pin := rollout.Pin(c.instance, kind, name); pin != nil && pin.Revision > 0 {
		state := PinState{Kind: kind, Name: name, Revision: pin.Revision, Newest: c.newest(kind, name)}
		holds := rollout.PinHolds(*pin, state.Newest)
		if !holds {
			state.Lapsed = v1alpha1.ReasonSourceChanged
		}
		c.pins = append(c.pins, state)
		if holds {
			return c.wanted(kind, name, pin.Revision, c.object, pinPath(kind, name)+".revision")
		}
	}
	for _, h := range c.in.Held {
		if h.Kind == kind && h.Name == name {
			return c.wanted(kind, name, h.Revision, kind+" "+name, "spec.rollout")
		}
	}
	for _, known := range c.in.Revisions {
		if known.Kind == kind && known.Name == name && known.Live {
			return nil, known.Number, true
		}
	}
	return nil, 0, true
}

// wanted finds a revision by its number, or says which there are.
func (c *composer) wanted(kind, name string, number int64, object, path string) (*Revision, int64, bool) {
	var there []int64
	for i := range c.in.Revisions {
		r := &c.in.Revisions[i]
		if r.Kind != kind || r.Name != name {
			continue
		}
		if r.Number == number && (r.Persona != nil || r.Plugin != nil) {
			return r, number, true
		}
		there = append(there, r.Number)
	}
	c.at(SeverityError, v1alpha1.ReasonRevisionNotFound, object, path, "%s %q has no revision %d; %s", kind, name, number, numbers(there))
	return nil, 0, false
}

func numbers(there []int64) string {
	if len(there) == 0 {
		return "it has none that are known here"
	}
	slices.Sort(there)
	parts := make([]string, 0, len(there))
	for _, n := range there {
		parts = append(parts, strconv.FormatInt(n, 10))
	}
	return "it has " + strings.Join(parts, ", ")
}

func (c *composer) newest(kind, name string) int64 {
	newest := int64(0)
	for _, r := range c.in.Revisions {
		if r.Kind == kind && r.Name == name {
			newest = max(newest, r.Number)
		}
	}
	return newest
}

// revisedPersona puts the revision to compose with in place of the spec.
func (c *composer) revisedPersona(p v1alpha1.Persona) (v1alpha1.Persona, int64, bool) {
	r, number, ok := c.revised(v1alpha1.KindPersona, p.Name)
	if ok && r != nil {
		p.Spec = *r.Persona
	}
	return p, number, ok
}

// revisedPlugin puts the revision to compose with in place of the spec.
func (c *composer) revisedPlugin(p v1alpha1.Plugin) (v1alpha1.Plugin, int64, bool) {
	r, number, ok := c.revised(v1alpha1.KindPlugin, p.Name)
	if ok && r != nil {
		p.Spec = *r.Plugin
	}
	return p, number, ok
}

// pinStates adds the pins of objects that the bot does not use, and sorts.
func (c *composer) pinStates() []PinState {
	for _, p := range c.instance.Spec.Pin {
		same := func(s PinState) bool { return s.Kind == string(p.Kind) && s.Name == p.Name }
		if p.Revision > 0 && !slices.ContainsFunc(c.pins, same) {
			c.pins = append(c.pins, PinState{
				Kind: string(p.Kind), Name: p.Name, Revision: p.Revision, Lapsed: v1alpha1.ReasonNotUsed,
			})
		}
	}
	slices.SortFunc(c.pins, func(a, b PinState) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return c.pins
}
