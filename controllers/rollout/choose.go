// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import "github.com/aalis-dev/aalis-operator/api/v1alpha1"

// Object is what a bot needs to know of a Persona or Plugin that it uses.
type Object struct {
	// Spec and Status of the roll-out; nil without one.
	Spec   *v1alpha1.RolloutSpec
	Status *v1alpha1.RolloutStatus
	// Generation of the object.
	Generation int64
	// Live is the revision of the present spec; 0 while it is not recorded.
	Live int64
	// Current is the revision that a roll-out falls back to; 0 if there is none.
	Current int64
}

// Choose says which revision of an object a bot composes with: 0 is the object as it now stands. Key is the bot's place in the
// order; inEffect the revision that its status names, 0 if none.
//
// A bot that is not let through stays with what it has, unless that was taken back. Until the status is about the
// object's present generation nobody is let through who was not before.
func Choose(o Object, key string, inEffect int64) int64 {
	if o.Spec == nil {
		return 0
	}
	bad := int64(0)
	if s := o.Status; s != nil {
		bad = value(s.RolledBack)
		about := o.Live != 0 && value(s.Revision) == o.Live && value(s.ObservedGeneration) == o.Generation
		if about && letThrough(s, key, inEffect) {
			return 0
		}
	}
	keep := inEffect
	if keep == 0 || keep == bad {
		keep = o.Current
	}
	if keep == o.Live {
		return 0
	}
	return keep
}

// letThrough tells whether a status that is up to date lets a bot have the revision.
func letThrough(s *v1alpha1.RolloutStatus, key string, inEffect int64) bool {
	switch s.Phase {
	case v1alpha1.RolloutCompleted:
		return true
	case v1alpha1.RolloutRolledBack:
		return false
	}
	return key <= s.Cut || inEffect == value(s.Revision)
}

// PinHolds tells whether a pin is in effect for an object whose newest revision is given.
func PinHolds(pin v1alpha1.PinnedRevision, newest int64) bool {
	return pin.OverRevision == nil || *pin.OverRevision == newest
}

func value[T int32 | int64](p *T) T {
	if p == nil {
		return 0
	}
	return *p
}
