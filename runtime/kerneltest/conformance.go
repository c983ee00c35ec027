// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

const (
	// starts is how often Run starts and stops a plugin to see whether something stays behind.
	starts = 50
	// stopBound is how long a plugin may take to stop.
	stopBound = 2 * time.Second
	// canary is what Run gives as the value of every secret. It must not be seen anywhere.
	canary = "canary-7d1f3b-secret"
)

// conformance is one Run: a module, how to make an App for it, and what it needs to start.
type conformance struct {
	module kernel.Module
	opts   []Option
	config map[string]any
	fakes  map[string]fakeService
}

// Run checks what every plugin must hold to, as subtests: that its metadata is complete and its schema round-trips, that
// it starts and stops with its default config and stops in time, that nothing stays behind after many starts, that it
// waits for each required service, starts when it comes, retires when it goes and survives optional ones coming and going,
// that a panic in Apply is contained, that unknown config keys are refused and that secrets are never logged.
//
// Give a fake for every required service, and for optional ones that matter, with [WithService]; config that is needed
// besides the defaults with [WithConfig]; settings with [WithSetting]. The test must not run in parallel with others.
func Run(t *testing.T, module kernel.Module, opts ...Option) {
	t.Helper()
	s := newSetup(&Harness{Clock: NewClock(), Logs: &Logs{}}, opts)
	c := &conformance{module: module, opts: opts, config: s.config, fakes: map[string]fakeService{}}
	for _, f := range s.services {
		c.fakes[f.name] = f
	}
	for _, name := range module.Inject.Required {
		if _, ok := c.fakes[name]; !ok {
			t.Fatalf("give a fake of the required service %s with WithService", name)
		}
	}
	t.Run("metadata", c.metadata)
	t.Run("schema round trip", c.schema)
	t.Run("unknown config key is refused", c.unknownKey)
	t.Run("starts and stops", c.startStop)
	t.Run("stops without start", c.stopWithoutStart)
	t.Run("nothing stays behind", c.repeat)
	for _, name := range module.Inject.Required {
		t.Run("required service "+name, func(t *testing.T) { c.required(t, name) })
	}
	for _, name := range module.Inject.Optional {
		if f, ok := c.fakes[name]; ok {
			t.Run("optional service "+name, func(t *testing.T) { c.optional(t, f) })
		}
	}
	t.Run("panic in apply", c.panics)
	t.Run("secrets are not logged", c.secrets)
}

// host makes an App that has the module but no instance of it, and provides the fakes but those left out.
func (c *conformance) host(t *testing.T, without ...string) *Harness {
	t.Helper()
	h := New(t, append(slices.Clone(c.opts), func(s *setup) {
		s.services = nil
		s.options.DataDir = t.TempDir()
		s.options.Modules = append(s.options.Modules, c.module)
	})...)
	for name, f := range c.fakes {
		if !slices.Contains(without, name) {
			f.provide(h.Root())
		}
	}
	h.Idle()
	return h
}

func (c *conformance) register(t *testing.T, h *Harness, m kernel.Module, cfg map[string]any) {
	t.Helper()
	if err := h.App.Plugins().Register(m, "", kernel.PluginConfig{Config: cfg}); err != nil {
		t.Fatalf("registering: %v", err)
	}
	h.Idle()
}

func (c *conformance) unload(t *testing.T, h *Harness) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stopBound)
	defer cancel()
	if err := h.App.Plugins().Unload(ctx, c.module.Name); err != nil {
		t.Fatalf("unloading within %s: %v", stopBound, err)
	}
	h.Idle()
}

