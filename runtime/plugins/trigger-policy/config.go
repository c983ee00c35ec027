// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package triggerpolicy

import (
	"fmt"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/scope"
)

// The values of intervalMode.
const (
	modeFixed   = "fixed"
	modeDynamic = "dynamic"
	modeBoth    = "both"
)

// Config of the plugin. All of it takes effect at once, without a bounce.
type Config struct {
	Scopes          []string   `json:"scopes" label:"Scopes" desc:"Where the policy decides: platform:sessionType[:targetId], each part of which may be *. An override makes its own scope one of them. Elsewhere every message is answered."`
	Overrides       []Override `json:"overrides" label:"Overrides" desc:"Other values for some places. The one whose scope names a place most closely holds; what it leaves out stays as it is."`
	IntervalMode    string     `json:"intervalMode" enum:"fixed|dynamic|both" label:"Interval" desc:"What triggers the bot although nobody addresses it: a number of messages, how lively the conversation is, or either."`
	TriggerOnAt     bool       `json:"triggerOnAt" label:"On a mention" desc:"Answer a message that mentions the bot with @."`
	TriggerOnPoke   bool       `json:"triggerOnPoke" label:"On a poke" desc:"Answer a poke."`
	TriggerNames    []string   `json:"triggerNames" label:"Names" desc:"Answer a message that holds one of these names, besides those of the persona. An element may hold several, parted by commas."`
	MuteKeywords    []string   `json:"muteKeywords" label:"Mute words" desc:"A message that holds one of these mutes the bot for a while. An element may hold several, parted by commas."`
	MuteTimeSeconds float64    `json:"muteTimeSeconds" min:"1" max:"604800" label:"Mute (seconds)" desc:"For how long."`
}

// Override are other values for some places. What is left out, and an empty text or list, stays as it is.
type Override struct {
	Scope           string   `json:"scope" required:"true" maxLength:"512" label:"Scope" desc:"Where it holds, such as onebot:group:12345."`
	IntervalMode    string   `json:"intervalMode" enum:"fixed|dynamic|both|" label:"Interval" desc:"See above."`
	TriggerOnAt     *bool    `json:"triggerOnAt" label:"On a mention" desc:"See above."`
	TriggerOnPoke   *bool    `json:"triggerOnPoke" label:"On a poke" desc:"See above."`
	TriggerNames    []string `json:"triggerNames" label:"Names" desc:"See above."`
	MuteKeywords    []string `json:"muteKeywords" label:"Mute words" desc:"See above."`
	MuteTimeSeconds *float64 `json:"muteTimeSeconds" min:"1" max:"604800" label:"Mute (seconds)" desc:"See above."`
}

// Default is the config of a bot that sets nothing.
func Default() Config {
	return Config{
		Scopes: []string{"*:group"}, IntervalMode: modeBoth, TriggerOnAt: true, TriggerOnPoke: true, MuteTimeSeconds: 60,
	}
}

// rules are what holds at a place.
type rules struct {
	mode       string
	at, poke   bool
	names      []string
	muteWords  []string
	muteLength time.Duration
}

// settings are a Config that was read. They are never modified.
type settings struct {
	base      rules
	scopes    []scope.Scope
	places    []scope.Scope // of the overrides
	overrides []rules
}

func (c Config) settings() (*settings, error) {
	s := &settings{base: rules{
		mode: c.IntervalMode, at: c.TriggerOnAt, poke: c.TriggerOnPoke, names: scope.Split(c.TriggerNames),
		muteWords: scope.Split(c.MuteKeywords), muteLength: muteLength(c.MuteTimeSeconds),
	}}
	var err error
	if s.scopes, err = scope.ParseAll(c.Scopes); err != nil {
		return nil, fmt.Errorf("config.scopes: %w", err)
	}
	for i, o := range c.Overrides {
		place, err := scope.Parse(o.Scope)
		if err != nil {
			return nil, fmt.Errorf("config.overrides[%d].scope: %q %w", i, o.Scope, err)
		}
		s.places, s.overrides = append(s.places, place), append(s.overrides, o.over(s.base))
	}
	return s, nil
}

// muteLength is a whole number of seconds.
func muteLength(seconds float64) time.Duration { return time.Duration(int64(seconds)) * time.Second }

func (o Override) over(r rules) rules {
	if o.IntervalMode != "" {
		r.mode = o.IntervalMode
	}
	if o.TriggerOnAt != nil {
		r.at = *o.TriggerOnAt
	}
	if o.TriggerOnPoke != nil {
		r.poke = *o.TriggerOnPoke
	}
	if names := scope.Split(o.TriggerNames); len(names) > 0 {
		r.names = names
	}
	if words := scope.Split(o.MuteKeywords); len(words) > 0 {
		r.muteWords = words
	}
	if o.MuteTimeSeconds != nil {
		r.muteLength = muteLength(*o.MuteTimeSeconds)
	}
	return r
}

// at gives the rules of a place, and whether the policy decides there.
func (s *settings) at(p scope.Place) (rules, bool) {
	if i := scope.Closest(s.places, p); i >= 0 {
		return s.overrides[i], true
	}
	return s.base, scope.Closest(s.scopes, p) >= 0
}
