// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// env is the control plane of this package's tests.
var env testenv.Environment

func TestMain(m *testing.M) { os.Exit(env.Run(m)) }

// TestRoleIsLeast reads the shipped role: nothing on Secrets, on what is inside pods, and nothing broad.
func TestRoleIsLeast(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(data), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if resource == "secrets" || strings.HasPrefix(resource, "pods/") || strings.HasSuffix(resource, "/token") {
					t.Errorf("the role has %v on %s", rule.Verbs, resource)
				}
			}
			for _, broad := range []string{"*", "deletecollection", "delete", "escalate", "bind", "impersonate"} {
				if broad == "delete" && slices.Equal(rule.Resources, []string{"controllerrevisions"}) {
					continue // the only thing that the operator deletes: old revisions
				}
				if slices.Contains(rule.Verbs, broad) || slices.Contains(rule.Resources, broad) || slices.Contains(rule.APIGroups, broad) {
					t.Errorf("the rule %+v has %s", rule, broad)
				}
			}
			if slices.Contains(rule.Resources, "pods") && !slices.Equal(rule.Verbs, []string{"list", "watch"}) {
				t.Errorf("the role has %v on pods", rule.Verbs)
			}
		}
	}
}

func TestPluginIsCheckedBeforeItsFirstUse(t *testing.T) {
	ns := env.Namespace(t)
	operator := env.StartOperator(t, []string{ns}, nil)
	plugin := testenv.Plugin(ns, "main")
	plugin.Spec.Module = "llm-opnai"
	env.Create(t, plugin)
	testenv.WaitFor(t, &env, plugin, func(p *v1alpha1.Plugin) error {
		return testenv.Ready(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonUnknownModule, false, true)
	})
	testenv.Edit(t, &env, plugin, func(p *v1alpha1.Plugin) {
		p.Spec.Module = "llm-openai"
		p.Spec.Config = &runtime.RawExtension{Raw: []byte(`{"apiKey":"sk-1"}`)}
	})
	testenv.WaitFor(t, &env, plugin, func(p *v1alpha1.Plugin) error {
		return testenv.Ready(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonInvalidConfig, false, true)
	})
	testenv.Edit(t, &env, plugin, func(p *v1alpha1.Plugin) { p.Spec.Config = nil })
	testenv.WaitFor(t, &env, plugin, func(p *v1alpha1.Plugin) error {
		return testenv.Ready(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonUnused, false, false)
	})
	if f := operator.Writes.Forbidden(); len(f) > 0 {
		t.Errorf("requests that the role does not allow: %v", f)
	}
}