func (c *conformance) metadata(t *testing.T) {
	m := c.module
	if _, err := kernel.ParseInstanceID(m.Name); err != nil {
		t.Errorf("name: %v", err)
	}
	if m.DisplayName == "" {
		t.Error("display name must be set")
	}
	if m.Summary == "" || strings.Contains(m.Summary, "\n") {
		t.Errorf("summary must be one line, got %q", m.Summary)
	}
	stabilities := []kernel.Stability{kernel.Alpha, kernel.Beta, kernel.Stable, kernel.Deprecated}
	if !slices.Contains(stabilities, m.Stability) {
		t.Errorf("stability must be one of %v, got %q", stabilities, m.Stability)
	}
	permissions := []kernel.Permission{kernel.Network, kernel.Filesystem, kernel.Exec, kernel.Secrets}
	for _, p := range m.Permissions {
		if !slices.Contains(permissions, p) {
			t.Errorf("permission must be one of %v, got %q", permissions, p)
		}
	}
	for _, s := range m.MayProvide {
		if slices.Contains(m.Provides, s) {
			t.Errorf("service %s is in both provides and mayProvide", s)
		}
	}
	for _, s := range m.Inject.Required {
		if slices.Contains(m.Inject.Optional, s) {
			t.Errorf("service %s is both required and optional", s)
		}
	}
}

func (c *conformance) schema(t *testing.T) {
	raw, err := json.Marshal(c.module.Config)
	if err != nil {
		t.Fatalf("encoding the schema: %v", err)
	}
	var back schema.Object
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatalf("decoding the schema: %v", err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(raw) {
		t.Errorf("the schema changes on a round trip (%v):\n%s\n%s", err, raw, again)
	}
	cfg := c.module.Config.WithDefaults(c.config)
	if err := schema.Errors(c.module.Config.Validate(cfg)); err != nil {
		t.Errorf("the defaults do not validate: %v", err)
	}
	if again := c.module.Config.WithDefaults(cfg); !reflect.DeepEqual(again, cfg) {
		t.Errorf("defaults are not stable:\n%v\n%v", cfg, again)
	}
}

func (c *conformance) unknownKey(t *testing.T) {
	cfg := map[string]any{"noSuchKey": true}
	maps.Copy(cfg, c.config)
	s := newSetup(&Harness{Clock: NewClock(), Logs: &Logs{}}, []Option{WithPlugin(c.module, "", cfg)})
	_, err := kernel.New(s.options)
	if want := fmt.Sprintf("plugins[%s].config.noSuchKey", c.module.Name); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want one that names %s", err, want)
	}
}

func (c *conformance) startStop(t *testing.T) {
	NoLeaks(t)
	h := c.host(t)
	c.register(t, h, c.module, c.config)
	h.WantState(c.module.Name, recompute.Active)
	if found := h.Logs.Find("does not declare"); len(found) > 0 {
		t.Errorf("undeclared services: %v", found)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopBound)
	defer cancel()
	if err := h.App.Stop(ctx); err != nil {
		t.Errorf("stopping within %s: %v", stopBound, err)
	}
	h.Stop()
	c.intact(t, h)
}

// intact checks that no teardown of the App had to give up or failed.
func (c *conformance) intact(t *testing.T, h *Harness) {
	t.Helper()
	if n := h.App.Stats().Abandoned; n > 0 {
		t.Errorf("teardown gave up waiting %d times:\n%s", n, h.Logs)
	}
	if failed := h.Logs.Find("Cleanup failed"); len(failed) > 0 {
		t.Errorf("cleanups failed: %v", failed)
	}
}

func (c *conformance) stopWithoutStart(t *testing.T) {
	NoLeaks(t)
	h := New(t, WithPlugin(c.module, "", c.config), Unstarted())
	h.Stop()
	h.Stop()
	c.intact(t, h)
}

func (c *conformance) repeat(t *testing.T) {
	NoLeaks(t)
	h := c.host(t)
	before := h.App.Stats()
	for i := range starts {
		c.register(t, h, c.module, c.config)
		h.WantState(c.module.Name, recompute.Active)
		if i%10 == 0 {
			if err := h.App.Plugins().Bounce(context.Background(), c.module.Name); err != nil {
				t.Fatalf("bouncing: %v", err)
			}
			h.WantState(c.module.Name, recompute.Active)
		}
		c.unload(t, h)
		if after := h.App.Stats(); after != before {
			t.Fatalf("start %d left something behind:\nbefore %+v\nafter  %+v", i+1, before, after)
		}
	}
	c.intact(t, h)
}

