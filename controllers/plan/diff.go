// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// Effect is what a change means for a bot that runs.
type Effect string

// The effects, the mildest first.
const (
	// None: nothing changes.
	None Effect = "None"
	// Reload: the running kernel takes the change over; conversations go on.
	Reload Effect = "Reload"
	// Restart: the pod is replaced.
	Restart Effect = "Restart"
)

// Target is a bot as it is, or as it should be.
type Target struct {
	// Config is the composed config.
	Config kernelconfig.Config
	// Spec is the spec of the AgentInstance.
	Spec v1alpha1.AgentInstanceSpec
	// Image that runs; empty stands for Spec.Image.
	Image string
	// Catalog of that image, for the ports that modules serve by default.
	Catalog catalog.Catalog
}

// Reason is one thing that changes.
type Reason struct {
	Effect Effect
	// Text names what changes, as "persona" or "mounted Secret keys: +llm/api-key".
	Text string
}

// Change is the difference between two targets.
type Change struct {
	// Effect is the gravest of the reasons' effects.
	Effect Effect
	// Reasons lists what changes, the restarts first.
	Reasons []Reason
}

// String is the change in one line: "Restart: image; Reload: persona, plugin X".
func (c Change) String() string {
	if len(c.Reasons) == 0 {
		return string(c.Effect)
	}
	var b strings.Builder
	effect := None
	for _, r := range c.Reasons {
		switch {
		case r.Effect == effect:
			b.WriteString(", ")
		case b.Len() > 0:
			b.WriteString("; " + string(r.Effect) + ": ")
		default:
			b.WriteString(string(r.Effect) + ": ")
		}
		effect = r.Effect
		b.WriteString(r.Text)
	}
	return b.String()
}

// Diff says what going from one target to another means. A new pod is needed for another image, other resources, storage,
// drain timeout (which bounds the pod's own end), run state, ports or set of mounted Secret keys; everything else is taken
// over by the running kernel, or is not the pod's business.
func Diff(before, after Target) Change {
	d := &differ{}
	d.spec(before, after)
	d.secrets(before.Config.MountedSecrets(), after.Config.MountedSecrets())
	if a, b := ports(before), ports(after); !slices.Equal(a, b) {
		d.add(Restart, fmt.Sprintf("ports: %s to %s", portList(a), portList(b)))
	}
	d.config(before.Config, after.Config)
	out := Change{Effect: None, Reasons: d.reasons}
	for _, r := range d.reasons {
		if out.Effect != Restart {
			out.Effect = r.Effect
		}
	}
	slices.SortStableFunc(out.Reasons, func(a, b Reason) int { return -strings.Compare(string(a.Effect), string(b.Effect)) })
	return out
}

type differ struct{ reasons []Reason }

func (d *differ) add(e Effect, text string) {
	d.reasons = append(d.reasons, Reason{Effect: e, Text: text})
}

// check adds a reason if two values differ.
func (d *differ) check(e Effect, text string, before, after any) {
	if !equality.Semantic.DeepEqual(before, after) {
		d.add(e, text)
	}
}

func (d *differ) spec(before, after Target) {
	a, b := before.Spec, after.Spec
	d.check(Restart, "image", cmp.Or(before.Image, a.Image), cmp.Or(after.Image, b.Image))
	d.check(Restart, "resources", a.Resources, b.Resources)
	d.check(Restart, "pod template", a.PodTemplate, b.PodTemplate)
	d.check(Restart, "storage", storage(a), storage(b))
	d.check(Restart, "run state", cmp.Or(a.State, v1alpha1.DesiredStateRunning), cmp.Or(b.State, v1alpha1.DesiredStateRunning))
	d.check(Restart, "drain timeout", before.Config.DrainTimeoutSeconds, after.Config.DrainTimeoutSeconds)
	d.check(Reload, "network rules", a.Network, b.Network)
}

func storage(s v1alpha1.AgentInstanceSpec) v1alpha1.StorageSpec {
	out := v1alpha1.StorageSpec{}
	if s.Storage != nil {
		out = *s.Storage
	}
	out.Type = cmp.Or(out.Type, v1alpha1.StorageMemory)
	if out.Type == v1alpha1.StorageSQLite {
		if out.Size == nil {
			size := resource.MustParse(v1alpha1.DefaultStorageSize)
			out.Size = &size
		}
		out.Retention = "" // changes in place
	}
	return out
}

func (d *differ) secrets(before, after []kernelconfig.SecretKey) {
	var parts []string
	for _, k := range after {
		if !slices.Contains(before, k) {
			parts = append(parts, "+"+k.Name+"/"+k.Key)
		}
	}
	for _, k := range before {
		if !slices.Contains(after, k) {
			parts = append(parts, "-"+k.Name+"/"+k.Key)
		}
	}
	if len(parts) > 0 {
		d.add(Restart, "mounted Secret keys: "+strings.Join(parts, " "))
	}
}

// config compares what the kernel itself takes over.
func (d *differ) config(before, after kernelconfig.Config) {
	d.check(Reload, "log level", before.LogLevel, after.LogLevel)
	d.check(Reload, "language", before.Language, after.Language)
	d.check(Reload, "model", before.Model, after.Model)
	d.check(Reload, "budgets", before.Budgets, after.Budgets)
	d.check(Reload, "persona", before.Persona, after.Persona)
	d.check(Reload, "further personas", before.Personas, after.Personas)
	d.check(Reload, "authority", before.Authority, after.Authority)
	d.check(Reload, "preferences", before.Preferences, after.Preferences)
	old := make(map[string]kernelconfig.Plugin, len(before.Plugins))
	for _, p := range before.Plugins {
		old[p.ID] = p
	}
	for _, p := range after.Plugins {
		was, there := old[p.ID]
		delete(old, p.ID)
		switch {
		case !there:
			d.add(Reload, "plugin "+p.ID+" added")
		case was.Disabled != p.Disabled && p.Disabled:
			d.add(Reload, "plugin "+p.ID+" disabled")
		case was.Disabled != p.Disabled:
			d.add(Reload, "plugin "+p.ID+" enabled")
		default:
			d.check(Reload, "plugin "+p.ID, was, p)
		}
	}
	for _, p := range before.Plugins {
		if _, gone := old[p.ID]; gone {
			d.add(Reload, "plugin "+p.ID+" removed")
		}
	}
}

// portField is the config field by which a module says on which port it serves.
const portField = "port"

// ports lists the ports that the enabled plugins serve, by config or by default, sorted.
func ports(t Target) []string {
	var out []string
	for _, p := range t.Config.Plugins {
		m, _ := t.Catalog.Lookup(p.Module)
		field, ok := m.Config.Field(portField)
		if !ok || field.Type != schema.Integer || p.Disabled {
			continue
		}
		port := p.Config[portField]
		if port == nil {
			port = field.Default
		}
		if text := fmt.Sprint(port); port != nil && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

func portList(ports []string) string {
	if len(ports) == 0 {
		return "none"
	}
	return strings.Join(ports, ", ")
}
