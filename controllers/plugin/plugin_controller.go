// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin reconciles Plugins: it checks each against the catalog, reports how far it has reached the bots that
// list it and the worst state that it has in one of them, and keeps a deleted one until they have let go. It is set up
// by the operator's manager. It never changes a bot and never reads a Secret.
package plugin

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

// maxSummary bounds the text that sums up several problems, in characters.
const maxSummary = 900

// SetupWithManager adds the reconciler to the manager.
func SetupWithManager(mgr ctrl.Manager, cat catalog.Catalog, opts shared.UsedOptions) error {
	kind := shared.UsedKind[*v1alpha1.Plugin]{
		Name:      v1alpha1.KindPlugin,
		New:       func() *v1alpha1.Plugin { return &v1alpha1.Plugin{} },
		Status:    status,
		Users:     users,
		Check:     func(p *v1alpha1.Plugin) *shared.Summary { return check(cat, p) },
		PluginID:  func(p *v1alpha1.Plugin) string { return instanceID(cat, p) },
		Finalizer: true,
	}
	declared := func(ctx context.Context, in *v1alpha1.AgentInstance) []string {
		names := shared.PluginNames(in)
		selected, err := shared.SelectedPlugins(ctx, opts.Cache, in, compose.MaxPlugins)
		if err != nil { // only before the cache has synced, and then every Plugin is looked at anyway
			return names
		}
		for i := range selected {
			names = append(names, selected[i].Name)
		}
		return names
	}
	return shared.NewUsedReconciler(kind, opts).SetupWithManager(mgr, declared)
}

func status(p *v1alpha1.Plugin) shared.StatusFields {
	s := &p.Status
	return shared.StatusFields{
		Conditions: &s.Conditions, ObservedGeneration: &s.ObservedGeneration, Usage: &s.Usage, State: &s.State,
		Revisions: &shared.RevisionFields{
			Current: &s.CurrentRevision, Updated: &s.UpdatedRevision, Rollout: &s.Rollout, Spec: p.Spec.Rollout,
		},
	}
}

func users(ctx context.Context, cache client.Reader, p *v1alpha1.Plugin) ([]v1alpha1.AgentInstance, error) {
	return shared.PluginUsers(ctx, cache, p)
}

// instanceID is the id that a Plugin has in kernels; empty for a module that the catalog does not have.
func instanceID(cat catalog.Catalog, p *v1alpha1.Plugin) string {
	module, ok := cat.Lookup(p.Spec.Module)
	switch {
	case !ok:
		return ""
	case module.Reusable:
		return module.Name + ":" + p.Name
	}
	return module.Name
}

// check composes a bot that has nothing but the Plugin, so that a mistake shows on the Plugin even before a bot uses it.
func check(cat catalog.Catalog, p *v1alpha1.Plugin) *shared.Summary {
	if !p.DeletionTimestamp.IsZero() {
		return nil
	}
	result := compose.Compose(compose.Input{
		Instance: &v1alpha1.AgentInstance{
			ObjectMeta: metav1.ObjectMeta{Name: "check", Namespace: p.Namespace},
			Spec:       v1alpha1.AgentInstanceSpec{Plugins: []v1alpha1.InstancePlugin{{Name: p.Name}}},
		},
		Plugins: []v1alpha1.Plugin{*p},
		Catalog: cat,
	})
	var own []compose.Problem
	for _, problem := range result.Problems {
		if problem.Object == "Plugin "+p.Name && problem.Severity != compose.SeverityInfo {
			own = append(own, problem)
		}
	}
	if len(own) == 0 {
		return nil
	}
	return &shared.Summary{
		Ready: metav1.ConditionFalse, Progress: shared.Stuck, Reason: own[0].Reason, Message: compose.Summary(own, maxSummary),
	}
}
