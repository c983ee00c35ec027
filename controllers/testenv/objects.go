// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// Plugin makes a Plugin of the module llm-openai with its key from the Secret llm.
func Plugin(namespace, name string) *v1alpha1.Plugin {
	return &v1alpha1.Plugin{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.PluginSpec{
			Module: "llm-openai",
			Config: &runtime.RawExtension{Raw: []byte(`{"baseUrl":"http://fake.models.svc"}`)},
			Secrets: []v1alpha1.PluginSecret{{
				Path: "apiKey", SecretKeyRef: v1alpha1.SecretKeyReference{Name: "llm", Key: "api-key"},
			}},
		},
	}
}

// Persona makes a Persona.
func Persona(namespace, name, prompt string) *v1alpha1.Persona {
	return &v1alpha1.Persona{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.PersonaSpec{Prompt: prompt},
	}
}

// Instance makes a bot that uses the Plugin main and the Persona owl.
func Instance(namespace, name string) *v1alpha1.AgentInstance {
	return &v1alpha1.AgentInstance{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"tier": "shared"}},
		Spec: v1alpha1.AgentInstanceSpec{
			Model:      &v1alpha1.ModelReference{Plugin: "main", ID: "small"},
			PersonaRef: &v1alpha1.LocalReference{Name: "owl"},
			Plugins:    []v1alpha1.InstancePlugin{{Name: "main"}},
		},
	}
}

// Create creates objects.
func (e *Environment) Create(t testing.TB, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		if err := e.client.Create(t.Context(), obj); err != nil {
			t.Fatalf("creating %T %s: %v", obj, obj.GetName(), err)
		}
	}
}

// Edit changes an object as it now is.
func Edit[T client.Object](t testing.TB, e *Environment, obj T, change func(T)) {
	t.Helper()
	e.Refresh(t, obj)
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T is not an API object", obj)
	}
	change(obj)
	if err := e.client.Patch(t.Context(), obj, client.MergeFrom(before), client.FieldOwner("people")); err != nil {
		t.Fatalf("editing %T %s: %v", obj, obj.GetName(), err)
	}
}

// Refresh reads an object anew.
func (e *Environment) Refresh(t testing.TB, obj client.Object) {
	t.Helper()
	if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatalf("reading %T %s: %v", obj, obj.GetName(), err)
	}
}

// WaitFor waits until a freshly read object passes the check.
func WaitFor[T client.Object](t testing.TB, e *Environment, obj T, check func(T) error) {
	t.Helper()
	key := client.ObjectKeyFromObject(obj)
	Eventually(t, func() error {
		if err := e.client.Get(context.Background(), key, obj); err != nil {
			return err
		}
		return check(obj)
	})
}

// Key names an object of a namespace.
func Key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// Condition says how a condition must be: "Ready=True/Active". The reason may be left out.
func Condition(conditions []metav1.Condition, kind string, status metav1.ConditionStatus, reason string) error {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return fmt.Errorf("there is no condition %s in %+v", kind, conditions)
	}
	if c.Status != status || reason != "" && c.Reason != reason {
		return fmt.Errorf("condition %s is %s/%s (%s), want %s/%s", kind, c.Status, c.Reason, c.Message, status, reason)
	}
	return nil
}

// Ready says how the three conditions of kstatus must be.
func Ready(conditions []metav1.Condition, ready metav1.ConditionStatus, reason string, reconciling, stalled bool) error {
	if err := Condition(conditions, v1alpha1.ConditionReady, ready, reason); err != nil {
		return err
	}
	for kind, want := range map[string]bool{v1alpha1.ConditionReconciling: reconciling, v1alpha1.ConditionStalled: stalled} {
		status := metav1.ConditionFalse
		if want {
			status = metav1.ConditionTrue
		}
		if err := Condition(conditions, kind, status, ""); err != nil {
			return err
		}
	}
	return nil
}
