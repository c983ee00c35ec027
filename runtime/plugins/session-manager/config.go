// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionmanager

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
)

// Config of the plugin. All of it takes effect at once, without a bounce.
type Config struct {
	// Defaults of all sessions.
	Defaults Defaults `json:"defaults" label:"Defaults" desc:"What every session starts from."`
	// PlatformProfiles lie over the defaults, by platform.
	PlatformProfiles []Profile `json:"platformProfiles" label:"Platform profiles" desc:"What the sessions of a platform start from. The first profile of a platform counts."`
	// MaxSessions bounds the sessions that are kept.
	MaxSessions int `json:"maxSessions" min:"1" max:"100000" label:"Most sessions" desc:"How many sessions are kept. Beyond that, the one that has been quiet for longest and decides nothing for itself is archived and its record dropped; what was said in it stays."`
	// Titles turns on titles made by the model.
	Titles bool `json:"titles" label:"Titles" desc:"Have the model write a title for each new session of the web page and the terminal."`
}

// Defaults are the lowest layer.
type Defaults struct {
	// Persona is the source of a card.
	Persona string `json:"persona" maxLength:"256" label:"Persona" desc:"Name of the persona card. Empty means the bot's own one."`
}

// Profile is what the sessions of one platform start from.
type Profile struct {
	// Platform by name.
	Platform string `json:"platform" required:"true" maxLength:"64" label:"Platform" desc:"Name of the platform, such as onebot or webui."`
	// Persona is the source of a card.
	Persona string `json:"persona" maxLength:"256" label:"Persona" desc:"Name of the persona card. Empty leaves it to the defaults."`
	// LLM is the model; it counts only if both parts are set.
	LLM ModelRef `json:"llm" type:"llm-ref" label:"Model" desc:"The chat model. It counts only if both parts are set."`
	// EnabledToolGroups are the groups of tools.
	EnabledToolGroups []string `json:"enabledToolGroups" label:"Tool groups" desc:"The groups of tools that are offered; * is all of them."`
	// DisableOutputFormat asks for plain text.
	DisableOutputFormat bool `json:"disableOutputFormat" label:"Plain text" desc:"Have replies written as plain text although the persona has an output format."`
	// ClientSideJSONRendering hands the whole object over.
	ClientSideJSONRendering bool `json:"clientSideJsonRendering" label:"Render at the client" desc:"Hand the whole JSON object of a structured reply to the client."`
}

// ModelRef names a chat model.
type ModelRef struct {
	// Plugin is the id of the plugin instance.
	Plugin string `json:"plugin"`
	// ID of the model at its provider.
	ID string `json:"id"`
}

// Default is the config of a bot that sets nothing.
func Default() Config { return Config{MaxSessions: 10000, Titles: true} }

func (c Config) check() error {
	var errs []error
	for i, p := range c.PlatformProfiles {
		if strings.TrimSpace(p.Platform) == "" {
			errs = append(errs, fmt.Errorf("config.platformProfiles[%d].platform: must not be empty", i))
		}
	}
	return errors.Join(errs...)
}

// settings is the config in the form in which it is used. It is never modified.
type settings struct {
	defaults session.Config
	profiles map[string]session.Config
	max      int
	titles   bool
}

func (c Config) settings() *settings {
	s := &settings{
		defaults: session.Config{Persona: c.Defaults.Persona}, profiles: map[string]session.Config{},
		max: c.MaxSessions, titles: c.Titles,
	}
	for _, p := range c.PlatformProfiles {
		if _, there := s.profiles[p.Platform]; !there {
			s.profiles[p.Platform] = p.session()
		}
	}
	return s
}

// session is the profile as a layer. A switch that is off decides nothing.
func (p Profile) session() session.Config {
	out := session.Config{Persona: p.Persona, EnabledToolGroups: p.EnabledToolGroups}
	if p.LLM.Plugin != "" && p.LLM.ID != "" {
		out.LLM = &llm.Ref{Provider: p.LLM.Plugin, ID: p.LLM.ID}
	}
	on := true
	if p.DisableOutputFormat {
		out.DisableOutputFormat = &on
	}
	if p.ClientSideJSONRendering {
		out.ClientSideJSONRendering = &on
	}
	return out.Clone()
}
