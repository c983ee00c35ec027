// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the image has no time zone files
)

// Config of the plugin. All of it takes effect at once, without a bounce.
type Config struct {
	// Persona is the source of the card among further ones, for a bot that no Persona is declared for.
	Persona string `json:"persona" label:"Persona" maxLength:"256" desc:"Name of the card that the bot speaks as, among its further cards: a Persona object that spec.personas lists, or a file of the personas directory without its suffix. Only used without spec.personaRef."`
	// StatePersistence keeps what a structured reply says besides the text.
	StatePersistence bool `json:"statePersistence" label:"Keep state" desc:"Keep the fields of a structured reply that are not sent, such as a mood, and tell the model those of the last reply in the next turn. They are kept in the memory backend by session, and cleared with its history."`
	// TimeInjection tells the model the time.
	TimeInjection bool `json:"timeInjection" label:"Tell the time" desc:"Tell the model the present time in every turn."`
	// TimeZone of the time that the model is told; empty is the zone of the machine.
	TimeZone string `json:"timeZone" label:"Time zone" maxLength:"64" desc:"Time zone of the time that the model is told, by its IANA name, as Europe/Berlin or Asia/Shanghai. Empty means the zone of the machine, which is UTC in a cluster."`
}

// Default is the config of a bot that sets nothing.
func Default() Config { return Config{TimeInjection: true} }

// location is the configured zone; nil stands for that of the clock.
func (c Config) location() (*time.Location, error) {
	if c.TimeZone == "" {
		return nil, nil
	}
	loc, err := time.LoadLocation(c.TimeZone)
	if err != nil || strings.EqualFold(c.TimeZone, "local") {
		return nil, fmt.Errorf(
			"config.timeZone: must be the IANA name of a time zone, such as Asia/Shanghai, or empty, got %q", c.TimeZone)
	}
	return loc, nil
}
