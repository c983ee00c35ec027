// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command opsgen writes the list of the operations that the shipped modules offer, tools and commands, with what each
// declares about who may run it. It starts every module that needs no configuration in a kernel of its own and asks the
// registries.
//
//	go run ./hack/opsgen runtime/catalog/operations.json
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/host"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// patience bounds the start and the stop of the kernel.
const patience = 30 * time.Second

// backend is the memory backend that the kernel has; the others need a place to store.
const backend = "@aalis/plugin-memory-inmemory"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./hack/opsgen FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "opsgen:", err)
		os.Exit(1)
	}
}

func write(file string) error {
	list, err := operations()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(list); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644) //nolint:gosec // a source file
}

func operations() ([]catalog.Operation, error) {
	modules := host.Modules()
	cfg := kernel.Config{Name: "opsgen", Plugins: map[string]kernel.PluginConfig{}}
	for _, m := range modules {
		if m.Reusable || (slices.Contains(m.Provides, memory.Service.Name()) && m.Name != backend) {
			continue
		}
		cfg.Plugins[m.Name] = kernel.PluginConfig{Module: m.Name}
	}
	app, err := kernel.New(kernel.Options{Modules: modules, Config: cfg, Now: time.Now})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := app.Start(ctx); err != nil {
		return nil, err
	}
	defer func() { _ = app.Stop(ctx) }()
	return list(app.Root())
}

func list(k *kernel.Context) ([]catalog.Operation, error) {
	t, ok := tools.Service.Get(k)
	if !ok {
		return nil, fmt.Errorf("there is no service %s", tools.Service.Name())
	}
	c, ok := commands.Service.Get(k)
	if !ok {
		return nil, fmt.Errorf("there is no service %s", commands.Service.Name())
	}
	var out []catalog.Operation
	for _, i := range t.List() {
		out = append(out, operation("tool:"+i.Name, i.Owner, i.Policy))
	}
	for _, i := range c.List() {
		if !i.Group {
			out = append(out, operation("command:"+i.Name, i.Owner, i.Policy))
		}
	}
	slices.SortFunc(out, func(a, b catalog.Operation) int { return strings.Compare(a.Capability, b.Capability) })
	return out, nil
}

func operation(capability, owner string, p access.Policy) catalog.Operation {
	return catalog.Operation{
		Capability: capability, Module: owner, Visibility: string(p.Visibility), Risk: string(p.Risk), Confirm: string(p.Confirm),
	}
}
