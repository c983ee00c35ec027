// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// TestFurtherPersonaEditReachesItsBot: a Persona that only spec.personas names is delivered, and so is an edit of it; a bot
// that does not name it is left alone.
func TestFurtherPersonaEditReachesItsBot(t *testing.T) {
	s := newScene(t, 2, patient)
	lark := testenv.Persona(s.ns, "lark", "You are a lark.")
	env.Create(t, lark)
	testenv.Edit(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) {
		in.Spec.Personas = []v1alpha1.LocalReference{{Name: "lark"}}
	})
	prompt := func(want string) func(*corev1.ConfigMap) error {
		return func(*corev1.ConfigMap) error {
			config, err := delivered(t, s.bots[0]).Current.Unpack()
			if err != nil || len(config.Personas) != 1 || config.Personas[0].Prompt != want {
				return fmt.Errorf("delivered %+v: %w", config.Personas, err)
			}
			return nil
		}
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: render.ChildName(s.bots[0].Name)}}
	testenv.WaitFor(t, &env, cm, prompt("You are a lark."))
	s.settle(t)
	testenv.Edit(t, &env, lark, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are an early lark." })
	testenv.WaitFor(t, &env, cm, prompt("You are an early lark."))
	s.operator.Quiet(t)
	if n := s.operator.Writes.Counts()["apply configmaps"]; n != 1 {
		t.Errorf("the edit wrote %d ConfigMaps", n)
	}
	s.forbidden(t)
}
