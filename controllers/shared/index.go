// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// The field indexes of AgentInstances in the cache.
const (
	// IndexPlugin indexes by the names of the Plugin objects that spec.plugins refers to.
	IndexPlugin = "spec.plugins.name"
	// IndexPersona indexes by the names of the Personas that spec.personaRef and spec.personas refer to.
	IndexPersona = "spec.personas.name"
	// IndexSelects finds, by the value Selecting, those that select Plugins by labels.
	IndexSelects = "spec.pluginSelector"
	// Selecting is the only value of IndexSelects.
	Selecting = "true"
)

// SetupIndexes adds the indexes to the cache. It is called once, before the cache starts.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for field, keys := range map[string]func(*v1alpha1.AgentInstance) []string{
		IndexPlugin:  PluginNames,
		IndexPersona: PersonaNames,
		IndexSelects: func(in *v1alpha1.AgentInstance) []string {
			if in.Spec.PluginSelector == nil {
				return nil
			}
			return []string{Selecting}
		},
	} {
		err := indexer.IndexField(ctx, &v1alpha1.AgentInstance{}, field, func(o client.Object) []string {
			in, ok := o.(*v1alpha1.AgentInstance)
			if !ok {
				return nil
			}
			return keys(in)
		})
		if err != nil {
			return fmt.Errorf("indexing AgentInstances by %s: %w", field, err)
		}
	}
	return nil
}

// PluginNames lists the Plugin objects that an instance refers to: its entries without a module.
func PluginNames(in *v1alpha1.AgentInstance) []string {
	var names []string
	for _, p := range in.Spec.Plugins {
		if p.Module == "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// PersonaNames lists the Personas that an instance refers to, each once.
func PersonaNames(in *v1alpha1.AgentInstance) []string {
	var names []string
	if in.Spec.PersonaRef != nil {
		names = append(names, in.Spec.PersonaRef.Name)
	}
	for _, p := range in.Spec.Personas {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// InstancesByIndex lists the instances of a namespace that refer to the name. The result shares memory with the cache
// and must not be changed.
func InstancesByIndex(ctx context.Context, r client.Reader, namespace, index, name string) ([]v1alpha1.AgentInstance, error) {
	var list v1alpha1.AgentInstanceList
	err := r.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{index: name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing AgentInstances by %s=%s: %w", index, name, err)
	}
	return list.Items, nil
}

// InstancesBySelector lists the instances of a namespace that a selector selects. A selector that cannot be read
// selects none and is an error. The result shares memory with the cache and must not be changed.
func InstancesBySelector(ctx context.Context, r client.Reader, namespace string, selector *metav1.LabelSelector) ([]v1alpha1.AgentInstance, error) {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector: %w", err)
	}
	var list v1alpha1.AgentInstanceList
	err = r.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: parsed}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing AgentInstances by labels: %w", err)
	}
	return list.Items, nil
}

// Selects tells whether a selector selects an object with the labels. One that cannot be read selects nothing.
func Selects(selector *metav1.LabelSelector, set map[string]string) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(set))
}
