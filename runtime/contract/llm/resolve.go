// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Ref asks for a model by provider, by id, or by both; the zero Ref asks for the best one.
type Ref struct {
	// Provider is a plugin instance id.
	Provider string `json:"provider,omitempty"`
	// ID of the model at its provider.
	ID string `json:"id,omitempty"`
}

// IsZero tells whether nothing is asked for.
func (r Ref) IsZero() bool { return r.Provider == "" && r.ID == "" }

// String is the entry id of a complete reference, or what is known of an incomplete one.
func (r Ref) String() string {
	switch {
	case r.Provider == "":
		return r.ID
	case r.ID == "":
		return r.Provider
	default:
		return r.Provider + "/" + r.ID
	}
}

// Resolve finds the first model, in resolution order (preference, priority, registration), that has all the
// capabilities and is what ref asks for. The order ignores a preferred entry that lacks a capability.
func Resolve(k *kernel.Context, ref Ref, caps ...Capability) (Model, bool) {
	for _, e := range Service.Entries(k) {
		if fits(e, ref, caps) {
			return e.Instance, true
		}
	}
	return nil, false
}

func fits(e kernel.Provided[Model], ref Ref, caps []Capability) bool {
	info := e.Instance.Info()
	return matches(e.EntryID, info, ref) && hasAll(info.Capabilities, caps)
}

func matches(entryID string, info Info, ref Ref) bool {
	switch {
	case ref.IsZero():
		return true
	case ref.ID == "":
		return strings.HasPrefix(entryID, ref.Provider+"/")
	case ref.Provider == "":
		return info.ID == ref.ID
	default:
		return entryID == ref.String()
	}
}

func hasAll(have, want []Capability) bool {
	for _, w := range want {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return true
}
