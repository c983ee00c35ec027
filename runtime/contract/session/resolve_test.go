// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"reflect"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

func TestOverlayAndClone(t *testing.T) {
	on, off := true, false
	full := Config{
		LLM: &llm.Ref{Provider: "p", ID: "m"}, EnabledToolGroups: []string{"g"}, Persona: "x", Thinking: &on,
		DisableOutputFormat: &on, ClientSideJSONRendering: &off, SessionDefaults: &Config{Persona: "y"},
	}
	if got := full.Overlay(Config{LLM: &llm.Ref{}, EnabledToolGroups: []string{}}); !reflect.DeepEqual(got, full) {
		t.Errorf("what is not set overrides: %+v", got)
	}
	if got := (Config{Persona: "old", Thinking: &off}).Overlay(full); !reflect.DeepEqual(got, full) {
		t.Errorf("got %+v", got)
	}
	copied := full.Clone()
	if !reflect.DeepEqual(copied, full) {
		t.Errorf("got %+v", copied)
	}
	copied.LLM.ID, copied.EnabledToolGroups[0], *copied.Thinking, copied.SessionDefaults.Persona = "z", "z", false, "z"
	if full.LLM.ID != "m" || full.EnabledToolGroups[0] != "g" || !on || full.SessionDefaults.Persona != "y" {
		t.Error("a copy shares memory")
	}
	resolved := Resolve([]LayerConfig{{Layer: LayerSession, Config: Config{Persona: "top"}}, {Layer: LayerDefault, Config: full}})
	if resolved.Persona != "top" || resolved.SessionDefaults != nil || *resolved.Thinking != true {
		t.Errorf("got %+v", resolved)
	}
}

func TestModelAndPersonaOptions(t *testing.T) {
	on := true
	for _, ref := range []*llm.Ref{nil, {Provider: "p"}, {ID: "m"}} {
		if _, ok := (Config{LLM: ref}).Model(); ok {
			t.Errorf("%+v counts", ref)
		}
	}
	if ref, ok := (Config{LLM: &llm.Ref{Provider: "p", ID: "m"}}).Model(); !ok || ref.String() != "p/m" {
		t.Errorf("got %v %v", ref, ok)
	}
	o := (Config{Persona: "x", DisableOutputFormat: &on, ClientSideJSONRendering: &on}).PersonaOptions()
	if o.Persona != "x" || !o.DisableOutputFormat || !*o.ClientSideJSONRendering {
		t.Errorf("got %+v", o)
	}
	if o := (Config{}).PersonaOptions(); o.DisableOutputFormat || o.ClientSideJSONRendering != nil {
		t.Errorf("got %+v", o)
	}
}
