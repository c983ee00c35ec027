// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// The bounds of what a text about a missing model lists; they keep it under 300 UTF-16 code units in every language.
const (
	maxListed      = 5   // models
	maxListedUnits = 110 // of their names together
	maxNameUnits   = 60  // of one name
)

// noModel says why there is no model to answer with.
type noModel struct{ why i18n.Message }

func (e *noModel) Error() string { return e.why.In(i18n.English) }

// DefaultModel implements agent.Agent.
func (a *conductor) DefaultModel() (string, error) {
	m, err := a.resolve(llm.Ref{})
	if err != nil {
		return "", err
	}
	return m.Info().Entry(), nil
}

// takeModel takes over the model that the bot's declaration asks for.
func (a *conductor) takeModel(_ context.Context, ref llm.Ref, _ bool) { a.model.Store(&ref) }

// resolve finds the model that answers: the chosen one of a session, else that of the bot's declaration. Neither is ever
// replaced by another: whoever named it would not notice. The error is a noModel.
func (a *conductor) resolve(chosen llm.Ref) (llm.Model, error) {
	if chosen.IsZero() {
		chosen = *a.model.Load()
	}
	if ref := chosen; !ref.IsZero() {
		if m, ok := llm.Resolve(a.k, ref, llm.CapChat); ok {
			return m, nil
		}
		return nil, &noModel{a.missing(ref)}
	}
	if ref := a.cfg.Load().defaultModel(); !ref.IsZero() {
		if m, ok := llm.Resolve(a.k, ref, llm.CapChat); ok {
			return m, nil
		}
	}
	if m, ok := llm.Resolve(a.k, llm.Ref{}, llm.CapChat); ok {
		return m, nil
	}
	return nil, &noModel{a.none()}
}

func (a *conductor) none() i18n.Message {
	if n := len(llm.Service.Entries(a.k)); n > 0 {
		return i18n.NoChatModel(n)
	}
	return i18n.NoModel()
}

// missing describes a model that was asked for by name and is not there.
func (a *conductor) missing(ref llm.Ref) i18n.Message {
	wanted := i18n.Cut(ref.String(), maxNameUnits)
	var names []string
	total, units := 0, 0
	for _, e := range llm.Service.Entries(a.k) {
		if !slices.Contains(e.Instance.Info().Capabilities, llm.CapChat) {
			continue
		}
		total++
		name := i18n.Cut(e.EntryID, maxNameUnits)
		if units += i18n.Units(name); total <= maxListed && units <= maxListedUnits {
			names = append(names, name)
		}
	}
	available := strings.Join(names, ", ")
	switch {
	case total == 0:
		return i18n.ModelNotFound(wanted)
	case total == len(names):
		return i18n.ModelNotAmong(wanted, available)
	default:
		return i18n.ModelNotAmongMany(wanted, available, total)
	}
}

// prefer puts the config's default model first among the providers of the service llm, in place of the one that it was
// before, so that every plugin that asks for a model gets it.
func (a *conductor) prefer(before, after llm.Ref) {
	service := llm.Service.Name()
	list := a.k.Preferred(service)
	if before != after && !before.IsZero() && len(list) > 0 && list[0] == before.String() {
		list = list[1:]
	}
	if !after.IsZero() {
		rest := slices.DeleteFunc(slices.Clone(list), func(id string) bool { return id == after.String() })
		list = append([]string{after.String()}, rest...)
	}
	if !slices.Equal(list, a.k.Preferred(service)) {
		a.k.Prefer(service, list...)
	}
}

// preferenceChanged keeps the default model first when somebody else sets the order.
func (a *conductor) preferenceChanged(_ context.Context, service string) error {
	if ref := a.cfg.Load().defaultModel(); service == llm.Service.Name() {
		a.prefer(ref, ref)
	}
	return nil
}

// isNoModel tells whether an error is that there is no model, and why.
func isNoModel(err error) (i18n.Message, bool) {
	if e, ok := errors.AsType[*noModel](err); ok {
		return e.why, true
	}
	return i18n.Message{}, false
}
