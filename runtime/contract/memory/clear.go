// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Clear is the hook that clears what the bot remembers. Its occupants clear their own part, add a result and call
// next; the final action, which clears the messages themselves, runs last.
var Clear = kernel.NewHook[ClearData]("memory:clear")

// ClearScope says how much is cleared.
type ClearScope string

// The scopes of a clearing.
const (
	// ClearSessionScope clears one session.
	ClearSessionScope ClearScope = "session"
	// ClearAllScope clears all sessions and what was learnt from them.
	ClearAllScope ClearScope = "all"
)

// TypeContext is the type of the message history itself.
const TypeContext = "context"

// ClearData is the data of Clear.
type ClearData struct {
	Scope ClearScope
	// Types to clear; none means everything.
	Types []string
	// SessionID is the session that is cleared or, with scope all, in which the clearing was asked for; it may be empty.
	SessionID string
	// Results say what was done, in order.
	Results []ClearResult
	// Rollbacks undo what was done, and are run newest first if the clearing fails half-way.
	Rollbacks []Rollback
}

// ClearResult is what one participant did.
type ClearResult struct {
	// Source is the name under which the participant can be chosen as a type.
	Source  string
	Success bool
	// Message for people, empty if there is nothing to say.
	Message string
}

// Rollback undoes what one participant did.
type Rollback struct {
	Source string
	Undo   func(ctx context.Context) error
}

// Wants tells whether a participant that goes by one of the names is to clear its part.
func (d *ClearData) Wants(names ...string) bool {
	return len(d.Types) == 0 || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(d.Types, n) })
}

// Add notes a result.
func (d *ClearData) Add(source string, success bool, msg string) {
	d.Results = append(d.Results, ClearResult{Source: source, Success: success, Message: msg})
}

// RunClear runs the hook with the default action last: the messages of the session or, with scope all, everything
// in the backend. Without a backend or if messages are not wanted there is no default action. When it fails, what
// participants did is undone as far as they know how, newest first, and the error is that of the clearing.
func RunClear(ctx context.Context, k *kernel.Context, d *ClearData) error {
	_, err := Clear.Run(ctx, k, d, func(ctx context.Context) error { return clearMessages(ctx, k, d) })
	if err == nil {
		return nil
	}
	undo := context.WithoutCancel(ctx)
	for i := len(d.Rollbacks) - 1; i >= 0; i-- {
		r := d.Rollbacks[i]
		if r.Undo == nil {
			continue
		}
		if uerr := r.Undo(undo); uerr != nil {
			k.Logger().Warn("Could not undo a part of a failed clearing", "source", r.Source, "error", uerr)
		}
	}
	return err
}

func clearMessages(ctx context.Context, k *kernel.Context, d *ClearData) error {
	if !d.Wants(TypeContext) {
		return nil
	}
	b, ok := Service.Get(k)
	if !ok {
		return nil
	}
	var err error
	switch {
	case d.Scope == ClearAllScope:
		err = b.ClearAll(ctx)
	case d.SessionID != "":
		err = b.ClearSession(ctx, d.SessionID)
	default:
		return nil
	}
	if err != nil {
		d.Add(TypeContext, false, err.Error())
		return err
	}
	d.Add(TypeContext, true, "")
	return nil
}
