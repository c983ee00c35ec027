// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// TestTenantPolicy: what a namespace may not have is refused with a message that says what it may; what ran goes on running,
// as it was; the policy says how far it has reached; and what it gives reaches the bots that do not say themselves.
func TestTenantPolicy(t *testing.T) {
	s := newScene(t, 2, patient)
	other := newScene(t, 1, patient)
	tenant := &v1alpha1.TenantPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "bounds"},
		Spec:       v1alpha1.TenantPolicySpec{AllowedModules: []string{"llm-ollama"}},
	}
	env.Create(t, tenant)
	for _, bot := range s.bots {
		testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
			if in.Status.State != v1alpha1.StateActive {
				return fmt.Errorf("state %s", in.Status.State)
			}
			return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonNotAllowed, false, true)
		})
	}
	testenv.WaitFor(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) error {
		for _, c := range in.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady && strings.Contains(c.Message, "Plugin main: spec.module: module @aalis/plugin-llm-openai is not allowed by TenantPolicy bounds, which allows llm-ollama") {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", in.Status.Conditions)
	})
	if slots := delivered(t, s.bots[0]); slots.Current.Sequence != 1 {
		t.Errorf("something else was delivered: %+v", slots.Current)
	}
	testenv.WaitFor(t, &env, other.bots[0], func(in *v1alpha1.AgentInstance) error {
		return testenv.Ready(in.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonActive, false, false)
	})

	set := func(name string) appsv1.StatefulSet {
		t.Helper()
		var out appsv1.StatefulSet
		if err := env.Client().Get(t.Context(), testenv.Key(s.ns, render.ChildName(name)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	testenv.Edit(t, &env, tenant, func(p *v1alpha1.TenantPolicy) {
		p.Spec = v1alpha1.TenantPolicySpec{
			Unsafe: v1alpha1.DenyAddresses,
			Defaults: &v1alpha1.TenantDefaults{Resources: &corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("77m")},
			}},
		}
	})
	testenv.WaitFor(t, &env, s.bots[1], func(in *v1alpha1.AgentInstance) error {
		got := set(in.Name).Spec.Template.Spec.Containers[0].Resources.Requests.Cpu()
		if got.String() != "77m" {
			return fmt.Errorf("cpu %s", got)
		}
		return testenv.Ready(in.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonActive, false, false)
	})
	before := set(s.bots[0].Name).ResourceVersion
	testenv.Edit(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) {
		in.Spec.Unsafe = &v1alpha1.UnsafeSettings{Authority: v1alpha1.RunStateDisabled}
	})
	testenv.WaitFor(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) error {
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonNotAllowed, false, true)
	})
	if config, err := delivered(t, s.bots[0]).Current.Unpack(); err != nil || (config.Authority != nil && config.Authority.Disabled) {
		t.Errorf("protection was taken away: %+v, %v", config.Authority, err)
	}
	s.operator.Quiet(t)
	if after := set(s.bots[0].Name).ResourceVersion; after != before && set(s.bots[0].Name).Generation > 2 {
		t.Errorf("the pods were changed: %s, then %s", before, after)
	}
	testenv.WaitFor(t, &env, tenant, func(p *v1alpha1.TenantPolicy) error {
		if u := p.Status.Usage; u == nil || *u.Selected != 2 {
			return fmt.Errorf("usage %+v", u)
		}
		return nil
	})
	s.forbidden(t)
}
