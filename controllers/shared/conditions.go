// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// maxMessage is the most bytes of a condition's message. Longer ones are cut, with dots at their end.
const maxMessage = 1024

// Progress says where an object stands between what is declared and what runs.
type Progress int

// The values of Progress.
const (
	// Settled: nothing more will happen until somebody changes something, and that is fine.
	Settled Progress = iota
	// Working: the system is still on its way; Reconciling is True.
	Working
	// Stuck: it will not get there without a change by somebody; Stalled is True.
	Stuck
)

// Summary is the state of an object in the words of kstatus.
type Summary struct {
	// Ready is the status of the condition Ready.
	Ready metav1.ConditionStatus
	// Progress decides Reconciling and Stalled, of which at most one is True.
	Progress Progress
	// Reason is one CamelCase word, from api/v1alpha1.
	Reason string
	// Message for people.
	Message string
}

// SetSummary sets Ready, Reconciling and Stalled. A condition's transition time changes only with its status.
func SetSummary(conditions *[]metav1.Condition, generation int64, s Summary) {
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		SetCondition(conditions, generation, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
	set(v1alpha1.ConditionReady, s.Ready, s.Reason, s.Message)
	if s.Progress == Working {
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, s.Reason, s.Message)
	} else {
		set(v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonUpToDate, "")
	}
	if s.Progress == Stuck {
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, s.Reason, s.Message)
	} else {
		set(v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonNothingToDo, "")
	}
}

// SetCondition sets one condition, with its message cut to 1,024 bytes.
func SetCondition(conditions *[]metav1.Condition, generation int64, c metav1.Condition) {
	c.ObservedGeneration = generation
	c.Message = Truncate(c.Message, maxMessage)
	meta.SetStatusCondition(conditions, c)
}

// RemoveCondition removes a condition that no longer says anything.
func RemoveCondition(conditions *[]metav1.Condition, kind string) {
	meta.RemoveStatusCondition(conditions, kind)
}

// Truncate cuts a text to at most limit bytes, never inside a character, and ends it with dots if it was cut.
func Truncate(s string, limit int) string {
	const dots = "..."
	if len(s) <= limit {
		return s
	}
	if limit <= len(dots) {
		return dots[:max(limit, 0)]
	}
	cut := limit - len(dots)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + dots
}
