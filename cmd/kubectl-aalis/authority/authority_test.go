// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/authority"
	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
)

func TestAnswers(t *testing.T) {
	boss, two, guest := policy.Identity{Platform: "p", UserID: "1"}, policy.Identity{Platform: "p", UserID: "2"}, policy.Identity{Platform: "p", UserID: "a:b"}
	house := &kernelconfig.Authority{
		Owners: []policy.Identity{boss}, Levels: []kernelconfig.IdentityLevel{{Identity: two, Level: 2}},
		DeniedCapabilities: []string{"tool:exec*"}, AuthorityOverrides: map[string]int32{"tool:x": 3},
		ConfirmOverrides: map[string]string{"tool:y": "always"},
		PreApproved:      []kernelconfig.PreApproval{{Allow: []string{"tool:ok"}}}, AutoConfirmUntil: -1,
	}
	dangerous := access.Policy{Risk: access.Dangerous}
	for _, tc := range []struct {
		a          *kernelconfig.Authority
		who        policy.Identity
		capability string
		declared   access.Policy
		unattended bool
		allowed    bool
		want       string
	}{
		{house, boss, "tool:exec", access.Policy{}, false, false, `no - deniedCapabilities has "tool:exec*", which holds for owners too`},
		{house, boss, "tool:z", access.Policy{}, false, true, "yes - the person is an owner"},
		{house, boss, "tool:z", dangerous, false, true, "yes - the person is an owner, and autoConfirm is on"},
		{house, boss, "tool:y", access.Policy{}, false, true, "yes, once it is confirmed - the person is an owner; tool:y asks for confirmation (always) by confirmOverrides"},
		{house, two, "tool:z", dangerous, false, true, "yes, once it is confirmed - the person has level 2; tool:z asks for confirmation (session) by its declaration"},
		{house, two, "tool:ok", dangerous, false, true, "yes - the person has the right, and preApproved spares the confirmation"},
		{house, two, "tool:z", dangerous, true, true, "yes - the person has the right, and a scheduler has nobody to ask"},
		{house, two, "tool:x", access.Policy{}, false, false, "no - tool:x needs level 3 by authorityOverrides, and the person has level 2"},
		{house, guest, "command:z", access.Policy{Risk: access.Sensitive}, false, false, "no - command:z needs level 1 by its declared risk, and the person has level 0, since nothing is declared for this person"},
		{nil, guest, "command:z", access.Policy{}, false, true, "yes - command:z needs level 0 by its declared visibility, and the person has level 0, since nothing is declared for this person"},
		{&kernelconfig.Authority{Disabled: true}, guest, "command:z", dangerous, false, true, "yes - spec.unsafe.authority of the bot is Disabled"},
	} {
		got := authority.Ask(tc.a, authority.Question{Who: tc.who, Capability: tc.capability, Declared: tc.declared, Unattended: tc.unattended}, time.Unix(0, 0))
		if got.Text() != tc.want || got.Allowed() != tc.allowed {
			t.Errorf("%v %s: got %t %q", tc.who, tc.capability, got.Allowed(), got.Text())
		}
	}
}

func TestDeclared(t *testing.T) {
	for name, tc := range map[string]struct {
		capability string
		flags      authority.Flags
		want       access.Policy
		known      bool
		err        string
	}{
		"shipped":       {"command:clear.all", authority.Flags{}, access.Policy{Risk: access.Dangerous, Confirm: access.ConfirmSession}, true, ""},
		"not shipped":   {"tool:exec", authority.Flags{}, access.Policy{}, false, ""},
		"flags":         {"tool:exec", authority.Flags{Risk: "dangerous"}, access.Policy{Risk: access.Dangerous}, true, ""},
		"flags go over": {"command:clear.all", authority.Flags{Visibility: "public"}, access.Policy{Visibility: access.Public}, true, ""},
		"no kind":       {"exec", authority.Flags{}, access.Policy{}, false, `an operation is named as tool:NAME or command:NAME, such as command:clear, got "exec"`},
		"no name":       {"tool:", authority.Flags{}, access.Policy{}, false, `an operation is named as tool:NAME or command:NAME, such as command:clear, got "tool:"`},
		"other kind":    {"plugin:x", authority.Flags{}, access.Policy{}, false, `an operation is named as tool:NAME or command:NAME, such as command:clear, got "plugin:x"`},
		"bad flag":      {"tool:x", authority.Flags{Risk: "high"}, access.Policy{Risk: "high"}, false, `--risk must be one of safe, sensitive, dangerous, got "high"`},
	} {
		got, known, err := authority.Declared(tc.capability, tc.flags)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != tc.want || known != tc.known || text != tc.err {
			t.Errorf("%s: got %+v %t %q", name, got, known, text)
		}
	}
}

func TestParseUser(t *testing.T) {
	for text, want := range map[string]policy.Identity{
		"onebot:10001": {Platform: "onebot", UserID: "10001"}, "p:a:b 🦉": {Platform: "p", UserID: "a:b 🦉"}, "": {}, "p": {}, ":x": {}, "p:": {},
	} {
		if got, err := authority.ParseUser(text); (err == nil) != (want != policy.Identity{}) || (err == nil && got != want) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}
