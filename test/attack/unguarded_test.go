// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	commandsplugin "github.com/aalis-dev/aalis-operator/runtime/plugins/commands"
	toolsplugin "github.com/aalis-dev/aalis-operator/runtime/plugins/tools"
)

type nowhere struct{ gateway.Gateway }

// TestNobodyDecides: where no authority is, what is not public is refused to everybody, and recorded. A bot always has the
// module, which is a core one; it may not have started yet, or have failed.
func TestNobodyDecides(t *testing.T) {
	h := kerneltest.New(t, kerneltest.WithService[gateway.Gateway](gateway.Service, nowhere{}),
		kerneltest.WithPlugin(toolsplugin.Plugin, "", nil), kerneltest.WithPlugin(commandsplugin.Plugin, "", nil))
	var audits []access.Audit
	access.Decided.On(h.Root(), func(_ context.Context, a access.Audit) error {
		audits = append(audits, a)
		return nil
	})
	registry, _ := tools.Service.Get(h.Root())
	ran := false
	registry.Register(h.Root(), tools.Tool{
		Definition: message.ToolDefinition{Type: "function", Function: message.ToolFunction{Name: "wipe"}},
		Policy:     access.Policy{Risk: access.Dangerous},
		Handler: func(context.Context, map[string]any, tools.CallContext) (string, error) {
			ran = true
			return "", nil
		},
	})
	who := tools.CallContext{SessionID: "s", Platform: "openai", UserID: boss}
	if got := registry.Execute(t.Context(), "wipe", nil, who); !strings.Contains(got, "error") {
		t.Errorf("the tool answered %q", got)
	}
	all, _ := commands.Service.Get(h.Root())
	for text, refused := range map[string]bool{"/restart": true, "/help": false} {
		parsed, ok := all.Parse(text)
		if !ok {
			t.Fatalf("%s is no command", text)
		}
		got := all.Execute(t.Context(), parsed, commands.Call{SessionID: "s", Platform: "openai", UserID: boss})
		if strings.Contains(got, "permission check") != refused {
			t.Errorf("%s answered %q", text, got)
		}
	}
	if len(audits) != 2 || audits[0].Capability != "tool:wipe" || audits[1].Capability != "command:restart" || ran {
		t.Fatalf("ran %t, recorded %+v", ran, audits)
	}
	for _, a := range audits {
		if a.Rule != access.RuleNoGuard || a.UserID != boss || a.Outcome != "deny" {
			t.Errorf("recorded %+v", a)
		}
	}
}
