// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

const (
	llmService    = "llm"
	memoryService = "memory"
)

// selector selects this bot alone.
func (c *converter) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{botLabel: c.bot.Name}}
}

// preferences turns servicePreferences, a map from service to the entry that is preferred, into objects.
func (c *converter) preferences() {
	entries, ok := c.config[keyPreferences].(map[string]any)
	if !ok && c.config[keyPreferences] != nil {
		c.note(keyPreferences, "must be a map from service to provider; left out")
	}
	for _, service := range slices.Sorted(maps.Keys(entries)) {
		path := keyPreferences + "." + service
		if service == memoryService {
			c.note(path, "spec.storage decides which memory backend runs; left out")
			continue
		}
		var prefer []v1alpha1.ProviderReference
		for _, id := range texts(entries[service]) {
			if ref, ok := c.provider(path, service, id); ok {
				prefer = append(prefer, ref)
			}
		}
		if len(prefer) == 0 {
			c.note(path, "names no provider that this bot has; left out")
			continue
		}
		name := c.take(v1alpha1.KindServicePreference, slug(c.bot.Name+"-"+service, "preference", maxLabel))
		c.out.ServicePreferences = append(c.out.ServicePreferences, v1alpha1.ServicePreference{
			TypeMeta: typeMeta(v1alpha1.KindServicePreference), ObjectMeta: c.meta(name),
			Spec: v1alpha1.ServicePreferenceSpec{Service: service, Selector: c.selector(), Prefer: prefer},
		})
	}
}

// texts is a text, or a list of them.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, item := range v {
			if text, ok := item.(string); ok {
				out = append(out, text)
			}
		}
		return out
	}
	return nil
}

// provider finds the plugin of a preferred entry: its id, or for a model its id, a slash and the model's id. Both may hold
// slashes, so that the longest id that fits counts.
func (c *converter) provider(path, service, entry string) (v1alpha1.ProviderReference, bool) {
	for end := len(entry); end > 0; end = strings.LastIndex(entry[:end], "/") {
		name, ok := c.byID(entry[:end])
		if !ok {
			continue
		}
		ref := v1alpha1.ProviderReference{Plugin: name}
		if end < len(entry) {
			ref.ID = entry[end+1:]
		}
		if ref.ID != "" && service != llmService {
			c.note(path, "%q names an entry of a plugin, and only models may be named so; the plugin is preferred as a whole", entry)
			ref.ID = ""
		}
		return ref, true
	}
	c.note(path, "there is no plugin for %q; left out", entry)
	return v1alpha1.ProviderReference{}, false
}
