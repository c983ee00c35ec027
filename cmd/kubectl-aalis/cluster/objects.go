// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
)

// Objects are the declared objects of one namespace, or of one set of files.
type Objects struct {
	Instances          []v1alpha1.AgentInstance
	Plugins            []v1alpha1.Plugin
	Personas           []v1alpha1.Persona
	ServicePreferences []v1alpha1.ServicePreference
	AuthorityPolicies  []v1alpha1.AuthorityPolicy
	TenantPolicies     []v1alpha1.TenantPolicy
}

// Input is what one bot is composed from, without the catalog.
func (o Objects) Input(instance *v1alpha1.AgentInstance) compose.Input {
	return compose.Input{
		Instance: instance, Plugins: o.Plugins, Personas: o.Personas,
		ServicePreferences: o.ServicePreferences, AuthorityPolicies: o.AuthorityPolicies,
		TenantPolicies: o.TenantPolicies,
	}
}

// Gather lists the declared objects of a namespace.
func Gather(ctx context.Context, c client.Client, namespace string) (Objects, error) {
	var (
		instances   v1alpha1.AgentInstanceList
		plugins     v1alpha1.PluginList
		personas    v1alpha1.PersonaList
		preferences v1alpha1.ServicePreferenceList
		policies    v1alpha1.AuthorityPolicyList
	)
	for what, list := range map[string]client.ObjectList{
		"AgentInstances": &instances, "Plugins": &plugins, "Personas": &personas,
		"ServicePreferences": &preferences, "AuthorityPolicies": &policies,
	} {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return Objects{}, fmt.Errorf("listing %s in namespace %s: %w", what, namespace, err)
		}
	}
	// Ordinary users may not read what is above them; what they are refused by then shows in the status of the bot.
	var tenant v1alpha1.TenantPolicyList
	if err := c.List(ctx, &tenant, client.InNamespace(namespace)); err != nil && !apierrors.IsForbidden(err) {
		return Objects{}, fmt.Errorf("listing TenantPolicies in namespace %s: %w", namespace, err)
	}
	return Objects{
		TenantPolicies: tenant.Items, Instances: instances.Items, Plugins: plugins.Items, Personas: personas.Items,
		ServicePreferences: preferences.Items, AuthorityPolicies: policies.Items,
	}, nil
}

// Bot reads an AgentInstance. Its error says, if there is none of the name, which there are.
func Bot(ctx context.Context, c client.Client, namespace, name string) (*v1alpha1.AgentInstance, error) {
	bot := &v1alpha1.AgentInstance{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, bot)
	if err == nil {
		return bot, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading AgentInstance %s/%s: %w", namespace, name, err)
	}
	names, listErr := Names(ctx, c, namespace)
	switch {
	case listErr != nil:
		return nil, fmt.Errorf("there is no AgentInstance %q in namespace %q", name, namespace)
	case len(names) == 0:
		return nil, fmt.Errorf("there is no AgentInstance %q in namespace %q, which has none; is it the right namespace?", name, namespace)
	}
	return nil, fmt.Errorf("there is no AgentInstance %q in namespace %q; there is %s", name, namespace, few(names))
}

// Names lists the bots of a namespace.
func Names(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	var list v1alpha1.AgentInstanceList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing AgentInstances in namespace %s: %w", namespace, err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// few joins names, the first ten of many.
func few(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Add appends other objects.
func (o *Objects) Add(other Objects) {
	o.Instances = append(o.Instances, other.Instances...)
	o.Plugins = append(o.Plugins, other.Plugins...)
	o.Personas = append(o.Personas, other.Personas...)
	o.ServicePreferences = append(o.ServicePreferences, other.ServicePreferences...)
	o.AuthorityPolicies = append(o.AuthorityPolicies, other.AuthorityPolicies...)
	o.TenantPolicies = append(o.TenantPolicies, other.TenantPolicies...)
}
