// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// Stability says what users may expect of a module.
type Stability string

// The stabilities.
const (
	Alpha      Stability = "alpha"
	Beta       Stability = "beta"
	Stable     Stability = "stable"
	Deprecated Stability = "deprecated"
)

// Permission is something a module can do beyond its process's memory.
type Permission string

// The permissions.
const (
	Network    Permission = "network"
	Filesystem Permission = "filesystem"
	Exec       Permission = "exec"
	Secrets    Permission = "secrets"
)

// Inject names the services a module uses.
type Inject struct {
	// Required services must be there before the module is applied; when one goes, the module is retired.
	Required []string
	// Optional services may come and go; the module looks them up when it needs them.
	Optional []string
}

// Module is a kind of plugin. It is data: the same value may be used by several Apps.
type Module struct {
	// Name is the full name, as "@aalis/plugin-agent".
	Name string
	// DisplayName and Summary (one line) are for people.
	DisplayName, Summary string
	Stability            Stability

	Inject Inject
	// Provides lists the services that Apply must register; a module that does not ends in error.
	Provides []string
	// MayProvide lists services that the plugin registers as it goes, and may withdraw: nothing counts on them.
	MayProvide  []string
	Permissions []Permission

	// OnByDefault modules are part of a bot that does not mention them. The kernel runs only what its Config lists;
	// whoever composes that reads this.
	OnByDefault bool
	// Core modules cannot be disabled.
	Core bool
	// Reusable modules may run several times, under ids with a suffix.
	Reusable bool
	// RequiresBounceOnDepChange modules are applied again when a provider of a service they use, required or optional,
	// goes or is replaced.
	RequiresBounceOnDepChange bool

	// Config describes the config. Unknown keys are refused.
	Config schema.Object
	// Apply starts the plugin: it registers what the plugin does on k and returns. The config has the schema's defaults
	// filled in and is the callee's. A long call must end when k.Lifetime() does. An error or panic leaves the plugin
	// in error.
	Apply func(k *Context, cfg map[string]any) error
}

// check reports what makes a module unusable.
func (m Module) check() error {
	if err := checkModuleName(m.Name); err != nil {
		return err
	}
	if m.Apply == nil {
		return fmt.Errorf("module %s: apply must be set", m.Name)
	}
	return nil
}

// configure validates a config and fills in defaults.
func (m Module) configure(cfg map[string]any) (map[string]any, error) {
	if m.Apply == nil {
		return nil, errors.New("apply must be set")
	}
	if err := schema.Errors(m.Config.Validate(cfg)); err != nil {
		return nil, err
	}
	return m.Config.WithDefaults(cfg), nil
}

// ErrNeedsBounce is returned by a reconfigure function that cannot take over a change in place: the plugin is then bounced.
var ErrNeedsBounce = errors.New("the change needs a bounce")

// OnReconfigure registers a function that takes over a changed config in place. It is tried before a bounce, with both
// configs completed by defaults. When it returns nil the plugin goes on running; on [ErrNeedsBounce], and with a warning on
// any other error or a panic, the plugin is bounced. A second registration replaces the first.
func (c *Context) OnReconfigure(fn func(ctx context.Context, before, after map[string]any) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reconfigure = fn
}
