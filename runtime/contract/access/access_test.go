// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// TestPolicyExpansion is case 8.6.10.
func TestPolicyExpansion(t *testing.T) {
	for name, tc := range map[string]struct {
		declared   access.Policy
		visibility access.Visibility
		confirm    access.Confirm
		level      int
		unguarded  bool
	}{
		"nothing":             {access.Policy{}, access.Public, "", 0, true},
		"safe":                {access.Policy{Risk: access.Safe}, access.Public, "", 0, true},
		"sensitive":           {access.Policy{Risk: access.Sensitive}, access.Restricted, "", 1, false},
		"dangerous":           {access.Policy{Risk: access.Dangerous}, access.Restricted, access.ConfirmSession, 2, false},
		"restricted":          {access.Policy{Visibility: access.Restricted}, access.Restricted, "", 2, false},
		"public and confirm":  {access.Policy{Visibility: access.Public, Confirm: access.ConfirmAlways}, access.Public, access.ConfirmAlways, 0, false},
		"explicit confirm":    {access.Policy{Risk: access.Dangerous, Confirm: access.ConfirmAlways}, access.Restricted, access.ConfirmAlways, 2, false},
		"explicit visibility": {access.Policy{Risk: access.Sensitive, Visibility: access.Public}, access.Public, "", 1, false},
		"risk shadows":        {access.Policy{Risk: access.Safe, Visibility: access.Restricted}, access.Restricted, "", 0, false},
	} {
		e := tc.declared.Expanded()
		if e.Visibility != tc.visibility || e.Confirm != tc.confirm || tc.declared.MinLevel() != tc.level {
			t.Errorf("%s: got %+v of level %d", name, e, tc.declared.MinLevel())
		}
		if access.MayRunUnguarded(tc.declared) != tc.unguarded {
			t.Errorf("%s: unguarded %t", name, !tc.unguarded)
		}
	}
}

func drawPolicy(t *rapid.T) access.Policy {
	return access.Policy{
		Visibility: rapid.SampledFrom([]access.Visibility{"", access.Public, access.Restricted}).Draw(t, "visibility"),
		Risk:       rapid.SampledFrom([]access.Risk{"", access.Safe, access.Sensitive, access.Dangerous}).Draw(t, "risk"),
		Confirm:    rapid.SampledFrom([]access.Confirm{"", access.ConfirmSession, access.ConfirmAlways}).Draw(t, "confirm"),
	}
}

func strength(c access.Confirm) int {
	return map[access.Confirm]int{"": 0, access.ConfirmSession: 1, access.ConfirmAlways: 2}[c]
}

// TestStrictestOnlyTightens: one more declaration, at any place, never loosens anything, and the outcome asks for what
// some declaration asks for as a whole.
func TestStrictestOnlyTightens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOfN(rapid.Custom(drawPolicy), 0, 5).Draw(t, "before")
		one := drawPolicy(t)
		at := rapid.IntRange(0, len(before)).Draw(t, "at")
		after := append(append(append([]access.Policy{}, before[:at]...), one), before[at:]...)
		was, is := access.Strictest(before...), access.Strictest(after...)
		if is.MinLevel() < was.MinLevel() || strength(is.Expanded().Confirm) < strength(was.Expanded().Confirm) {
			t.Fatalf("%+v became %+v", was, is)
		}
		if access.MayRunUnguarded(is) && !access.MayRunUnguarded(was) {
			t.Fatalf("%+v runs unguarded, %+v did not", is, was)
		}
		whole, level, confirm := false, 0, 0
		for _, p := range after {
			whole = whole || (p.Visibility == is.Visibility && p.Risk == is.Risk)
			level = max(level, p.MinLevel())
			confirm = max(confirm, strength(p.Expanded().Confirm))
		}
		if !whole || is.MinLevel() != level || strength(is.Confirm) != confirm {
			t.Fatalf("%+v is not the strictest of %+v", is, after)
		}
	})
}

type people map[string]int

func (p people) IsOwner(_, user string) bool     { return user == "owner" }
func (p people) Level(platform, user string) int { return p[platform+":"+user] }

func (p people) SetConfirmHandler(string, access.ConfirmHandler) (off func()) { return func() {} }

func TestReaches(t *testing.T) {
	h := kerneltest.New(t)
	if access.Reaches(h.Root(), "p", "owner", 0) {
		t.Error("nobody reaches anything where nobody knows levels")
	}
	access.Service.Provide(h.Root(), people{"p:two": 2, "p:bad": -1})
	for user, want := range map[string]bool{"owner": true, "two": true, "one": false, "bad": false, "": false} {
		if access.Reaches(h.Root(), "p", user, 2) != want {
			t.Errorf("%s: got %t", user, !want)
		}
	}
	if access.Reaches(h.Root(), "p", "bad", 0) {
		t.Error("who is banned reaches level 0")
	}
}
