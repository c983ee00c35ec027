// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
)

// Resolve lays the layers, highest first, over each other: for each field the highest layer that decides it wins. The
// result has no SessionDefaults.
func Resolve(layers []LayerConfig) Config {
	var out Config
	for _, l := range slices.Backward(layers) {
		out = out.Overlay(l.Config)
	}
	out.SessionDefaults = nil
	return out.Clone()
}

// Overlay gives c with each field that over decides replaced, SessionDefaults as a whole. It shares memory with both.
func (c Config) Overlay(over Config) Config {
	if over.LLM != nil && !over.LLM.IsZero() {
		c.LLM = over.LLM
	}
	if len(over.EnabledToolGroups) > 0 {
		c.EnabledToolGroups = over.EnabledToolGroups
	}
	if over.Persona != "" {
		c.Persona = over.Persona
	}
	if over.Thinking != nil {
		c.Thinking = over.Thinking
	}
	if over.DisableOutputFormat != nil {
		c.DisableOutputFormat = over.DisableOutputFormat
	}
	if over.ClientSideJSONRendering != nil {
		c.ClientSideJSONRendering = over.ClientSideJSONRendering
	}
	if over.SessionDefaults != nil {
		c.SessionDefaults = over.SessionDefaults
	}
	return c
}

// Clone is a copy that shares nothing.
func (c Config) Clone() Config {
	c.LLM = clone(c.LLM)
	c.EnabledToolGroups = slices.Clone(c.EnabledToolGroups)
	c.Thinking = clone(c.Thinking)
	c.DisableOutputFormat = clone(c.DisableOutputFormat)
	c.ClientSideJSONRendering = clone(c.ClientSideJSONRendering)
	if c.SessionDefaults != nil {
		defaults := c.SessionDefaults.Clone()
		c.SessionDefaults = &defaults
	}
	return c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// Model is the model that the config asks for; ok is false unless it names both the provider and the id.
func (c Config) Model() (ref llm.Ref, ok bool) {
	if c.LLM == nil || c.LLM.Provider == "" || c.LLM.ID == "" {
		return llm.Ref{}, false
	}
	return *c.LLM, true
}

// PersonaOptions are the options of the persona service that the config stands for.
func (c Config) PersonaOptions() persona.Options {
	return persona.Options{
		Persona:                 c.Persona,
		DisableOutputFormat:     c.DisableOutputFormat != nil && *c.DisableOutputFormat,
		ClientSideJSONRendering: clone(c.ClientSideJSONRendering),
	}
}
