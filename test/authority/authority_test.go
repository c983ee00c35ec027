// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	kubectlauthority "github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/authority"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
	"github.com/aalis-dev/aalis-operator/test/wholebot"
)

// platform is the platform of everybody in the table.
const platform = wholebot.Platform

// table is what testdata/oracle.py writes.
type table struct {
	Operations []struct{ Capability, Visibility, Risk, Confirm string }
	Users      []string
	Policies   []struct {
		Name  string
		Specs []v1alpha1.AuthorityPolicySpec
		Rows  []row
	}
}

type row struct{ User, Capability, Outcome string }

func readTable(t *testing.T) table {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "table.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out table
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, p := range out.Policies {
		rows += len(p.Rows)
	}
	if rows < 200 {
		t.Fatalf("the table has %d rows", rows)
	}
	return out
}

func (tb table) declared(capability string) access.Policy {
	for _, o := range tb.Operations {
		if o.Capability == capability {
			return access.Policy{Visibility: access.Visibility(o.Visibility), Risk: access.Risk(o.Risk), Confirm: access.Confirm(o.Confirm)}
		}
	}
	return access.Policy{}
}

// merged is what the operator makes of the policies.
func merged(t *testing.T, specs []v1alpha1.AuthorityPolicySpec) *kernelconfig.Authority {
	t.Helper()
	c, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	in := compose.Input{Catalog: c, Instance: &v1alpha1.AgentInstance{ObjectMeta: metav1.ObjectMeta{Name: "bot"}}}
	for i, s := range specs {
		in.AuthorityPolicies = append(in.AuthorityPolicies, v1alpha1.AuthorityPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i)}, Spec: s,
		})
	}
	r := compose.Compose(in)
	if !r.Deployable() {
		t.Fatal(r.Problems)
	}
	return r.Config.Authority
}

func TestRules(t *testing.T) {
	tb := readTable(t)
	for _, p := range tb.Policies {
		rules := policy.New(merged(t, p.Specs))
		for _, r := range p.Rows {
			got := rules.Decide(policy.Query{
				Identity: policy.Identity{Platform: platform, UserID: r.User}, Capability: r.Capability, Policy: tb.declared(r.Capability), Now: time.Now(),
			})
			if string(got.Outcome) != r.Outcome {
				t.Errorf("%s: %s %s: got %s by %s, want %s", p.Name, r.User, r.Capability, got.Outcome, got.Rule, r.Outcome)
			}
		}
	}
}

func TestCanI(t *testing.T) {
	tb := readTable(t)
	for _, p := range tb.Policies {
		a := merged(t, p.Specs)
		for _, r := range p.Rows {
			who, err := kubectlauthority.ParseUser(platform + ":" + r.User)
			if err != nil {
				t.Fatal(err)
			}
			d := tb.declared(r.Capability)
			declared, _, err := kubectlauthority.Declared(r.Capability, kubectlauthority.Flags{
				Risk: string(d.Risk), Visibility: string(d.Visibility), Confirm: string(d.Confirm),
			})
			if err != nil {
				t.Fatal(err)
			}
			got := kubectlauthority.Ask(a, kubectlauthority.Question{Who: who, Capability: r.Capability, Declared: declared}, time.Now())
			begin := map[string]string{"allow": "yes - ", "confirm": "yes, once it is confirmed - ", "deny": "no - "}[r.Outcome]
			if !strings.HasPrefix(got.Text(), begin) || got.Allowed() == (r.Outcome == "deny") {
				t.Errorf("%s: %s %s: got %q, want %s", p.Name, r.User, r.Capability, got.Text(), r.Outcome)
			}
		}
	}
}

// bot is a whole bot with a model behind it that calls the tools it is told to.
type bot struct {
	*wholebot.Bot
	t   *testing.T
	ran atomic.Int64
}

func startBot(t *testing.T, tb table) *bot {
	t.Helper()
	llm := httptest.NewServer(fakellm.New(fakellm.Options{}))
	t.Cleanup(llm.Close)
	b := &bot{t: t}
	b.Bot = wholebot.Start(t, llm.URL, tb.Users, b.operations(tb))
	return b
}

// operations is a module that offers the operations of the table.
func (b *bot) operations(tb table) kernel.Module {
	return kernel.Module{
		Name: "@test/plugin-operations", Inject: kernel.Inject{Optional: []string{tools.Service.Name(), commands.Service.Name()}},
		Apply: func(k *kernel.Context, _ map[string]any) error {
			for _, o := range tb.Operations {
				kind, name, _ := strings.Cut(o.Capability, ":")
				if kind == "command" {
					commands.Use(k, commands.Command{
						Declaration: name, Description: "A command of the test.", Policy: tb.declared(o.Capability),
						Handler: func(context.Context, commands.Call) (string, error) { b.ran.Add(1); return "it ran", nil },
					})
					continue
				}
				tools.Use(k, []tools.Tool{{
					Definition: message.ToolDefinition{Type: "function", Function: message.ToolFunction{Name: name, Description: "A tool of the test."}},
					Policy:     tb.declared(o.Capability),
					Handler: func(context.Context, map[string]any, tools.CallContext) (string, error) {
						b.ran.Add(1)
						return "it ran", nil
					},
				}})
			}
			return nil
		},
	}
}

// try has somebody run an operation, says no to the question if there is one, and tells what came of it.
func (b *bot) try(ctx context.Context, user, session, capability, reply string) (outcome, text string) {
	b.t.Helper()
	before := b.ran.Load()
	kind, name, _ := strings.Cut(capability, ":")
	say := "/" + name
	if kind == "tool" {
		say = "#tool " + name
	}
	asked := false
	text = b.Say(ctx, user, session, wholebot.Request(say), func() {
		asked = true
		b.Answer(ctx, user, session, reply)
	})
	ran := b.ran.Load() > before
	switch {
	case asked && ran == (reply == "Y"):
		return "confirm", text
	case asked:
		return fmt.Sprintf("asked, and then ran: %t", ran), text
	case ran:
		return "allow", text
	}
	if !strings.Contains(text, "Not permitted") && !strings.Contains(text, "Switched off") {
		return "neither ran nor was refused", text
	}
	return "deny", text
}

// TestRunningBot asks a bot that nobody restarts in between, by commands and by tools that a model calls for a person.
func TestRunningBot(t *testing.T) {
	tb := readTable(t)
	b := startBot(t, tb)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, p := range tb.Policies {
		b.Declare(merged(t, p.Specs))
		for i, r := range p.Rows {
			reply := map[bool]string{true: "Y", false: "n"}[i%2 == 0]
			got, text := b.try(ctx, r.User, fmt.Sprint(p.Name, i), r.Capability, reply)
			if got != r.Outcome {
				t.Errorf("%s: %s %s: got %s, want %s; it said %q", p.Name, r.User, r.Capability, got, r.Outcome, text)
			}
		}
	}
	if t.Failed() {
		t.Log(b.Logs.String())
	}
}
