// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
)

// anyPlatform is the platform of the confirm handler of those that have none of their own.
const anyPlatform = "*"

// authority is the service.
type authority struct {
	k        *kernel.Context
	declared atomic.Pointer[kernelconfig.Authority]

	// storing keeps one change after another, from what it is based on to what is stored.
	storing sync.Mutex

	mu      sync.RWMutex
	rules   *policy.Rules
	takenAt time.Time
	// What chat has set: nothing is known of it while loaded is false. The map is replaced, never changed.
	backend     memory.Backend
	loaded      bool
	levels      map[policy.Identity]int64
	autoConfirm *int64

	grants   grants
	handlers map[string][]*access.ConfirmHandler
}

func newAuthority(k *kernel.Context) *authority {
	return &authority{k: k, rules: policy.New(nil), grants: grants{now: k.Now}, handlers: map[string][]*access.ConfirmHandler{}}
}

// IsOwner implements access.Authority.
func (a *authority) IsOwner(platform, userID string) bool {
	return a.standing(policy.Identity{Platform: platform, UserID: userID}).Owner
}

// Level implements access.Authority. While it is not known what chat has set nobody has more than level 0.
func (a *authority) Level(platform, userID string) int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	s := a.rules.Standing(policy.Identity{Platform: platform, UserID: userID}, a.levels)
	if s.Owner {
		return math.MaxInt
	}
	if !a.loaded {
		return int(min(s.Level, 0))
	}
	return int(s.Level)
}

func (a *authority) standing(id policy.Identity) policy.Standing {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.rules.Standing(id, a.levels)
}

// SetConfirmHandler implements access.Authority.
func (a *authority) SetConfirmHandler(platform string, h access.ConfirmHandler) (off func()) {
	if platform == "" {
		platform = anyPlatform
	}
	mine := &h
	a.mu.Lock()
	a.handlers[platform] = append(a.handlers[platform], mine)
	a.mu.Unlock()
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.handlers[platform] = slices.DeleteFunc(a.handlers[platform], func(h *access.ConfirmHandler) bool { return h == mine })
	}
}

// handler gives who asks people of a platform, or nil.
func (a *authority) handler(platform string) access.ConfirmHandler {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, p := range []string{platform, anyPlatform} {
		if hs := a.handlers[p]; len(hs) > 0 {
			return *hs[len(hs)-1]
		}
	}
	return nil
}

// decide answers a request, and uses up a grant if that is what allows it.
func (a *authority) decide(r access.Request) policy.Decision {
	d := a.judge(r)
	for d.Rule == policy.RuleGrant && !a.grants.use(keyOf(r)) {
		d = a.judge(r) // somebody else used it up in between
	}
	return d
}

func keyOf(r access.Request) grantKey {
	return grantKey{policy.Identity{Platform: r.Platform, UserID: r.UserID}, r.SessionID, r.Capability}
}

// judge answers a request by the rules and the state of this moment.
func (a *authority) judge(r access.Request) policy.Decision {
	id := policy.Identity{Platform: r.Platform, UserID: r.UserID}
	key := keyOf(r)
	a.mu.RLock()
	rules, q := a.rules, policy.Query{
		Identity: id, Capability: r.Capability, Policy: r.Policy, SkipConfirm: r.SkipConfirm, Now: a.k.Now(),
		State: policy.State{
			NotLoaded: !a.loaded, Levels: a.levels, AutoConfirm: a.autoConfirm, TakenAt: a.takenAt, Granted: a.grants.has(key),
		},
	}
	a.mu.RUnlock()
	return rules.Decide(q)
}

// withLevel gives the levels with one more, or one fewer if level is nil.
func withLevel(levels map[policy.Identity]int64, id policy.Identity, level *int64) map[policy.Identity]int64 {
	out := maps.Clone(levels)
	if out == nil {
		out = map[policy.Identity]int64{}
	}
	if level == nil {
		delete(out, id)
	} else {
		out[id] = *level
	}
	return out
}

func sameApprovals(a, b []kernelconfig.PreApproval) bool {
	return slices.EqualFunc(a, b, func(x, y kernelconfig.PreApproval) bool {
		return x.DurationSeconds == y.DurationSeconds && slices.Equal(x.Allow, y.Allow)
	})
}
