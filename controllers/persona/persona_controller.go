// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package persona reconciles Personas: it reports how far each has reached the bots that refer to it, and keeps a
// deleted one until they have let go. It is set up by the operator's manager. It never changes a bot: the
// AgentInstance reconciler watches Personas itself.
package persona

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// SetupWithManager adds the reconciler to the manager.
func SetupWithManager(mgr ctrl.Manager, opts shared.UsedOptions) error {
	kind := shared.UsedKind[*v1alpha1.Persona]{
		Name:      v1alpha1.KindPersona,
		New:       func() *v1alpha1.Persona { return &v1alpha1.Persona{} },
		Status:    status,
		Users:     users,
		Finalizer: true,
	}
	return shared.NewUsedReconciler(kind, opts).SetupWithManager(mgr, declared)
}

func status(p *v1alpha1.Persona) shared.StatusFields {
	s := &p.Status
	return shared.StatusFields{
		Conditions: &s.Conditions, ObservedGeneration: &s.ObservedGeneration, Usage: &s.Usage,
		Revisions: &shared.RevisionFields{
			Current: &s.CurrentRevision, Updated: &s.UpdatedRevision, Rollout: &s.Rollout, Spec: p.Spec.Rollout,
		},
	}
}

func users(ctx context.Context, cache client.Reader, p *v1alpha1.Persona) ([]v1alpha1.AgentInstance, error) {
	return shared.InstancesByIndex(ctx, cache, p.Namespace, shared.IndexPersona, p.Name)
}

func declared(_ context.Context, in *v1alpha1.AgentInstance) []string { return shared.PersonaNames(in) }
