// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tools is the contract of the tool registry: what plugins offer to models, and how a call is made.
package tools

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service tools.
var Service = kernel.NewService[Registry]("tools")

// AllGroups in a list of enabled groups means every group.
const AllGroups = "*"

// CallContext says for whom and where a tool is called. The identity is that of the message.
type CallContext struct {
	SessionID string
	UserID    string
	Platform  string
	// TurnID of the message.
	TurnID        string
	EnabledGroups []string
	// SkipConfirm is set for a turn that a trusted source started and in which nobody can be asked.
	SkipConfirm bool
}

// Handler runs a tool. Its result goes to the model as it is; an error becomes a JSON object with the key error.
type Handler func(ctx context.Context, args map[string]any, call CallContext) (string, error)

// Tool is a tool and how it may be used. The name consists of 1 to 64 letters, digits, "_" and "-", since vendors take no
// other. The parameters are a JSON schema of type object; nil means that the tool takes none.
type Tool struct {
	Definition message.ToolDefinition
	Policy     access.Policy
	// Groups that the tool belongs to; without any it is offered always.
	Groups  []string
	Handler Handler
}

// Group describes a group of tools.
type Group struct {
	Name, Label, Description string
}

// Info describes a registered tool.
type Info struct {
	Name, Description, Owner string
	Policy                   access.Policy
	Groups                   []string
}

// Registry holds the tools of a bot. Its methods may be called concurrently.
type Registry interface {
	// Register adds a tool on behalf of a context; a second one of the same name replaces the first, with a
	// warning. The returned function takes it back, unless another has replaced it; what was replaced does not come
	// back. A tool without a handler or with an unfit name is refused with an error in the log.
	Register(k *kernel.Context, t Tool) (off func())
	// RegisterGroup describes a group; the last description wins.
	RegisterGroup(k *kernel.Context, g Group) (off func())
	// Definitions lists, in order of registration, the tools without a group and those of the given groups. The
	// slice is the caller's; the parameters in it are shared and must not be changed.
	Definitions(groups []string) []message.ToolDefinition
	// List describes every tool, in order of registration.
	List() []Info
	// Groups describes every group, by name.
	Groups() []Group
	// Execute checks that the tool exists and belongs to the groups of the call, then the arguments, asks the guard
	// and runs the tool. It always gives a result for the model: a failure, a panic included, is an [ErrorResult].
	Execute(ctx context.Context, name string, args map[string]any, call CallContext) string
	// SetGuard installs the guard. While none is installed, only what access.MayRunUnguarded says runs.
	SetGuard(g access.Guard) (off func())
}

// Use registers tools whenever there is a registry, for as long as the context lives.
func Use(k *kernel.Context, tools []Tool, groups ...Group) (off func()) {
	return Service.When(k, func(r Registry) func() {
		var offs []func()
		for _, g := range groups {
			offs = append(offs, r.RegisterGroup(k, g))
		}
		for _, t := range tools {
			offs = append(offs, r.Register(k, t))
		}
		return func() {
			for i := len(offs) - 1; i >= 0; i-- {
				offs[i]()
			}
		}
	})
}

// Executed tells of a tool call, at its start and at its end.
type Executed struct {
	SessionID string
	Platform  string
	Name      string
	Args      map[string]any
	// End is false at the start and true at the end, when Result is set.
	End    bool
	Result string
	// Failed is set at the end if the result is an error.
	Failed bool
	// Duration of the call, set at the end.
	Duration time.Duration
}

// Execute is the event of Executed.
var Execute = kernel.NewEvent[Executed]("tool:execute")
