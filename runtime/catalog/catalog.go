// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// shortPrefix is what the short form of a module name leaves out.
const shortPrefix = "@aalis/plugin-"

// Module describes one shipped plugin module.
type Module struct {
	// Name is the full name, as @aalis/plugin-agent.
	Name string `json:"name"`
	// ShortName is what people may write instead, as agent; empty for modules of other vendors.
	ShortName string `json:"shortName,omitempty"`
	// DisplayName and Summary are for people.
	DisplayName string `json:"displayName,omitempty"`
	Summary     string `json:"summary,omitempty"`
	// Stability is alpha, beta, stable or deprecated.
	Stability string `json:"stability,omitempty"`
	// Provides, Required and Optional are service names.
	Provides []string `json:"provides,omitempty"`
	// MayProvide are services whose entries come and go while the module is active, such as the models of a provider.
	MayProvide []string `json:"mayProvide,omitempty"`
	Required   []string `json:"required,omitempty"`
	Optional   []string `json:"optional,omitempty"`
	// Permissions are what the module may do beyond its own process: network, filesystem, exec, secrets.
	Permissions []string `json:"permissions,omitempty"`
	// OnByDefault modules run in every bot that does not turn them off.
	OnByDefault bool `json:"onByDefault,omitempty"`
	// Core modules cannot be turned off.
	Core bool `json:"core,omitempty"`
	// Reusable modules may run more than once in a bot, each configured by a Plugin object.
	Reusable bool `json:"reusable,omitempty"`
	// RequiresBounceOnDepChange modules are re-applied when a service they use is lost or replaced.
	RequiresBounceOnDepChange bool `json:"requiresBounceOnDepChange,omitempty"`
	// Config is the schema of the module's config.
	Config schema.Object `json:"config,omitzero"`
}

// Catalog is a list of modules, sorted by name. Make one with [New] or [Decode].
type Catalog struct {
	Modules []Module
}

var (
	nameForm    = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`)
	stabilities = []string{"", "alpha", "beta", "stable", "deprecated"}
	permissions = []string{"network", "filesystem", "exec", "secrets"}
)

// maxModules and maxName bound a catalog that came from elsewhere.
const (
	maxModules = 1024
	maxName    = 128
)

// New checks and sorts modules and fills in their short names. Errors name the module.
func New(modules []Module) (Catalog, error) {
	if len(modules) > maxModules {
		return Catalog{}, fmt.Errorf("a catalog may not have more than %d modules, got %d", maxModules, len(modules))
	}
	c := Catalog{Modules: slices.Clone(modules)}
	slices.SortStableFunc(c.Modules, func(a, b Module) int { return strings.Compare(a.Name, b.Name) })
	for i := range c.Modules {
		m := &c.Modules[i]
		if err := check(*m); err != nil {
			return Catalog{}, err
		}
		if i > 0 && c.Modules[i-1].Name == m.Name {
			return Catalog{}, fmt.Errorf("module %s is listed twice", m.Name)
		}
		m.ShortName = ShortName(m.Name)
	}
	return c, nil
}

func check(m Module) error {
	if len(m.Name) > maxName || !nameForm.MatchString(m.Name) {
		return fmt.Errorf("module name %q must be of the form @vendor/name, in lower case letters, digits, '.', '_' and '-', at most %d characters", m.Name, maxName)
	}
	if !slices.Contains(stabilities, m.Stability) {
		return fmt.Errorf("module %s: stability must be alpha, beta, stable or deprecated, got %q", m.Name, m.Stability)
	}
	for _, p := range m.Permissions {
		if !slices.Contains(permissions, p) {
			return fmt.Errorf("module %s: permissions must be network, filesystem, exec or secrets, got %q", m.Name, p)
		}
	}
	return nil
}

// ShortName returns the short form of a full module name, as agent for @aalis/plugin-agent; empty if it has none.
func ShortName(name string) string {
	short, ok := strings.CutPrefix(name, shortPrefix)
	if !ok {
		return ""
	}
	return short
}

// Lookup finds a module by its full or short name.
func (c Catalog) Lookup(name string) (Module, bool) {
	if name == "" {
		return Module{}, false
	}
	for _, full := range []string{name, shortPrefix + name} {
		if i, ok := slices.BinarySearchFunc(c.Modules, full, func(m Module, n string) int { return strings.Compare(m.Name, n) }); ok {
			return c.Modules[i], true
		}
	}
	return Module{}, false
}

// Resolve is Lookup with an *UnknownModuleError that says what may have been meant.
func (c Catalog) Resolve(name string) (Module, error) {
	if m, ok := c.Lookup(name); ok {
		return m, nil
	}
	return Module{}, &UnknownModuleError{Name: name, Suggestions: c.suggest(name)}
}

// suggest offers near names in the form, short or full, in which the name was written.
func (c Catalog) suggest(name string) []string {
	full := strings.HasPrefix(name, "@")
	known := make([]string, 0, len(c.Modules))
	for _, m := range c.Modules {
		if short := ShortName(m.Name); short != "" && !full {
			known = append(known, short)
			continue
		}
		known = append(known, m.Name)
	}
	if !full {
		return schema.Suggest(name, known)
	}
	// What all names share must not make them look alike.
	rest := make([]string, len(known))
	for i, k := range known {
		rest[i] = strings.TrimPrefix(k, shortPrefix)
	}
	out := schema.Suggest(strings.TrimPrefix(name, shortPrefix), rest)
	for i, r := range out {
		out[i] = known[slices.Index(rest, r)]
	}
	return out
}

// UnknownModuleError says that a module is not in the catalog.
type UnknownModuleError struct {
	Name string
	// Suggestions are up to three names that may have been meant.
	Suggestions []string
}

// Error implements error.
func (e *UnknownModuleError) Error() string {
	text := "unknown module " + strconv.Quote(e.Name) + ", the runtime image does not ship it"
	if len(e.Suggestions) == 0 {
		return text
	}
	quoted := make([]string, len(e.Suggestions))
	for i, s := range e.Suggestions {
		quoted[i] = strconv.Quote(s)
	}
	return text + "; did you mean " + strings.Join(quoted, " or ") + "?"
}

// DefaultOn lists the modules that run unless turned off, sorted by name.
func (c Catalog) DefaultOn() []Module {
	var out []Module
	for _, m := range c.Modules {
		if m.OnByDefault {
			out = append(out, m)
		}
	}
	return out
}
