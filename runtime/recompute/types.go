// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

// State is where a plugin entry is in its life. The values are the words shown in status and on the web page.
type State string

// The states of an entry. Error and Disabled are left only by a management call, Disposed never.
const (
	// Pending entries are activated as soon as every required service is available.
	Pending State = "Pending"
	// Activating entries are running their apply function.
	Activating State = "Activating"
	// Active entries run.
	Active State = "Active"
	// Disabled entries were turned off by config or by a person.
	Disabled State = "Disabled"
	// Disposed entries are gone for good.
	Disposed State = "Disposed"
	// Error entries failed to activate; a recompute never retries them.
	Error State = "Error"
)

// ReasonKind says what kind of change asks for a recompute.
type ReasonKind string

// The kinds of reasons.
const (
	// ServiceUp means that a service was registered.
	ServiceUp ReasonKind = "service-up"
	// ServiceDown means that a service registration was withdrawn. In the round that sees it, and only there, active
	// entries that declare BounceOnDepChange and use the lost service optionally are retired.
	ServiceDown ReasonKind = "service-down"
	// PluginStateChanged means that an entry was registered, enabled, disabled, unloaded or bounced.
	PluginStateChanged ReasonKind = "plugin-state-changed"
	// Shutdown retires everything for good.
	Shutdown ReasonKind = "shutdown"
)

// Reason is why a recompute runs. Service is set for ServiceUp and ServiceDown.
type Reason struct {
	Kind    ReasonKind `json:"kind"`
	Service string     `json:"service,omitempty"`
}

// Entry is one plugin instance as the planner sees it. The order of entries in a list is their registration order.
type Entry struct {
	// ID is the instance id, unique in a list; later entries with the same id are ignored.
	ID string
	// State is the present state.
	State State
	// Provides, Required and Optional are service names as the module declares them; Required may have more names that
	// the config asks for, as secret:NAME/KEY. Empty and repeated names are ignored.
	Provides, Required, Optional []string
	// MayProvide names services that come and go while the entry is active. Nothing is planned on them; they only explain
	// why others wait.
	MayProvide []string
	// BounceOnDepChange is the module's requiresBounceOnDepChange: it wants to be re-applied when a service it uses,
	// required or optional, is lost or comes from another provider.
	BounceOnDepChange bool
	// Bound lists the providers this entry's dependencies resolved to when it was activated. It is optional: with it, a
	// provider that was replaced by another one between two rounds is noticed for entries with BounceOnDepChange;
	// without it only a service that is missing, or goes in this round, is.
	Bound []Provider
}

// Provider is one registration of a service, in the container's resolution order where a service has several.
type Provider struct {
	// Service is the service's name.
	Service string
	// Owner is the id of the entry that registered it, or an id below one ("ID/part", "ID#child"). Any other value, as ""
	// or "root", stands for the host: such a provider is never retired by a plan.
	Owner string
	// Epoch tells two registrations of one owner apart, for instance before and after a bounce; 0 where nobody counts.
	Epoch uint64
}

// Round is the plan of one round. Carry out Retire in order, then Activate in order; an entry of Activate whose required
// services are nevertheless missing when its turn comes (a provider failed) is to be skipped.
type Round struct {
	// Retire lists what to tear down, consumers before the providers they require.
	Retire []Retirement
	// Activate lists what to start, providers before their consumers. It may hold entries of Retire: these bounce.
	Activate []string
	// Waiting lists every entry that is pending when the round has been carried out, in registration order.
	Waiting []Wait
	// Cycles lists the dependency cycles among the waiting entries.
	Cycles [][]string
}

// Changes reports whether carrying out the round does anything.
func (r Round) Changes() bool { return len(r.Retire) > 0 || len(r.Activate) > 0 }

// Retirement says that an entry must be torn down, which state it enters (Pending or Disposed) and why, in words.
type Retirement struct {
	ID     string
	Target State
	Cause  string
}

// Wait explains why an entry is pending.
type Wait struct {
	ID string
	// Missing lists the required services that are not available, in the order the entry declares them.
	Missing []string
	// Cycle is the dependency cycle the entry is part of, as ids in the order "requires", or nil. Its members share the
	// list.
	Cycle []string
	// Message is the explanation for people. It names at most three services, or twelve members of a cycle.
	Message string
}

// MaxRounds is how many rounds one recompute may take before it is given up. When activations succeed and provide what
// they declare, two are enough for any input; only plugins that register and withdraw services of their own accord need more.
const MaxRounds = 20

// Prediction is where rounds of plans end when every activation succeeds and provides exactly what it declares.
type Prediction struct {
	// States holds the end state of every entry by id.
	States map[string]State
	// Waits explains each entry that ends Pending, in registration order.
	Waits []Wait
	// Rounds is the number of rounds that changed something.
	Rounds int
	// Retired and Activated list the ids in the order in which it happened, over all rounds.
	Retired, Activated []string
	// Cycles lists the dependency cycles among the waiting entries.
	Cycles [][]string
	// Converged is false only if MaxRounds was reached.
	Converged bool
}
