// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

// Merge adds a reason to the one that waits behind a running recompute; queued is nil if none waits, and then the next
// reason is kept as it is. A shutdown on either side wins. Anything else degrades to PluginStateChanged: one run answers
// both, and what is special about a single lost service no longer applies.
func Merge(queued *Reason, next Reason) Reason {
	if queued == nil {
		return next
	}
	if queued.Kind == Shutdown || next.Kind == Shutdown {
		return Reason{Kind: Shutdown}
	}
	return Reason{Kind: PluginStateChanged}
}

// Degrade is the reason for the rounds after the first: a service that came or went has had its special effect, and
// having it again could bounce optional consumers for ever.
func Degrade(r Reason) Reason {
	if r.Kind == Shutdown {
		return r
	}
	return Reason{Kind: PluginStateChanged}
}
