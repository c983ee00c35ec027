// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// FieldManager owns the pins that this command sets. Others' pins are theirs.
const FieldManager = "kubectl-aalis-rollback"

// Pin holds one source at one revision.
type Pin struct {
	Source `json:",inline"`
	// Revision of the source that the bot is to use.
	Revision int64 `json:"revision"`
	// OverRevision was the newest one when the pin was set: once there is a newer one the pin lapses. 0 never lapses.
	OverRevision int64 `json:"overRevision,omitempty"`
	// Ours says whether this command set it.
	Ours bool `json:"ours"`
}

func (p Pin) holds(newest int64) bool { return p.OverRevision == 0 || p.OverRevision >= newest }

// Pins reads the pins of a bot.
func Pins(ctx context.Context, c client.Client, namespace, name string) ([]Pin, error) {
	bot := newBot(namespace, name)
	if err := c.Get(ctx, client.ObjectKeyFromObject(bot), bot); err != nil {
		return nil, fmt.Errorf("reading the pins of AgentInstance %s/%s: %w", namespace, name, err)
	}
	items, _, err := unstructured.NestedSlice(bot.Object, "spec", "pin")
	if err != nil {
		return nil, fmt.Errorf("reading the pins of AgentInstance %s/%s: %w", namespace, name, err)
	}
	ours := ownedPins(bot.GetManagedFields())
	out := make([]Pin, 0, len(items))
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		var p Pin
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &p); err != nil {
			return nil, fmt.Errorf("reading a pin of AgentInstance %s/%s: %w", namespace, name, err)
		}
		p.Ours = slices.Contains(ours, p.Source)
		out = append(out, p)
	}
	return out, nil
}

// With gives the pins with one set, or set anew.
func With(pins []Pin, pin Pin) []Pin {
	pin.Ours = true
	return append(Without(pins, &pin.Source), pin)
}

// Without gives the pins without that of a source, or without all that are this command's if source is nil.
func Without(pins []Pin, source *Source) []Pin {
	return slices.DeleteFunc(slices.Clone(pins), func(p Pin) bool {
		return p.Ours && source == nil || source != nil && p.Source == *source
	})
}

// Apply makes the pins of this command those that are Ours; the others stay as they are. With dryRun the server only
// checks it. The bot's UID goes with it, so that one that was deleted meanwhile is not made anew.
func Apply(ctx context.Context, c client.Client, in *v1alpha1.AgentInstance, pins []Pin, dryRun bool) error {
	items := []any{}
	for _, p := range pins {
		if !p.Ours {
			continue
		}
		item := map[string]any{"kind": p.Kind, "name": p.Name, "revision": p.Revision}
		if p.OverRevision != 0 {
			item["overRevision"] = p.OverRevision
		}
		items = append(items, item)
	}
	bot := newBot(in.Namespace, in.Name)
	bot.SetUID(in.UID)
	if len(items) > 0 {
		bot.Object["spec"] = map[string]any{"pin": items}
	}
	options := []client.ApplyOption{client.FieldOwner(FieldManager), client.ForceOwnership}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(bot), options...); err != nil {
		return fmt.Errorf("writing spec.pin of AgentInstance %s/%s: %w", in.Namespace, in.Name, err)
	}
	return nil
}

func newBot(namespace, name string) *unstructured.Unstructured {
	bot := &unstructured.Unstructured{Object: map[string]any{}}
	bot.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindAgentInstance))
	bot.SetNamespace(namespace)
	bot.SetName(name)
	return bot
}

// ownedPins lists the pins that this command's field manager owns.
func ownedPins(managed []metav1.ManagedFieldsEntry) []Source {
	var out []Source
	for _, m := range managed {
		var fields struct {
			Spec struct {
				Pin map[string]json.RawMessage `json:"f:pin"`
			} `json:"f:spec"`
		}
		if m.Manager != FieldManager || m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		for key := range fields.Spec.Pin {
			var source Source
			if text, ok := strings.CutPrefix(key, "k:"); ok && json.Unmarshal([]byte(text), &source) == nil {
				out = append(out, source)
			}
		}
	}
	return out
}
