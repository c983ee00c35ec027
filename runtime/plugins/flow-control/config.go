// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"errors"
	"fmt"

	"github.com/aalis-dev/aalis-operator/runtime/scope"
)

// The values of the idle settings.
const (
	idleOff      = "off"
	idleSession  = "session"
	idlePlatform = "platform"

	styleExponential = "exponential"
	strategyFixed    = "fixed"
)

// Config of the plugin. All of it takes effect at once, without a bounce.
type Config struct {
	Scopes    []string   `json:"scopes" label:"Scopes" desc:"Where flow control holds: platform:sessionType[:targetId], each part of which may be *. An override makes its own scope one of them."`
	Overrides []Override `json:"overrides" label:"Overrides" desc:"Other values for some places. The one whose scope names a place most closely holds; what it leaves out stays as it is."`

	FixedInterval        int     `json:"fixedInterval" min:"1" max:"10000" label:"Messages a trigger" desc:"How many messages trigger the bot by themselves, and the weight of each: 1 of so many."`
	ActivityScoreLower   float64 `json:"activityScoreLower" min:"0" max:"1000" label:"Lower threshold" desc:"Score that triggers a bot that has been silent for long."`
	ActivityScoreUpper   float64 `json:"activityScoreUpper" min:"0" max:"1000" label:"Upper threshold" desc:"Score that triggers a bot that has just spoken."`
	ActivityDecayMinutes float64 `json:"activityDecayMinutes" min:"0" max:"525600" label:"Threshold decay (minutes)" desc:"How long after the bot has spoken the threshold takes to fall from upper to lower."`
	ScoreDecayMinutes    float64 `json:"scoreDecayMinutes" min:"0" max:"525600" label:"Score decay (minutes)" desc:"Silence after which the score is 0; 0 means that it never decays."`
	CooldownSeconds      float64 `json:"cooldownSeconds" min:"0" max:"86400" label:"Cooldown (seconds)" desc:"How long the bot keeps still after it has spoken."`
	RateLimitWindow      float64 `json:"rateLimitWindow" min:"0" max:"86400" label:"Rate window (seconds)" desc:"Time over which replies are counted; 0 means no limit."`
	RateLimitMaxReplies  int     `json:"rateLimitMaxReplies" min:"0" max:"10000" label:"Replies a window" desc:"The most replies in that time; 0 means no limit."`

	IdleTriggerScope      string  `json:"idleTriggerScope" enum:"off|session|platform" label:"Idle trigger" desc:"Whether the bot begins to talk by itself: never, in each quiet session, or in one session when all are quiet."`
	IdleTriggerStrategy   string  `json:"idleTriggerStrategy" enum:"all-quiet|fixed" label:"Idle strategy" desc:"With platform: after all sessions have been quiet, or at a fixed interval."`
	IdleTriggerMinutes    float64 `json:"idleTriggerMinutes" min:"0.1" max:"525600" label:"Idle time (minutes)" desc:"Silence after which the bot begins to talk."`
	IdleTriggerMaxMinutes float64 `json:"idleTriggerMaxMinutes" min:"0.1" max:"525600" label:"Longest idle time (minutes)" desc:"The most that the time grows to while nobody answers."`
	IdleTriggerStyle      string  `json:"idleTriggerStyle" enum:"exponential|fixed" label:"Idle growth" desc:"With session: whether the time doubles each time that nobody answers."`
	IdleTriggerJitter     bool    `json:"idleTriggerJitter" label:"Idle jitter" desc:"Vary the time by up to a tenth."`
	IdleTriggerPrompt     string  `json:"idleTriggerPrompt" type:"textarea" maxLength:"4096" label:"Idle prompt" desc:"What the model is told then. Empty means the built-in words."`
}