func (c *conformance) required(t *testing.T, name string) {
	t.Helper()
	NoLeaks(t)
	h := c.host(t, name)
	before := h.App.Stats()
	c.register(t, h, c.module, c.config)
	pending := func() {
		t.Helper()
		h.WantState(c.module.Name, recompute.Pending)
		status := h.Plugin(c.module.Name)
		if !slices.Contains(status.Missing, name) || !strings.Contains(status.Message, name) {
			t.Errorf("missing %v, message %q: want both to name %s", status.Missing, status.Message, name)
		}
		if after := h.App.Stats(); after != before {
			t.Errorf("waiting, the plugin holds something:\nbefore %+v\nafter  %+v", before, after)
		}
	}
	pending()
	for range 2 {
		off := c.fakes[name].provide(h.Root())
		h.WantState(c.module.Name, recompute.Active)
		off()
		pending()
	}
	c.intact(t, h)
}

func (c *conformance) optional(t *testing.T, f fakeService) {
	t.Helper()
	NoLeaks(t)
	h := c.host(t, f.name)
	c.register(t, h, c.module, c.config)
	h.WantState(c.module.Name, recompute.Active)
	for range 2 {
		off := f.provide(h.Root())
		h.WantState(c.module.Name, recompute.Active)
		off()
		h.WantState(c.module.Name, recompute.Active)
	}
	c.unload(t, h)
	c.intact(t, h)
}

func (c *conformance) panics(t *testing.T) {
	NoLeaks(t)
	h := c.host(t)
	bystander := kernel.Module{Name: "bystander", Apply: func(*kernel.Context, map[string]any) error { return nil }}
	c.register(t, h, bystander, nil)
	before := h.App.Stats()
	m := c.module
	m.Apply = func(k *kernel.Context, cfg map[string]any) error {
		if err := c.module.Apply(k, cfg); err != nil {
			return err
		}
		panic("on purpose")
	}
	c.register(t, h, m, c.config)
	h.WantState(m.Name, recompute.Error)
	if status := h.Plugin(m.Name); !strings.Contains(status.Error, "on purpose") {
		t.Errorf("error is %q, want it to tell of the panic", status.Error)
	}
	if found := h.Logs.Find("on purpose", "stack="); len(found) == 0 {
		t.Errorf("the stack is not in the log:\n%s", h.Logs)
	}
	h.WantState(bystander.Name, recompute.Active)
	if after := h.App.Stats(); after != before {
		t.Errorf("a failed start left something behind:\nbefore %+v\nafter  %+v", before, after)
	}
}

func (c *conformance) secrets(t *testing.T) {
	paths := c.module.Config.SecretPaths()
	if len(paths) == 0 {
		t.Skip("the module's schema has no secrets")
	}
	NoLeaks(t)
	h := c.host(t)
	cfg := schema.Object{}.WithDefaults(c.config)
	for _, path := range paths {
		if !strings.ContainsAny(path, "[*") {
			plant(cfg, strings.Split(path, "."))
		}
	}
	c.register(t, h, c.module, cfg)
	if status := h.Plugin(c.module.Name); strings.Contains(fmt.Sprint(status), canary) {
		t.Errorf("the status shows a secret: %+v", status)
	}
	c.unload(t, h)
	h.Stop()
	if found := h.Logs.Find(canary); len(found) > 0 {
		t.Errorf("the log shows a secret: %v", found)
	}
}

// plant puts the canary at a path.
func plant(cfg map[string]any, path []string) {
	for len(path) > 1 {
		sub, ok := cfg[path[0]].(map[string]any)
		if !ok {
			sub = map[string]any{}
			cfg[path[0]] = sub
		}
		cfg, path = sub, path[1:]
	}
	cfg[path[0]] = canary
}
