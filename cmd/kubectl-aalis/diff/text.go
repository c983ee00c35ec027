// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// contextLines is how many unchanged lines are shown around a change.
const contextLines = 3

// texts compares the personas of two configs, one by one, and the rest as a whole.
func texts(before, after kernelconfig.Config) []Text {
	was, will := cards(before), cards(after)
	var out []Text
	for _, source := range slices.Sorted(maps.Keys(union(was, will))) {
		if d := unified(was[source], will[source]); d != "" {
			out = append(out, Text{Title: "persona " + source, Diff: d})
		}
	}
	if d := unified(configText(before), configText(after)); d != "" {
		out = append(out, Text{Title: "config", Diff: d})
	}
	return out
}

func union(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func unified(before, after string) string {
	if before == after {
		return ""
	}
	// Writing to memory does not fail.
	d, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: lines(before), B: lines(after), Context: contextLines})
	if err != nil {
		return err.Error()
	}
	return d
}

// lines keeps the line breaks. A last line without one gets it: these texts are made here.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return difflib.SplitLines(strings.TrimSuffix(text, "\n"))
}

// cards are the texts of the personas, by source.
func cards(c kernelconfig.Config) map[string]string {
	out := map[string]string{}
	if c.Persona != nil {
		out[c.Persona.Source] = personaText(*c.Persona)
	}
	for _, p := range c.Personas {
		out[p.Source] = personaText(p)
	}
	return out
}

// personaText shows a card so that a changed line of its prompt is one changed line here.
func personaText(p kernelconfig.Persona) string {
	var b strings.Builder
	field := func(name, value string) {
		switch {
		case value == "":
		case strings.Contains(value, "\n"):
			b.WriteString(name + ":\n")
			for line := range strings.Lines(value) {
				b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
			}
		default:
			b.WriteString(name + ": " + value + "\n")
		}
	}
	field("name", p.Name)
	field("description", p.Description)
	field("traits", strings.Join(p.Traits, ", "))
	field("nickNames", strings.Join(p.NickNames, ", "))
	field("greeting", p.Greeting)
	field("prompt", p.Prompt)
	if p.ClientSideJSONRendering {
		field("rendering", "Client")
	}
	if p.Skills != nil {
		field("skills", "only "+cmp.Or(strings.Join(p.Skills, ", "), "none"))
	}
	if f := p.OutputFormat; f != nil {
		field("outputFormat.prompt", f.Prompt)
		if f.Retries != nil {
			field("outputFormat.retries", strconv.Itoa(int(*f.Retries)))
		}
		for _, o := range f.Fields {
			text := cmp.Or(o.Type, "string")
			if o.Reply {
				text += ", reply"
			}
			field("outputFormat."+o.Name, strings.TrimSpace(text+" "+o.Description))
		}
	}
	return b.String()
}

// configText is a config without its personas, of which only the names stay. Secrets stand in a config by name only.
func configText(c kernelconfig.Config) string {
	if c.Format == "" {
		return ""
	}
	names := make([]string, 0, len(c.Personas))
	for _, p := range c.Personas {
		names = append(names, p.Source)
	}
	shown := map[string]any{}
	persona := ""
	if c.Persona != nil {
		persona = c.Persona.Source
	}
	c.Persona, c.Personas = nil, nil
	encoded, err := c.Encode()
	if err == nil {
		err = json.Unmarshal(encoded, &shown)
	}
	if err != nil {
		return err.Error()
	}
	if persona != "" {
		shown["persona"] = persona
	}
	if len(names) > 0 {
		shown["personas"] = names
	}
	return yamlText(shown)
}

func pluginText(p kernelconfig.Plugin) string { return yamlText(p) }

func yamlText(v any) string {
	data, err := yaml.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
