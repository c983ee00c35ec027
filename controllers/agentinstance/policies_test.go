// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// TestPoliciesThatDiffer: a condition says which answer holds while two policies differ, and goes with the difference.
func TestPoliciesThatDiffer(t *testing.T) {
	s := newScene(t, 1, patient)
	policy := func(name string, level int32) *v1alpha1.AuthorityPolicy {
		return &v1alpha1.AuthorityPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name},
			Spec: v1alpha1.AuthorityPolicySpec{
				Selector: &metav1.LabelSelector{}, Levels: []v1alpha1.IdentityLevel{{Platform: "openai", UserID: "bob", Level: &level}},
			},
		}
	}
	lenient, strict := policy("lenient", 2), policy("strict", 1)
	env.Create(t, lenient, strict)
	want := func(present bool) func(*v1alpha1.AgentInstance) error {
		return func(in *v1alpha1.AgentInstance) error {
			c := meta.FindStatusCondition(in.Status.Conditions, v1alpha1.ConditionPolicyConflict)
			if present != (c != nil) || (c != nil && !strings.Contains(c.Message, "AuthorityPolicy lenient: spec.levels: openai:bob: level 2 is not in effect: AuthorityPolicy strict says level 1")) {
				return fmt.Errorf("condition %+v", c)
			}
			return testenv.Ready(in.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonActive, false, false)
		}
	}
	testenv.WaitFor(t, &env, s.bots[0], want(true))
	config, err := delivered(t, s.bots[0]).Current.Unpack()
	if err != nil || len(config.Authority.Levels) != 1 || config.Authority.Levels[0].Level != 1 {
		t.Errorf("delivered %+v, %v", config.Authority, err)
	}
	one := int32(1)
	testenv.Edit(t, &env, lenient, func(p *v1alpha1.AuthorityPolicy) { p.Spec.Levels[0].Level = &one })
	testenv.WaitFor(t, &env, s.bots[0], want(false))
	s.forbidden(t)
}
