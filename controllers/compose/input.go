// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// Input is what a bot is composed from. The lists may hold more than belongs to the bot, of other namespaces too: only
// what the instance refers to, or what selects it, is looked at. An empty namespace means "default".
type Input struct {
	Instance           *v1alpha1.AgentInstance
	Plugins            []v1alpha1.Plugin
	Personas           []v1alpha1.Persona
	ServicePreferences []v1alpha1.ServicePreference
	AuthorityPolicies  []v1alpha1.AuthorityPolicy
	TenantPolicies     []v1alpha1.TenantPolicy
	Catalog            catalog.Catalog
	// Revisions are those of the Personas and Plugins that are known; Held the objects that a roll-out holds the bot at.
	Revisions []Revision
	Held      []Held
}

// Result is a composed bot.
type Result struct {
	// Config is the kernel config. It is complete only if Deployable.
	Config kernelconfig.Config
	// Instance is the AgentInstance with what TenantPolicies give to it; children are made from this one.
	Instance *v1alpha1.AgentInstance
	// Delivery holds the revision and the compressed bytes, its Sequence still 0. It is empty unless Deployable.
	Delivery kernelconfig.Delivery
	// Secrets are the Secret keys that the pod mounts, sorted.
	Secrets []kernelconfig.SecretKey
	// Problems are sorted: the gravest first, then by object, path and message.
	Problems []Problem
	// References are the objects that went into the config or select the bot, sorted by kind and name, the instance
	// itself left out.
	References []Reference
	// Pins says what became of each entry of spec.pin, sorted by kind and name.
	Pins []PinState
}

// Reference is an object that was composed, at a generation. Revision is the one in effect, 0 where none is known.
type Reference struct {
	Kind       string
	Name       string
	Generation int64
	Revision   int64
}

// Deployable reports whether no problem is an error. If it is not, what ran before goes on running.
func (r Result) Deployable() bool {
	return len(r.Problems) == 0 || r.Problems[0].Severity != SeverityError
}

// Degraded reports whether something that is declared is not in the config, although that is deployable.
func (r Result) Degraded() bool {
	for _, p := range r.Problems {
		if p.Severity == SeverityWarning {
			return true
		}
	}
	return false
}
