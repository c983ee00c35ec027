// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"encoding/json"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/controllers/rollout"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// inEffect are the revisions of Personas and Plugins that a delivered config was composed of: by kind, then by name.
type inEffect map[string]map[string]int64

// inEffectOf picks out of what a config was composed of the objects that have revisions.
func inEffectOf(references []compose.Reference) inEffect {
	out := inEffect{}
	for _, ref := range references {
		if ref.Revision == 0 {
			continue
		}
		if out[ref.Kind] == nil {
			out[ref.Kind] = map[string]int64{}
		}
		out[ref.Kind][ref.Name] = ref.Revision
	}
	return out
}

// annotation writes the revisions down: the same ones always as the same text, none as the empty text.
func (e inEffect) annotation() string {
	if len(e) == 0 {
		return ""
	}
	data, err := json.Marshal(e)
	if err != nil { // maps of strings and numbers always marshal
		return ""
	}
	return string(data)
}

// readInEffect reads the annotation of a ConfigMap. One that is missing or damaged gives nil.
func readInEffect(annotation string) inEffect {
	var out inEffect
	if err := json.Unmarshal([]byte(annotation), &out); err != nil {
		return nil
	}
	return out
}

// current is what the bot is to run at the moment, by what is delivered and by its status. The status is as good as the
// ConfigMap once it names the delivered sequence. Until then it lags behind, for ever if the operator was killed between
// the two writes, and a roll-out that believed it would take the bot back.
func (e inEffect) current(in *v1alpha1.AgentInstance, delivered kernelconfig.Slots) inEffect {
	if c, said := delivered.Current, in.Status.Sequence; c != nil && (said == nil || *said < c.Sequence) {
		return e
	}
	return nil
}

// revision is that of one object; 0 if none is known.
func (e inEffect) revision(in *v1alpha1.AgentInstance, kind, name string) int64 {
	if n := e[kind][name]; n > 0 {
		return n
	}
	return rollout.InEffect(in, kind, name)
}
