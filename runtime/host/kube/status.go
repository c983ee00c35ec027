// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/host/report"
)

// The bounds of the API, in characters and items.
const (
	maxPlugins        = 128
	maxBudgets        = 16
	maxID             = 253
	maxPluginMessage  = 256
	maxModel          = 512
	maxRejectMessage  = 1024
	maxVersion        = 128
	maxShort          = 64
	maxService        = 512
	maxRounds         = 20
	timeUnit          = time.Second
	appliedTimeMicros = time.Microsecond
)

// Identity is what does not change while a kernel lives.
type Identity struct {
	// PodUID is the UID of the pod, by which the operator knows that the report is of the living one.
	PodUID string
	// StartTime of the process.
	StartTime time.Time
	// Version of the runtime and CatalogHash of its modules.
	Version, CatalogHash string
}

// statusOf gives the report the form and the bounds of the API.
func statusOf(id Identity, s report.Snapshot) aalisv1alpha1.AgentReplicaStatus {
	out := aalisv1alpha1.AgentReplicaStatus{
		PodUID:       report.Cut(id.PodUID, maxShort),
		StartTime:    metav1.NewTime(id.StartTime.UTC().Truncate(timeUnit)),
		Version:      report.Cut(id.Version, maxVersion),
		CatalogHash:  report.Cut(id.CatalogHash, maxShort),
		Model:        report.Cut(s.Model, maxModel),
		ModelMessage: report.Cut(s.ModelMessage, maxModel),
	}
	if a := s.Applied; a != nil {
		sequence := a.Sequence
		out.AppliedRevision, out.AppliedSequence = report.Cut(a.Revision, maxShort), &sequence
		out.AppliedTime = metav1.NewMicroTime(a.At.UTC().Truncate(appliedTimeMicros))
	}
	if r := s.Rejected; r != nil {
		sequence := r.Sequence
		out.Rejected = &aalisv1alpha1.RejectedRevision{
			Revision: report.Cut(r.Revision, maxShort), Sequence: &sequence, Message: report.Cut(r.Message, maxRejectMessage),
		}
	}
	for _, p := range s.Plugins[:min(len(s.Plugins), maxPlugins)] {
		out.Plugins = append(out.Plugins, aalisv1alpha1.PluginStatus{
			ID: report.Cut(p.ID, maxID), State: aalisv1alpha1.State(p.State), Message: report.Cut(p.Message, maxPluginMessage),
		})
	}
	for _, b := range s.Budgets[:min(len(s.Budgets), maxBudgets)] {
		percent, state := int32(min(max(b.Percent, 0), 100)), aalisv1alpha1.BudgetWithin
		if b.Exhausted {
			state = aalisv1alpha1.BudgetExhausted
		}
		out.Budgets = append(out.Budgets, aalisv1alpha1.BudgetStatus{
			Name: report.Cut(b.Name, maxShort), Scope: aalisv1alpha1.BudgetScope(b.Scope), Unit: report.Cut(b.Unit, maxShort),
			Limit: report.Cut(b.Limit, maxShort), UsedPercent: &percent, State: state, Until: metav1.NewTime(b.Until.UTC().Truncate(timeUnit)),
		})
	}
	if r := s.Recompute; r != nil {
		rounds := int32(min(max(r.Rounds, 0), maxRounds))
		out.LastRecompute = &aalisv1alpha1.RecomputeStatus{
			Reason: r.Reason, Service: report.Cut(r.Service, maxService), Rounds: &rounds,
			Time: metav1.NewTime(r.At.UTC().Truncate(timeUnit)),
		}
	}
	return out
}
