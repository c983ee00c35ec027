// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

var preferences = SelectingKind[*v1alpha1.ServicePreference]{
	Name:     v1alpha1.KindServicePreference,
	NewList:  func() client.ObjectList { return &v1alpha1.ServicePreferenceList{} },
	Selector: func(p *v1alpha1.ServicePreference) *metav1.LabelSelector { return p.Spec.Selector },
}

func preference(namespace, name string, selector *metav1.LabelSelector) *v1alpha1.ServicePreference {
	return &v1alpha1.ServicePreference{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.ServicePreferenceSpec{Selector: selector},
	}
}

// TestSelecting: a changed bot has those objects looked at again that select it, also before it says that it runs them.
func TestSelecting(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	shared := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "shared"}}
	bad := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Near"}}}
	cache := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		preference("a", "all", &metav1.LabelSelector{}), preference("a", "shared", shared), preference("a", "nobody", nil),
		preference("a", "bad", bad), preference("b", "elsewhere", &metav1.LabelSelector{}),
	).Build()
	for name, tt := range map[string]struct {
		labels map[string]string
		want   []string
	}{
		"labelled":        {map[string]string{"tier": "shared"}, []string{"all", "shared"}},
		"other label":     {map[string]string{"tier": "own"}, []string{"all"}},
		"without a label": {nil, []string{"all"}},
	} {
		t.Run(name, func(t *testing.T) {
			bot := &v1alpha1.AgentInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "bot", Labels: tt.labels}}
			if diff := cmp.Diff(tt.want, preferences.selecting(t.Context(), cache, bot)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheckSelector: a selector that cannot be read is the object's own fault, whoever it would select.
func TestCheckSelector(t *testing.T) {
	for name, tt := range map[string]struct {
		operator metav1.LabelSelectorOperator
		wrong    bool
	}{
		"exists": {metav1.LabelSelectorOpExists, false},
		"near":   {"Near", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := preference("a", "p", &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: tt.operator}},
			})
			got := preferences.check(p)
			if (got != nil) != tt.wrong {
				t.Fatalf("got %+v", got)
			}
			if got != nil && (got.Progress != Stuck || got.Reason != v1alpha1.ReasonInvalidSpec) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
