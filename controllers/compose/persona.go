// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// Bounds of a Persona's output format, the same that admission checks.
const (
	maxOutputFields  = 32
	maxOutputRetries = 10
)

// composePersonas takes the cards of the Persona that the bot speaks as and of those that a conversation may choose. One
// that is being deleted stays.
func (c *composer) composePersonas() {
	spec := c.instance.Spec
	if spec.PersonaRef != nil {
		c.config.Persona = c.persona("spec.personaRef.name", "personaRef names", spec.PersonaRef.Name)
	}
	seen := map[string]bool{}
	for _, ref := range spec.Personas {
		path := "spec.personas[" + ref.Name + "]"
		if seen[ref.Name] {
			c.bad(v1alpha1.ReasonInvalidSpec, path, "may not be listed twice")
			continue
		}
		seen[ref.Name] = true
		if spec.PersonaRef != nil && spec.PersonaRef.Name == ref.Name {
			continue
		}
		if card := c.persona(path+".name", "personas name", ref.Name); card != nil {
			c.config.Personas = append(c.config.Personas, *card)
		}
	}
	slices.SortFunc(c.config.Personas, func(a, b kernelconfig.Persona) int { return strings.Compare(a.Source, b.Source) })
}

// persona makes the card of the Persona that a field of the instance names, or says why it cannot.
func (c *composer) persona(path, until, name string) *kernelconfig.Persona {
	var found []v1alpha1.Persona
	var names []string
	for _, p := range c.in.Personas {
		if namespaceOf(p.Namespace) != c.namespace {
			continue
		}
		names = append(names, p.Name)
		if p.Name == name {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		c.bad(v1alpha1.ReasonPersonaNotFound, path, "%s", unknown("namespace "+c.namespace+" has no Persona", name, names))
		return nil
	case 1:
	default:
		c.twice("Persona", name)
		return nil
	}
	p, revision, ok := c.revisedPersona(found[0])
	if !ok {
		return nil
	}
	object := "Persona " + p.Name
	c.useRevision("Persona", p.Name, p.Generation, revision)
	if p.DeletionTimestamp != nil {
		c.at(SeverityInfo, v1alpha1.ReasonDeleting, object, "", "is being deleted and stays in effect for this bot until %s another", until)
	}
	if !c.checkPersona(object, p.Spec) {
		return nil
	}
	return card(p)
}

// checkPersona checks what admission checks in a cluster.
func (c *composer) checkPersona(object string, spec v1alpha1.PersonaSpec) bool {
	ok := true
	bad := func(path, format string, args ...any) {
		ok = false
		c.at(SeverityError, v1alpha1.ReasonInvalidSpec, object, path, format, args...)
	}
	switch n := utf8.RuneCountInString(spec.Prompt); {
	case strings.TrimSpace(spec.Prompt) == "":
		bad("spec.prompt", "must not be blank: write who the bot is")
	case n > maxPersonaPrompt:
		bad("spec.prompt", "may not be longer than %d characters, got %d", maxPersonaPrompt, n)
	}
	switch spec.Rendering {
	case "", v1alpha1.PersonaRenderingBot, v1alpha1.PersonaRenderingClient:
	default:
		bad("spec.rendering", "must be one of %s, got %q", list([]string{"Bot", "Client"}), spec.Rendering)
	}
	if s := spec.Skills; s != nil {
		switch {
		case s.Policy != v1alpha1.PersonaSkillsAll && s.Policy != v1alpha1.PersonaSkillsOnly:
			bad("spec.skills.policy", "must be one of %s, got %q", list([]string{"All", "Only"}), s.Policy)
		case s.Policy == v1alpha1.PersonaSkillsAll && len(s.Names) > 0:
			bad("spec.skills.names", "may only be given with policy: Only")
		}
	}
	if spec.OutputFormat != nil {
		checkOutputFormat(bad, *spec.OutputFormat)
	}
	return ok
}

func checkOutputFormat(bad func(path, format string, args ...any), f v1alpha1.PersonaOutputFormat) {
	const path = "spec.outputFormat"
	switch n := len(f.Fields); {
	case n > maxOutputFields:
		bad(path+".fields", "may not have more than %d entries, got %d", maxOutputFields, n)
		return
	case !slices.ContainsFunc(f.Fields, func(o v1alpha1.PersonaOutputField) bool { return o.Role == v1alpha1.PersonaFieldReply }):
		bad(path+".fields", "must have a field with role: Reply, which is the text that is sent")
	}
	if r := f.Retries; r != nil && (*r < 0 || *r > maxOutputRetries) {
		bad(path+".retries", "must be between 0 and %d, got %d", maxOutputRetries, *r)
	}
	seen := map[string]bool{}
	for i, o := range f.Fields {
		at := fmt.Sprintf("%s.fields[%s]", path, o.Name)
		switch {
		case strings.TrimSpace(o.Name) == "":
			bad(fmt.Sprintf("%s.fields[%d].name", path, i), "must not be blank")
		case seen[o.Name]:
			bad(at, "may not be listed twice")
		}
		seen[o.Name] = true
		switch o.Type {
		case "", v1alpha1.PersonaFieldString, v1alpha1.PersonaFieldNumber, v1alpha1.PersonaFieldBoolean:
		default:
			bad(at+".type", "must be one of %s, got %q", list([]string{"String", "Number", "Boolean"}), o.Type)
		}
		switch o.Role {
		case "", v1alpha1.PersonaFieldReply, v1alpha1.PersonaFieldState:
		default:
			bad(at+".role", "must be one of %s, got %q", list([]string{"Reply", "State"}), o.Role)
		}
	}
}

// card is the card that a Persona declares.
func card(p v1alpha1.Persona) *kernelconfig.Persona {
	out := &kernelconfig.Persona{
		Source: p.Name, Name: cmp.Or(p.Spec.DisplayName, p.Name), Description: p.Spec.Description,
		Traits: slices.Clone(p.Spec.Traits), Prompt: p.Spec.Prompt, NickNames: slices.Clone(p.Spec.NickNames),
		Greeting: p.Spec.Greeting, ClientSideJSONRendering: p.Spec.Rendering == v1alpha1.PersonaRenderingClient,
	}
	if s := p.Spec.Skills; s != nil && s.Policy == v1alpha1.PersonaSkillsOnly {
		out.Skills = append([]string{}, s.Names...)
	}
	if f := p.Spec.OutputFormat; f != nil {
		out.OutputFormat = &kernelconfig.OutputFormat{Prompt: f.Prompt, Retries: f.Retries}
		for _, o := range f.Fields {
			out.OutputFormat.Fields = append(out.OutputFormat.Fields, kernelconfig.OutputField{
				Name: o.Name, Description: o.Description, Type: strings.ToLower(string(o.Type)), Reply: o.Role == v1alpha1.PersonaFieldReply,
			})
		}
	}
	return out
}
