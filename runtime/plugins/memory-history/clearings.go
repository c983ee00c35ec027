// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryhistory

import (
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/bounded"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
)

const (
	// source is the name under which this can be chosen in a clearing, besides the messages themselves.
	source = "history"
	// maxCleared bounds the sessions whose last clearing is remembered.
	maxCleared = 10000
)

// clearings knows when sessions were cleared. What was said before that elsewhere is not brought back there.
type clearings struct {
	last *bounded.Map[string, time.Time]
}

func newClearings() *clearings {
	return &clearings{last: bounded.New[string, time.Time](maxCleared, 0, nil)}
}

// note remembers a clearing of messages that has succeeded. Clearing all leaves nothing that could come back.
func (c *clearings) note(d *memory.ClearData, now time.Time) {
	if !d.Wants(source, memory.TypeContext) {
		return
	}
	if d.Scope == memory.ClearAllScope {
		c.last.Clear()
		return
	}
	if d.SessionID != "" {
		c.last.Set(d.SessionID, now)
	}
}

// since is the oldest timestamp that a session may see, or 0.
func (c *clearings) since(session string) int64 {
	if t, ok := c.last.Get(session); ok {
		return t.UnixMilli()
	}
	return 0
}
