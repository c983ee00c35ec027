// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"context"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// gather collects, from the cache, everything that a bot is composed from. What it lists shares memory with the cache:
// composing does not change its input.
func (r *Reconciler) gather(ctx context.Context, instance *v1alpha1.AgentInstance) (*pass, error) {
	in := compose.Input{Instance: instance, Catalog: r.Catalog}
	slots, inputs, err := r.readDelivered(ctx, instance)
	if err != nil {
		return nil, err
	}
	if err := r.gatherPlugins(ctx, &in); err != nil {
		return nil, err
	}
	if err := r.gatherPersonas(ctx, &in); err != nil {
		return nil, err
	}
	if err := r.gatherRevisions(ctx, &in, readInEffect(inputs).current(instance, slots)); err != nil {
		return nil, err
	}
	namespace := client.InNamespace(instance.Namespace)
	var preferences v1alpha1.ServicePreferenceList
	if err := r.Cache.List(ctx, &preferences, namespace, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ServicePreferences: %w", err)
	}
	for i := range preferences.Items {
		if shared.Selects(preferences.Items[i].Spec.Selector, instance.Labels) {
			in.ServicePreferences = append(in.ServicePreferences, preferences.Items[i])
		}
	}
	var policies v1alpha1.AuthorityPolicyList
	if err := r.Cache.List(ctx, &policies, namespace, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing AuthorityPolicies: %w", err)
	}
	for i := range policies.Items {
		if shared.Selects(policies.Items[i].Spec.Selector, instance.Labels) {
			in.AuthorityPolicies = append(in.AuthorityPolicies, policies.Items[i])
		}
	}
	var tenant v1alpha1.TenantPolicyList
	if err := r.Cache.List(ctx, &tenant, namespace, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing TenantPolicies: %w", err)
	}
	in.TenantPolicies = tenant.Items
	options := r.Render
	servers, err := r.apiServers(ctx)
	if err != nil {
		return nil, err
	}
	options.APIServers = servers
	return &pass{
		instance: instance, input: in, options: options, delivered: slots, inputs: inputs,
		catalogHash: r.catalogHash, onDelivery: r.Metrics.Delivered, now: r.Now(),
	}, nil
}

func (r *Reconciler) gatherPlugins(ctx context.Context, in *compose.Input) error {
	for _, name := range shared.PluginNames(in.Instance) {
		var plugin v1alpha1.Plugin
		err := r.Cache.Get(ctx, types.NamespacedName{Namespace: in.Instance.Namespace, Name: name}, &plugin)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("reading Plugin %s: %w", name, err)
		default:
			in.Plugins = append(in.Plugins, plugin)
		}
	}
	// One more than there may be, so that composing says that there are too many.
	selected, err := shared.SelectedPlugins(ctx, r.Cache, in.Instance, compose.MaxPlugins+1)
	in.Plugins = append(in.Plugins, selected...)
	return err
}

// gatherPersonas takes the Personas that the instance refers to. Only if one is not there all are listed, so that the
// message can say what there is.
func (r *Reconciler) gatherPersonas(ctx context.Context, in *compose.Input) error {
	for _, name := range shared.PersonaNames(in.Instance) {
		var persona v1alpha1.Persona
		err := r.Cache.Get(ctx, types.NamespacedName{Namespace: in.Instance.Namespace, Name: name}, &persona)
		switch {
		case err == nil:
			in.Personas = append(in.Personas, persona)
			continue
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("reading Persona %s: %w", name, err)
		}
		var list v1alpha1.PersonaList
		if err := r.Cache.List(ctx, &list, client.InNamespace(in.Instance.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing Personas: %w", err)
		}
		in.Personas = list.Items
		return nil
	}
	return nil
}

// The EndpointSlices of the API server.
const (
	apiServerNamespace = "default"
	apiServerService   = "kubernetes"
)

// isAPIServerSlice tells whether a slice holds addresses of the API server.
func isAPIServerSlice(slice *discoveryv1.EndpointSlice) bool {
	return slice.Namespace == apiServerNamespace && slice.Labels[discoveryv1.LabelServiceName] == apiServerService
}
