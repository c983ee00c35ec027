// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"fmt"
	"time"
)

// Config of the module.
//
// Tokens is not marked required although nothing is served without it: its value comes from a Secret, and until that is
// there the plugin waits for the Secret and the rest of the bot runs.
type Config struct {
	Port                  int    `json:"port" label:"Port" min:"1024" max:"65535" desc:"TCP port of the HTTP server."`
	Tokens                string `json:"tokens" label:"Tokens" type:"textarea" secret:"true" maxLength:"1048576" desc:"Who may talk to the bot: one \"userId: token\" a line. A user may have several tokens, a token belongs to one user. Lines that begin with # are comments."`
	MaxConcurrent         int    `json:"maxConcurrent" label:"Requests at a time" min:"1" max:"10000" desc:"How many chat requests are answered at the same time. One more gets status 429."`
	RequestTimeoutSeconds int    `json:"requestTimeoutSeconds" label:"Timeout (seconds)" min:"1" max:"86400" desc:"Longest time of one chat request, in seconds; then its turn is aborted."`
	MaxBodyBytes          int    `json:"maxBodyBytes" label:"Largest request (bytes)" min:"1024" max:"67108864" desc:"Longest body of a request, in bytes, images included. A longer one gets status 413."`
}

// Default is the config of an instance that says nothing.
func Default() Config {
	return Config{Port: 8080, MaxConcurrent: 64, RequestTimeoutSeconds: 600, MaxBodyBytes: 1 << 20}
}

// settings is what of the config can change while the plugin runs. It is never modified.
type settings struct {
	users         *users
	maxConcurrent int
	timeout       time.Duration
	maxBody       int64
}

func (c Config) settings() (*settings, error) {
	u, err := parseTokens(c.Tokens)
	if err != nil {
		return nil, fmt.Errorf("config.tokens: %w", err)
	}
	return &settings{
		users:         u,
		maxConcurrent: c.MaxConcurrent,
		timeout:       time.Duration(c.RequestTimeoutSeconds) * time.Second,
		maxBody:       int64(c.MaxBodyBytes),
	}, nil
}