func TestWhatSelectsBots(t *testing.T) {
	ns := env.Namespace(t)
	env.StartNode(t, ns)
	bot, other := testenv.Instance(ns, "hello"), testenv.Instance(ns, "other")
	other.Labels = map[string]string{"tier": "own"}
	preference := &v1alpha1.ServicePreference{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cheap-first"},
		Spec: v1alpha1.ServicePreferenceSpec{
			Service: "llm", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "shared"}},
			Prefer: []v1alpha1.ProviderReference{{Plugin: "main", ID: "small"}},
		},
	}
	policy := &v1alpha1.AuthorityPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "house-rules"},
		Spec: v1alpha1.AuthorityPolicySpec{
			Selector: &metav1.LabelSelector{}, Owners: []v1alpha1.Identity{{Platform: "openai", UserID: "ann"}},
		},
	}
	env.Create(t, testenv.Plugin(ns, "main"), testenv.Persona(ns, "owl", "You are an owl."), preference, policy, bot, other)
	operator := env.StartOperator(t, []string{ns}, nil)
	reached := func(status v1alpha1.ObjectStatus, generation int64, n int32) error {
		u := status.Usage
		if u == nil || *u.Selected != n || *u.Applied != n || *status.ObservedGeneration != generation {
			return fmt.Errorf("status %+v, want %d bots", status, n)
		}
		return testenv.Condition(status.Conditions, v1alpha1.ConditionReady, metav1.ConditionTrue, "")
	}
	preferred := func(n int32) func(*v1alpha1.ServicePreference) error {
		return func(p *v1alpha1.ServicePreference) error { return reached(p.Status, p.Generation, n) }
	}
	testenv.WaitFor(t, &env, preference, preferred(1))
	testenv.WaitFor(t, &env, policy, func(p *v1alpha1.AuthorityPolicy) error { return reached(p.Status, p.Generation, 2) })
	// A label of a bot, and the selector, decide who is selected.
	testenv.Edit(t, &env, other, func(in *v1alpha1.AgentInstance) { in.Labels["tier"] = "shared" })
	testenv.WaitFor(t, &env, preference, preferred(2))
	testenv.Edit(t, &env, preference, func(p *v1alpha1.ServicePreference) { p.Spec.Selector.MatchLabels["tier"] = "nobody" })
	testenv.WaitFor(t, &env, preference, preferred(0))
	testenv.Edit(t, &env, policy, func(p *v1alpha1.AuthorityPolicy) {
		p.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Odd"}}}
	})
	testenv.WaitFor(t, &env, policy, func(p *v1alpha1.AuthorityPolicy) error {
		return testenv.Ready(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec, false, true)
	})
	if f := operator.Writes.Forbidden(); len(f) > 0 {
		t.Errorf("requests that the role does not allow: %v", f)
	}
}

// TestHandover: with leader election the second operator does nothing until the first is stopped, and takes over at once
// when it is, because the lease is given back.
func TestHandover(t *testing.T) {
	ns := env.Namespace(t)
	elect := func(o *controllers.Options) {
		o.LeaderElection, o.LeaderElectionNamespace = true, testenv.OperatorNamespace
	}
	first := env.StartOperator(t, []string{ns}, elect)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	second := env.StartOperatorUnelected(t, []string{ns}, elect)
	if second.Elected(ctx) {
		t.Fatal("two operators lead")
	}
	first.Stop(t)
	long, cancelLong := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancelLong()
	if !second.Elected(long) {
		t.Fatal("nobody took over")
	}
	persona := testenv.Persona(ns, "owl", "You are an owl.")
	env.Create(t, persona)
	testenv.WaitFor(t, &env, persona, func(p *v1alpha1.Persona) error {
		return testenv.Condition(p.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonUnused)
	})
	if f := append(first.Writes.Forbidden(), second.Writes.Forbidden()...); len(f) > 0 {
		t.Errorf("requests that the role does not allow: %v", f)
	}
}

// TestAPIServerMoves: the policies of all bots follow the addresses of the API server.
func TestAPIServerMoves(t *testing.T) {
	ns := env.Namespace(t)
	env.Create(t, testenv.Plugin(ns, "main"), testenv.Persona(ns, "owl", "You are an owl."), testenv.Instance(ns, "hello"))
	env.StartOperator(t, []string{ns}, nil)
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "aalis-hello"}}
	has := func(cidr string, want bool) func(*networkingv1.NetworkPolicy) error {
		return func(p *networkingv1.NetworkPolicy) error {
			for _, rule := range p.Spec.Egress {
				for _, to := range rule.To {
					if to.IPBlock != nil && to.IPBlock.CIDR == cidr {
						if want {
							return nil
						}
						return fmt.Errorf("%s is still allowed", cidr)
					}
				}
			}
			if want {
				return fmt.Errorf("%s is not allowed", cidr)
			}
			return nil
		}
	}
	testenv.WaitFor(t, &env, policy, has("192.0.2.1/32", true))
	port := int32(6443)
	second := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: "kubernetes-second",
			Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.77"}}},
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	}
	env.Create(t, second)
	testenv.WaitFor(t, &env, policy, has("192.0.2.77/32", true))
	if err := env.Client().Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, &env, policy, has("192.0.2.77/32", false))
}
