// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// PluginUsers lists the bots that list a Plugin by its name, select it by its labels, or are still composed of it although they do
// neither any more. The result shares memory with the cache and must not be changed.
func PluginUsers(ctx context.Context, r client.Reader, p *v1alpha1.Plugin) ([]v1alpha1.AgentInstance, error) {
	named, err := InstancesByIndex(ctx, r, p.Namespace, IndexPlugin, p.Name)
	if err != nil {
		return nil, err
	}
	selecting, err := InstancesByIndex(ctx, r, p.Namespace, IndexSelects, Selecting)
	if err != nil {
		return nil, err
	}
	for i := range selecting {
		in := &selecting[i]
		used := Selects(in.Spec.PluginSelector, p.Labels) && !lists(in, p.Name) || composedOf(in, v1alpha1.KindPlugin, p.Name)
		if used && !slices.ContainsFunc(named, func(o v1alpha1.AgentInstance) bool { return o.Name == in.Name }) {
			named = append(slices.Clip(named), *in)
		}
	}
	return named, nil
}

// lists tells whether spec.plugins has an entry of the name, which goes before the selector.
func lists(in *v1alpha1.AgentInstance, name string) bool {
	return slices.ContainsFunc(in.Spec.Plugins, func(p v1alpha1.InstancePlugin) bool { return p.Name == name })
}

func composedOf(in *v1alpha1.AgentInstance, kind, name string) bool {
	return slices.ContainsFunc(in.Status.Inputs, func(i v1alpha1.InputStatus) bool { return i.Kind == kind && i.Name == name })
}

// SelectedPlugins lists the Plugins that a bot selects by labels, at most a number of them: a bot with more is refused anyway. The
// result shares memory with the cache and must not be changed.
func SelectedPlugins(ctx context.Context, r client.Reader, in *v1alpha1.AgentInstance, most int) ([]v1alpha1.Plugin, error) {
	if in.Spec.PluginSelector == nil {
		return nil, nil
	}
	var list v1alpha1.PluginList
	if err := r.List(ctx, &list, client.InNamespace(in.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Plugins: %w", err)
	}
	var out []v1alpha1.Plugin
	for i := range list.Items {
		if p := &list.Items[i]; len(out) < most && p.DeletionTimestamp.IsZero() && !lists(in, p.Name) && Selects(in.Spec.PluginSelector, p.Labels) {
			out = append(out, *p)
		}
	}
	return out, nil
}
