// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// Modules describes every module of a catalog: what it does, needs and provides, and each key of its config.
func Modules(c catalog.Catalog) string {
	var b strings.Builder
	b.WriteString(generated)
	b.WriteString("# Modules\n\n")
	b.WriteString("What the runtime image ships. A bot lists modules in `spec.plugins`, by the short or the full name; what is on by " +
		"default needs no entry.\n\n")
	modules := slices.Clone(c.Modules)
	slices.SortFunc(modules, func(a, b catalog.Module) int { return strings.Compare(a.Name, b.Name) })
	overview := table{header: []string{"Module", "What it does", "On by default", "Stability"}}
	for _, m := range modules {
		on := ""
		if m.OnByDefault {
			on = "yes"
		}
		overview.add(fmt.Sprintf("[%s](#%s)", title(m), anchor(title(m))), prose(m.Summary), on, prose(m.Stability))
	}
	overview.write(&b)
	for _, m := range modules {
		writeModule(&b, m)
	}
	return b.String()
}

// title is the name by which a module is listed.
func title(m catalog.Module) string {
	if m.ShortName != "" {
		return m.ShortName
	}
	return m.Name
}

// anchor is the fragment that Markdown renderers give a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == ' ':
			return '-'
		default:
			return -1
		}
	}, heading)
}

func writeModule(b *strings.Builder, m catalog.Module) {
	fmt.Fprintf(b, "\n## %s\n\n", title(m))
	if m.DisplayName != "" {
		b.WriteString(prose(m.DisplayName) + ": ")
	}
	b.WriteString(prose(m.Summary) + "\n\n")
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "- %s: %s\n", name, value)
		}
	}
	line("Full name", code(m.Name))
	line("Provides", codes(m.Provides))
	line("May provide", codes(m.MayProvide))
	line("Needs", codes(m.Required))
	line("Uses when there", codes(m.Optional))
	line("Permissions", strings.Join(m.Permissions, ", "))
	line("On by default", map[bool]string{true: "yes", false: "no"}[m.OnByDefault])
	if m.Core {
		line("Core", "yes, cannot be turned off")
	}
	if m.Reusable {
		line("Reusable", "yes, a bot may run it several times, each from a Plugin object")
	}
	if m.RequiresBounceOnDepChange {
		line("Starts anew", "when a service that it uses goes away or is replaced")
	}
	if len(m.Config.Fields) == 0 {
		return
	}
	b.WriteString("\n")
	config := table{header: []string{"Config", "Type", "Required", "Default", "Bounds", "Description"}}
	for _, f := range m.Config.Fields {
		addConfig(&config, f.Name, f)
	}
	config.write(b)
}

// addConfig adds a field and what is inside it.
func addConfig(t *table, path string, f schema.Field) {
	must := ""
	if f.Required {
		must = "yes"
	}
	t.add(code(path), configType(f), must, configDefault(f), configBounds(f), configText(f))
	for _, inner := range f.Fields {
		addConfig(t, path+"."+inner.Name, inner)
	}
	if f.Items == nil {
		return
	}
	into := "[]"
	if f.Type == schema.Map {
		into = "{}"
	}
	for _, inner := range f.Items.Fields {
		addConfig(t, path+into+"."+inner.Name, inner)
	}
}

func configType(f schema.Field) string {
	name := string(f.Type)
	if f.Items != nil {
		switch f.Type {
		case schema.Array:
			name = "list of " + configType(*f.Items)
		case schema.Map:
			name = "map of " + configType(*f.Items)
		}
	}
	if f.Secret {
		name += ", from a Secret"
	}
	return name
}

func configDefault(f schema.Field) string {
	if !f.HasDefault || f.Type == schema.ObjectType {
		return ""
	}
	data, err := json.Marshal(f.Default)
	if err != nil {
		// A catalog is decoded from JSON, so that this cannot be; what it is is said rather than hidden.
		return prose(err.Error())
	}
	return code(string(data))
}

func configBounds(f schema.Field) string {
	var out []string
	add := func(text string) {
		if text != "" {
			out = append(out, text)
		}
	}
	values := make([]string, len(f.Options))
	for i, o := range f.Options {
		values[i] = o.Value
	}
	add(codes(values))
	if f.AllowCustom {
		add("or any other")
	}
	add(span(number(f.Min), number(f.Max), ""))
	if f.MaxLength != nil {
		add(span("", fmt.Sprint(*f.MaxLength), "characters"))
	}
	if f.Pattern != "" {
		add("matches " + code(f.Pattern))
	}
	return strings.Join(out, "; ")
}

// configText is the description, after the label where it says more than the name.
func configText(f schema.Field) string {
	text := prose(f.Description)
	if f.Label == "" {
		return text
	}
	if text == "" {
		return prose(f.Label) + "."
	}
	return prose(f.Label) + ". " + text
}
