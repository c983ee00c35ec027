// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"sync"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/policy"
)

// The bounds of grants. A person who needs more is asked again.
const (
	maxGrants     = 4096
	minGrant      = time.Second
	maxGrant      = time.Hour
	unlimitedUses = -1
)

// grantKey is what a grant is bound to: the members of a group share a session, so the person is part of it.
type grantKey struct {
	who        policy.Identity
	session    string
	capability string
}

type grant struct {
	until time.Time
	uses  int
}

// grants remember for how long a person need not be asked again. They end with the process: after a restart people are
// asked again. The zero value without now is not usable.
type grants struct {
	now func() time.Time

	mu  sync.Mutex
	all map[grantKey]grant
}

// add gives a grant. The duration is clamped to its bounds; no uses means any number of them.
func (g *grants) add(key grantKey, d time.Duration, uses int) {
	if uses <= 0 {
		uses = unlimitedUses
	}
	d = min(max(d, minGrant), maxGrant)
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if g.all == nil {
		g.all = map[grantKey]grant{}
	}
	if len(g.all) >= maxGrants {
		for k, v := range g.all {
			if !now.Before(v.until) {
				delete(g.all, k)
			}
		}
	}
	if _, there := g.all[key]; there || len(g.all) < maxGrants {
		g.all[key] = grant{now.Add(d), uses}
	}
}

func (g *grants) has(key grantKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.live(key)
}

// live tells whether a grant holds, and drops one that has ended.
func (g *grants) live(key grantKey) bool {
	have, ok := g.all[key]
	if ok && !g.now().Before(have.until) {
		delete(g.all, key)
		return false
	}
	return ok
}

// use takes one use of a grant, if it holds.
func (g *grants) use(key grantKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.live(key) {
		return false
	}
	have := g.all[key]
	if have.uses == unlimitedUses {
		return true
	}
	if have.uses--; have.uses == 0 {
		delete(g.all, key)
	} else {
		g.all[key] = have
	}
	return true
}

// keep drops the grants of all people whom keep does not want.
func (g *grants) keep(wanted func(policy.Identity) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.all {
		if !wanted(k.who) {
			delete(g.all, k)
		}
	}
}
