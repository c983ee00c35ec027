// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access is the contract between those who offer operations (tools, commands) and the plugin that decides
// who may run them. An operation declares how dangerous it is; a guard decides for an identity. The rules themselves
// are not here.
package access

import "context"

// Visibility says who sees an operation that declares no risk.
type Visibility string

// The values of Visibility.
const (
	Public     Visibility = "public"
	Restricted Visibility = "restricted"
)

// Risk grades an operation.
type Risk string

// The values of Risk, and with them the levels 0, 1 and 2.
const (
	Safe      Risk = "safe"
	Sensitive Risk = "sensitive"
	Dangerous Risk = "dangerous"
)

// Confirm says whether a person must confirm an operation.
type Confirm string

// The values of Confirm.
const (
	ConfirmSession Confirm = "session"
	ConfirmAlways  Confirm = "always"
)

// Policy is what an operation declares. The zero Policy is public and needs no confirmation.
type Policy struct {
	Visibility Visibility
	Risk       Risk
	Confirm    Confirm
}

// MinLevel is the level that the policy asks for: by risk if there is one, otherwise by visibility.
func (p Policy) MinLevel() int {
	switch p.Risk {
	case Dangerous:
		return 2
	case Sensitive:
		return 1
	case Safe:
		return 0
	}
	if p.Visibility == Restricted {
		return 2
	}
	return 0
}

// Expanded fills in what the risk implies where nothing is declared: sensitive is restricted, dangerous is restricted
// and confirmed once a session.
func (p Policy) Expanded() Policy {
	out := p
	if out.Visibility == "" {
		out.Visibility = Public
		if p.Risk == Sensitive || p.Risk == Dangerous {
			out.Visibility = Restricted
		}
	}
	if out.Confirm == "" && p.Risk == Dangerous {
		out.Confirm = ConfirmSession
	}
	return out
}

// Strictest merges the declarations of one operation, its ancestors' first. Visibility and risk come together from one
// declaration, the one of the highest level; at equal levels from one that is restricted, and otherwise from the first.
// Mixing the two across declarations would let a harmless later one lower what an earlier one asks for. Confirm is the
// strictest of all. So one more declaration, wherever it comes, only ever tightens.
func Strictest(declared ...Policy) Policy {
	var out Policy
	strictness := -1
	confirm := Confirm("")
	for _, p := range declared {
		e := p.Expanded()
		s := 2 * p.MinLevel()
		if e.Visibility == Restricted {
			s++
		}
		if s > strictness {
			strictness, out = s, p
		}
		if e.Confirm == ConfirmAlways || (e.Confirm == ConfirmSession && confirm == "") {
			confirm = e.Confirm
		}
	}
	out.Confirm = confirm
	return out
}

// Request asks whether somebody may run an operation. The identity comes from the message, never from a model.
type Request struct {
	// Capability is kind:name, as in tool:file_delete or command:clear.
	Capability string
	Policy     Policy
	SessionID  string
	Platform   string
	UserID     string
	// TurnID of the message that led to this, so that a question about it reaches whoever sent that message.
	TurnID      string
	Args        map[string]any
	SkipConfirm bool
}

// Guard decides. An empty reason lets the operation run; any other is told to whoever asked.
type Guard func(ctx context.Context, r Request) (reason string)

// MayRunUnguarded tells whether an operation may run while there is no guard: only what is public, of no risk and in
// need of no confirmation. Whoever owns the operation refuses the rest, since nobody has said that it may run.
func MayRunUnguarded(p Policy) bool {
	e := p.Expanded()
	return p.MinLevel() == 0 && e.Visibility == Public && e.Confirm == ""
}
