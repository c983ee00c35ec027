// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

func TestSetSummary(t *testing.T) {
	var conditions []metav1.Condition
	old := metav1.NewTime(time.Unix(1000, 0))
	SetSummary(&conditions, 1, Summary{Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonActive, Message: "fine"})
	for i := range conditions {
		conditions[i].LastTransitionTime = old
	}
	SetSummary(&conditions, 2, Summary{Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied, Message: "still fine"})
	for _, c := range conditions {
		if !c.LastTransitionTime.Equal(&old) {
			t.Errorf("%s: the transition time changed without the status", c.Type)
		}
		if c.ObservedGeneration != 2 {
			t.Errorf("%s: generation %d", c.Type, c.ObservedGeneration)
		}
	}
	SetSummary(&conditions, 3, Summary{Ready: metav1.ConditionFalse, Progress: Stuck, Reason: v1alpha1.ReasonInvalidSpec, Message: strings.Repeat("夜", 2000)})
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if ready.LastTransitionTime.Equal(&old) {
		t.Error("the transition time did not change with the status")
	}
	if len(ready.Message) > maxMessage || !utf8.ValidString(ready.Message) || !strings.HasSuffix(ready.Message, "...") {
		t.Errorf("message of %d bytes: %q", len(ready.Message), ready.Message)
	}
	if !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled) || meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReconciling) {
		t.Errorf("conditions %+v", conditions)
	}
}

func TestTruncate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "limit")
		got := Truncate(text, limit)
		if len(got) > limit {
			t.Fatalf("%d bytes, want at most %d", len(got), limit)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("cut inside a character: %q", got)
		}
		if len(text) <= limit && got != text {
			t.Fatalf("%q was changed to %q", text, got)
		}
	})
}

func TestPassing(t *testing.T) {
	now := time.Unix(0, 0)
	p := NewPassing(func() time.Time { return now }, 0)
	key := types.NamespacedName{Namespace: "a", Name: "b"}
	if got := p.Hold(key); got != PassingAfter {
		t.Errorf("held for %s at first", got)
	}
	now = now.Add(600 * time.Millisecond)
	if got := p.Hold(key); got != 400*time.Millisecond {
		t.Errorf("held for %s more after 600 ms", got)
	}
	now = now.Add(400 * time.Millisecond)
	if got := p.Hold(key); got != 0 {
		t.Errorf("held for %s more after a second", got)
	}
	p.Done(key)
	if got := p.Hold(key); got != PassingAfter {
		t.Errorf("held for %s after it was done", got)
	}
	p.Done(key)
	if len(p.since) != 0 {
		t.Errorf("%d entries are left", len(p.since))
	}
}
