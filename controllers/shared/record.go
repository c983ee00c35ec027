// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxNote is the most bytes of an event's note that the API server takes.
const maxNote = 1024

// Recorder sends events and counts them. Reconcilers send one only when a written condition changes its reason, so
// that an object in a steady state sends none.
type Recorder struct {
	events  events.EventRecorder
	metrics *Metrics
}

// NewRecorder wraps an event recorder.
func NewRecorder(recorder events.EventRecorder, metrics *Metrics) *Recorder {
	return &Recorder{events: recorder, metrics: metrics}
}

// Normal tells of something good. Action says what the operator was doing, in one CamelCase word.
func (r *Recorder) Normal(obj client.Object, reason, action, note string) {
	r.send(obj, corev1.EventTypeNormal, reason, action, note)
}

// Warning tells of something that needs somebody.
func (r *Recorder) Warning(obj client.Object, reason, action, note string) {
	r.send(obj, corev1.EventTypeWarning, reason, action, note)
}

func (r *Recorder) send(obj client.Object, kind, reason, action, note string) {
	r.metrics.eventSent(kind, reason)
	r.events.Eventf(obj, nil, kind, reason, action, "%s", Truncate(note, maxNote))
}
