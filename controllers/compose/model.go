// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// llmService is the service of chat models, the one service whose providers register many entries each.
const llmService = "llm"

// provider finds the plugin of the bot that people call by a name and checks that it provides a service. The message says
// what is wrong; without one, a nil entry is a plugin that is declared and absent, of which a problem tells elsewhere.
func (c *composer) provider(name, service string) (e *entry, message string) {
	e = c.byName(name)
	switch {
	case e == nil:
		return nil, unknown("the bot has no plugin", name, c.names())
	case e.absent:
		return nil, ""
	case !mayProvide(e.module, service):
		return nil, fmt.Sprintf("plugin %q (module %s) does not provide the service %s", name, e.module.Name, service)
	}
	return e, ""
}

// mayProvide reports whether a module declares a service, or declares none at all: such a module registers what it has
// while it runs, as a provider does whose models come and go, and only the kernel can tell what that is.
func mayProvide(m catalog.Module, service string) bool {
	return len(m.Provides) == 0 || slices.Contains(m.Provides, service)
}

// composeModel sets the default model that the instance names. Whether the provider has a model of that id only the
// running kernel can tell.
func (c *composer) composeModel() {
	ref := c.instance.Spec.Model
	if ref == nil {
		return
	}
	if strings.TrimSpace(ref.ID) == "" {
		c.bad(v1alpha1.ReasonInvalidSpec, "spec.model.id", "must be given, for example gpt-4o-mini")
		return
	}
	e, message := c.provider(ref.Plugin, llmService)
	switch {
	case message != "":
		c.bad(v1alpha1.ReasonModelNotFound, "spec.model.plugin", "%s", message)
	case e == nil:
	case e.disabled:
		c.at(SeverityWarning, v1alpha1.ReasonModelNotFound, c.object, "spec.model.plugin", "plugin %q is disabled", ref.Plugin)
	default:
		c.config.Model = &kernelconfig.Model{Provider: e.id, ID: ref.ID}
	}
}

// composePersona takes the card of the Persona that the instance refers to. One that is being deleted stays.
func (c *composer) composePersona() {
	ref := c.instance.Spec.PersonaRef
	if ref == nil {
		return
	}
	var found []v1alpha1.Persona
	var names []string
	for _, p := range c.in.Personas {
		if namespaceOf(p.Namespace) != c.namespace {
			continue
		}
		names = append(names, p.Name)
		if p.Name == ref.Name {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		c.bad(v1alpha1.ReasonPersonaNotFound, "spec.personaRef.name", "%s", unknown("namespace "+c.namespace+" has no Persona", ref.Name, names))
		return
	case 1:
	default:
		c.twice("Persona", ref.Name)
		return
	}
	p := found[0]
	object := "Persona " + p.Name
	c.use("Persona", p.Name, p.Generation)
	if p.DeletionTimestamp != nil {
		c.at(SeverityInfo, v1alpha1.ReasonDeleting, object, "", "is being deleted and stays in effect for this bot until personaRef names another")
	}
	switch n := utf8.RuneCountInString(p.Spec.Prompt); {
	case strings.TrimSpace(p.Spec.Prompt) == "":
		c.at(SeverityError, v1alpha1.ReasonInvalidSpec, object, "spec.prompt", "must not be blank: write who the bot is")
		return
	case n > maxPersonaPrompt:
		c.at(SeverityError, v1alpha1.ReasonInvalidSpec, object, "spec.prompt", "may not be longer than %d characters, got %d", maxPersonaPrompt, n)
		return
	}
	c.config.Persona = &kernelconfig.Persona{
		Source: p.Name, Name: p.Spec.DisplayName, Description: p.Spec.Description,
		Traits: slices.Clone(p.Spec.Traits), Prompt: p.Spec.Prompt,
	}
	if c.config.Persona.Name == "" {
		c.config.Persona.Name = p.Name
	}
}
