// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"errors"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// FallbackSetting is the top-level config key "fallbackOn": for each service that has a preference, the causes for
// which a failed call may be made again at the next preferred entry. Absent, or without the service, means never.
var FallbackSetting = kernel.NewSetting[map[string][]Cause]("fallbackOn")

// FallbackOn reads for which causes a failed call of a model may go to the next preferred model.
func FallbackOn(k *kernel.Context) []Cause {
	by, _, err := FallbackSetting.Get(k)
	if err != nil {
		return nil
	}
	return by[Service.Name()]
}

// MayFallOver tells whether a call that ended with err may be made at the next candidate: only where one of the causes
// is named, and only if nothing of the reply had been handed on. A provider that gave no answer in time is unavailable.
func MayFallOver(err error, on []Cause) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || !e.BeforeFirstByte {
		return false
	}
	return slices.Contains(on, e.Cause) || e.Cause == Timeout && slices.Contains(on, Unavailable)
}

// Candidates gives the models to ask, in order: the one that ref asks for and then those that come after it in the
// preference list (all of the list if it is not in it) and have the capabilities too. None means that the model that
// is asked for is not there: its place is never taken by another one.
func Candidates(k *kernel.Context, ref Ref, caps ...Capability) []Model {
	return candidates(Service.Entries(k), k.Preferred(Service.Name()), ref, caps)
}

// candidates is Candidates over entries in resolution order and the ids of the preference list.
func candidates(entries []kernel.Provided[Model], preferred []string, ref Ref, caps []Capability) []Model {
	first := slices.IndexFunc(entries, func(e kernel.Provided[Model]) bool { return fits(e, ref, caps) })
	if first < 0 {
		return nil
	}
	out := []Model{entries[first].Instance}
	// An id that is not in the list gives -1, and so the whole list.
	for _, id := range preferred[slices.Index(preferred, entries[first].EntryID)+1:] {
		i := slices.IndexFunc(entries, func(e kernel.Provided[Model]) bool {
			return e.EntryID == id && hasAll(e.Instance.Info().Capabilities, caps)
		})
		if i >= 0 && i != first && !slices.Contains(out, entries[i].Instance) {
			out = append(out, entries[i].Instance)
		}
	}
	return out
}
