// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"slices"
	"strings"

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

// mayProvide reports whether a module declares a service, as one that it always has or as one whose entries come and go.
func mayProvide(m catalog.Module, service string) bool {
	return slices.Contains(m.Provides, service) || slices.Contains(m.MayProvide, service)
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