// Override are other values for some places. What is left out, and an empty text, stays as it is.
type Override struct {
	Scope                 string   `json:"scope" required:"true" maxLength:"512" label:"Scope" desc:"Where it holds, such as onebot:group:12345."`
	FixedInterval         *int     `json:"fixedInterval" min:"1" max:"10000" label:"Messages a trigger" desc:"See above."`
	ActivityScoreLower    *float64 `json:"activityScoreLower" min:"0" max:"1000" label:"Lower threshold" desc:"See above."`
	ActivityScoreUpper    *float64 `json:"activityScoreUpper" min:"0" max:"1000" label:"Upper threshold" desc:"See above."`
	ActivityDecayMinutes  *float64 `json:"activityDecayMinutes" min:"0" max:"525600" label:"Threshold decay (minutes)" desc:"See above."`
	ScoreDecayMinutes     *float64 `json:"scoreDecayMinutes" min:"0" max:"525600" label:"Score decay (minutes)" desc:"See above."`
	CooldownSeconds       *float64 `json:"cooldownSeconds" min:"0" max:"86400" label:"Cooldown (seconds)" desc:"See above."`
	RateLimitWindow       *float64 `json:"rateLimitWindow" min:"0" max:"86400" label:"Rate window (seconds)" desc:"See above."`
	RateLimitMaxReplies   *int     `json:"rateLimitMaxReplies" min:"0" max:"10000" label:"Replies a window" desc:"See above."`
	IdleTriggerMinutes    *float64 `json:"idleTriggerMinutes" min:"0.1" max:"525600" label:"Idle time (minutes)" desc:"See above."`
	IdleTriggerMaxMinutes *float64 `json:"idleTriggerMaxMinutes" min:"0.1" max:"525600" label:"Longest idle time (minutes)" desc:"See above."`
	IdleTriggerStyle      string   `json:"idleTriggerStyle" enum:"exponential|fixed|" label:"Idle growth" desc:"See above."`
	IdleTriggerPrompt     string   `json:"idleTriggerPrompt" type:"textarea" maxLength:"4096" label:"Idle prompt" desc:"See above."`
}

// Default is the config of a bot that sets nothing.
func Default() Config {
	return Config{
		Scopes: []string{"*:group"}, FixedInterval: 5, ActivityScoreLower: 0.3, ActivityScoreUpper: 0.85, ActivityDecayMinutes: 10,
		CooldownSeconds: 10, RateLimitMaxReplies: 10, IdleTriggerScope: idleOff, IdleTriggerStrategy: "all-quiet",
		IdleTriggerMinutes: 180, IdleTriggerMaxMinutes: 1440, IdleTriggerStyle: styleExponential, IdleTriggerJitter: true,
	}
}

// settings are a Config that was read. They are never modified.
type settings struct {
	base      Config
	scopes    []scope.Scope
	places    []scope.Scope // of the overrides
	overrides []Config      // what each of them makes of base
}

func (c Config) settings() (*settings, error) {
	s := &settings{base: c}
	var err error
	if s.scopes, err = scope.ParseAll(c.Scopes); err != nil {
		return nil, fmt.Errorf("config.scopes: %w", err)
	}
	if c.ActivityScoreLower > c.ActivityScoreUpper {
		return nil, errors.New("config.activityScoreLower may not be above activityScoreUpper")
	}
	for i, o := range c.Overrides {
		place, err := scope.Parse(o.Scope)
		if err != nil {
			return nil, fmt.Errorf("config.overrides[%d].scope: %q %w", i, o.Scope, err)
		}
		merged := o.over(c)
		if merged.ActivityScoreLower > merged.ActivityScoreUpper {
			return nil, fmt.Errorf("config.overrides[%d].activityScoreLower may not be above activityScoreUpper", i)
		}
		s.places, s.overrides = append(s.places, place), append(s.overrides, merged)
	}
	return s, nil
}

// over lays the override over a config.
func (o Override) over(c Config) Config {
	lay(&c.FixedInterval, o.FixedInterval)
	lay(&c.ActivityScoreLower, o.ActivityScoreLower)
	lay(&c.ActivityScoreUpper, o.ActivityScoreUpper)
	lay(&c.ActivityDecayMinutes, o.ActivityDecayMinutes)
	lay(&c.ScoreDecayMinutes, o.ScoreDecayMinutes)
	lay(&c.CooldownSeconds, o.CooldownSeconds)
	lay(&c.RateLimitWindow, o.RateLimitWindow)
	lay(&c.RateLimitMaxReplies, o.RateLimitMaxReplies)
	lay(&c.IdleTriggerMinutes, o.IdleTriggerMinutes)
	lay(&c.IdleTriggerMaxMinutes, o.IdleTriggerMaxMinutes)
	if o.IdleTriggerStyle != "" {
		c.IdleTriggerStyle = o.IdleTriggerStyle
	}
	if o.IdleTriggerPrompt != "" {
		c.IdleTriggerPrompt = o.IdleTriggerPrompt
	}
	return c
}

func lay[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// at gives the config of a place, and whether flow control holds there.
func (s *settings) at(p scope.Place) (Config, bool) {
	if i := scope.Closest(s.places, p); i >= 0 {
		return s.overrides[i], true
	}
	return s.base, scope.Closest(s.scopes, p) >= 0
}
