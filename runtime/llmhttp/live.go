// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Settings are what the configs of all providers of chat models say, ready for use. They are never modified. A plugin
// embeds them in its own.
type Settings struct {
	// Timeout bounds a call, all its attempts included; 0 means no limit.
	Timeout time.Duration
	// Temperature and MaxTokens, of a reply, hold for requests that ask for no other.
	Temperature float64
	MaxTokens   int
	// ContextLength is how many tokens, prompt and reply together, the models take.
	ContextLength int
	// Models that the config names, and what it says of models.
	Models Models
}

// Common gives the part of a plugin's settings that all providers have.
func (s *Settings) Common() *Settings { return s }

// TemperatureOf is the temperature at which a request is answered.
func (s *Settings) TemperatureOf(req llm.Request) float64 {
	if req.Temperature != nil {
		return *req.Temperature
	}
	return s.Temperature
}

// MaxTokensOf is the most tokens of the reply to a request.
func (s *Settings) MaxTokensOf(req llm.Request) int {
	if req.MaxTokens > 0 {
		return req.MaxTokens
	}
	return s.MaxTokens
}

// Seconds reads a time of a config, which is given in seconds.
func Seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// Live holds the settings in force, for a Backend to embed. S is a pointer to the plugin's settings. There must be some
// before anything else is asked. Its methods may be called concurrently.
type Live[S interface{ Common() *Settings }] struct{ current atomic.Pointer[S] }

// Use puts settings into force.
func (l *Live[S]) Use(s S) { l.current.Store(&s) }

// Current gives the settings in force.
func (l *Live[S]) Current() S { return *l.current.Load() }

// Common implements Backend.
func (l *Live[S]) Common() *Settings { return l.Current().Common() }

// Configured is a Backend whose settings can change while it runs, as those with a Live can.
type Configured[S any] interface {
	Backend
	Use(set S)
}

// Run offers the models of a backend in a plugin's context until that is torn down. server and read take the config
// apart; their errors should name the fields. A changed config is taken over in place, unless it is about another
// server or key. Run waits a short while for the server's list if the config names no model, so that a bot whose server
// is up has its models from its first moment.
func Run[C, S any](
	k *kernel.Context, cfg C, server func(C) Server, read func(C) (S, error), backend Configured[S], t Tools,
) error {
	set, err := read(cfg)
	if err != nil {
		return err
	}
	backend.Use(set)
	ep, err := server(cfg).Open(k)
	if err != nil {
		return err
	}
	p := start(k, ep, backend, t)
	kernel.OnReconfigure(k, func(_ context.Context, before, after C) error {
		if server(before) != server(after) {
			return kernel.ErrNeedsBounce
		}
		set, err := read(after)
		if err != nil {
			return fmt.Errorf("reconfiguring: %w", err)
		}
		backend.Use(set)
		p.sync()
		return nil
	})
	return nil
}
