// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package commands is the contract of the slash commands that people give a bot.
package commands

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service commands.
var Service = kernel.NewService[Registry]("commands")

// Option declares an option of a command.
type Option struct {
	// Syntax as in "-t, --type <v:string[]>". "<v:type>" needs a value, "[v:type]" may have one and is true without;
	// the types are string (when none is given), number, boolean and string[]. Without either it is a flag.
	Syntax      string
	Description string
	Required    bool
	// Choices of a text or of each element of a list.
	Choices []string
	// Default is what the handler is given when the option is absent; nil means that it is given nothing.
	Default any
}

// Texts of a command in one language. What is empty is shown as the command itself has it.
type Texts struct {
	Description string
	Usage       string
	// Options are descriptions by the long name of the option.
	Options map[string]string
}

// Command declares a command.
type Command struct {
	// Declaration is the name and its arguments, as in "session.set" or "model [keyword:text]": "<required:type>"
	// and "[optional:type]" with the types string (when none is given), number, boolean and text, which takes all
	// that is left and must be the last.
	Declaration string
	Description string
	Usage       string
	// Translations are the texts in other languages, by the tag of the language, as in zh-CN.
	Translations map[string]Texts
	Examples     []string
	// Aliases are other names for the whole path, without the prefix.
	Aliases []string
	Options []Option
	Policy  access.Policy
	// Handler runs the command. A command without one only describes a group and what its members ask for.
	Handler Handler
}

// Info describes a registered command. The policy is the one in effect: the strictest of all declarations on the path.
type Info struct {
	Name, Description, Owner string
	Policy                   access.Policy
	Aliases                  []string
	// Group is set for a name that has members and does nothing itself.
	Group bool
}

// Call is one use of a command.
type Call struct {
	// Args are the positional arguments by name; an absent optional one is not in the map.
	Args map[string]any
	// Options by their long name.
	Options map[string]any
	// Raw is the text as it was given.
	Raw         string
	SessionID   string
	Platform    string
	UserID      string
	SessionType message.SessionType
	// TurnID of the message.
	TurnID      string
	SkipConfirm bool
}

// Handler runs a command and gives the text to show; an empty text shows nothing.
type Handler func(ctx context.Context, call Call) (string, error)

// Registry holds the commands of a bot. Its methods may be called concurrently.
type Registry interface {
	// Register adds a command on behalf of a context. A declaration that is malformed is an error that says where.
	Register(k *kernel.Context, c Command) (off func(), err error)
	// Parse tells whether a text is a command that exists, and which.
	Parse(text string) (Parsed, bool)
	// Execute binds the arguments, asks the guard, runs a parsed command and gives the text to show. What fails on
	// the way is told in the text.
	Execute(ctx context.Context, p Parsed, call Call) string
	// Names lists the top-level commands, sorted.
	Names() []string
	// List describes every command and group, sorted by name.
	List() []Info
	// Prefix is what a command begins with; it may be empty.
	Prefix() string
	// Help gives the overview for an empty name, and the detail of a command otherwise.
	Help(name string) string
	// SetGuard installs the guard. While none is installed, only what access.MayRunUnguarded says runs.
	SetGuard(g access.Guard) (off func())
}

// Parsed is a text that is a command.
type Parsed struct {
	// Name is the full path of the command, as in session.set.
	Name string
	// Tokens are what follows it.
	Tokens []string
	// Raw is the whole text.
	Raw string
}

// Use registers commands whenever there is a registry, for as long as the context lives. A declaration that is
// malformed is a programming error: it is logged, and the command does not exist.
func Use(k *kernel.Context, cs ...Command) (off func()) {
	return Service.When(k, func(r Registry) func() {
		var offs []func()
		for _, c := range cs {
			off, err := r.Register(k, c)
			if err != nil {
				k.Logger().Error("Command is malformed", "command", c.Declaration, "error", err)
				continue
			}
			offs = append(offs, off)
		}
		return func() {
			for i := len(offs) - 1; i >= 0; i-- {
				offs[i]()
			}
		}
	})
}
