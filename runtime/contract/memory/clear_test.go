// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

type fake struct {
	memory.Backend
	calls []string
	err   error
}

func (f *fake) ClearAll(context.Context) error { f.calls = append(f.calls, "all"); return f.err }
func (f *fake) ClearSession(_ context.Context, id string) error {
	f.calls = append(f.calls, id)
	return f.err
}

func TestRunClear(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		data   memory.ClearData
		err    error
		calls  []string
		undone bool
	}{
		"session":    {data: memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "s"}, calls: []string{"s"}},
		"all":        {data: memory.ClearData{Scope: memory.ClearAllScope, SessionID: "s"}, calls: []string{"all"}},
		"context":    {data: memory.ClearData{Scope: memory.ClearAllScope, Types: []string{"context"}}, calls: []string{"all"}},
		"other type": {data: memory.ClearData{Scope: memory.ClearAllScope, Types: []string{"image"}}},
		"nowhere":    {data: memory.ClearData{Scope: memory.ClearSessionScope}},
		"fails":      {data: memory.ClearData{Scope: memory.ClearAllScope}, err: broken, calls: []string{"all"}, undone: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{err: tc.err}
			h := kerneltest.New(t, kerneltest.WithService[memory.Backend](memory.Service, f))
			undone := false
			memory.Clear.Use(h.Root(), func(ctx context.Context, d *memory.ClearData, next kernel.Next) error {
				d.Add("own", true, "")
				d.Rollbacks = append(d.Rollbacks, memory.Rollback{Source: "own", Undo: func(context.Context) error { undone = true; return nil }},
					memory.Rollback{Source: "bad", Undo: func(context.Context) error { return broken }}, memory.Rollback{Source: "none"})
				return next(ctx)
			})
			d := tc.data
			if err := memory.RunClear(t.Context(), h.Root(), &d); !errors.Is(err, tc.err) {
				t.Errorf("got error %v", err)
			}
			if !slices.Equal(f.calls, tc.calls) || undone != tc.undone {
				t.Errorf("calls %v, undone %v", f.calls, undone)
			}
			if d.Results[0].Source != "own" || len(d.Results) != 1+len(tc.calls) {
				t.Errorf("results %+v", d.Results)
			}
		})
	}
}

func TestStateNamespaces(t *testing.T) {
	list := memory.StateNamespaces()
	if !slices.IsSorted(list) || slices.ContainsFunc(list, func(n string) bool { return !memory.IsState(n) }) || memory.IsState("summary") {
		t.Errorf("got %v", list)
	}
}
