// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/host"
	"github.com/aalis-dev/aalis-operator/runtime/host/cards"
	"github.com/aalis-dev/aalis-operator/runtime/host/manifest"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// declaration is a bot in YAML files.
type declaration struct {
	paths   []string
	name    string
	catalog catalog.Catalog
	// personas is the directory of further persona cards, or empty.
	personas string
}

// dirs are to be watched for changes.
func (d declaration) dirs() []string {
	dirs := manifest.Dirs(d.paths)
	if d.personas != "" {
		dirs = append(dirs, d.personas)
	}
	return dirs
}

// addPersonas adds the cards of files to the further ones of the bot. What is declared of the same name wins.
func (d declaration) addPersonas(out *host.Loaded) {
	if d.personas == "" {
		return
	}
	found, notes := cards.Read(d.personas)
	out.Notes = append(out.Notes, notes...)
	declared := out.Config.Personas
	for _, card := range found {
		if !slices.ContainsFunc(declared, func(p kernelconfig.Persona) bool { return p.Source == card.Source }) {
			out.Config.Personas = append(out.Config.Personas, card)
		}
	}
}

// load reads the files as they are now and composes the bot as the operator would.
func (d declaration) load() (host.Loaded, error) {
	set, err := manifest.Load(d.paths)
	if err != nil {
		return host.Loaded{}, err
	}
	bot, err := d.choose(set.Instances)
	if err != nil {
		return host.Loaded{}, err
	}
	notes := slices.Clone(set.Notes)
	if len(bot.Spec.Pin) > 0 { // earlier revisions are in a cluster, not in files
		bot = bot.DeepCopy()
		bot.Spec.Pin = nil
		notes = append(notes, "AgentInstance "+bot.Name+": spec.pin is left out; here its objects are used as they stand")
	}
	result := compose.Compose(compose.Input{
		Instance: bot, Plugins: set.Plugins, Personas: set.Personas, ServicePreferences: set.ServicePreferences,
		AuthorityPolicies: set.AuthorityPolicies, TenantPolicies: set.TenantPolicies, Catalog: d.catalog,
	})
	out := host.Loaded{Config: result.Config, Secrets: set.Secrets[cmp.Or(bot.Namespace, "default")], Notes: notes}
	d.addPersonas(&out)
	if bot.Spec.State == v1alpha1.DesiredStateSuspended {
		out.Notes = append(out.Notes, "AgentInstance "+bot.Name+": spec.state is Suspended; here it runs all the same")
	}
	var errs []error
	for _, p := range result.Problems {
		text := p.String()
		if place, ok := set.Locate(p.Object, p.Path); ok {
			text = place.String() + ": " + text
		}
		if p.Severity == compose.SeverityError {
			errs = append(errs, errors.New(text))
			continue
		}
		out.Notes = append(out.Notes, text)
	}
	return out, errors.Join(errs...)
}

// choose finds the bot to run.
func (d declaration) choose(bots []v1alpha1.AgentInstance) (*v1alpha1.AgentInstance, error) {
	if len(bots) == 0 {
		return nil, fmt.Errorf("%s: no AgentInstance is declared", strings.Join(d.paths, ", "))
	}
	if d.name == "" && len(bots) == 1 {
		return &bots[0], nil
	}
	var names []string
	for i := range bots {
		if d.name != "" && bots[i].Name == d.name {
			return &bots[i], nil
		}
		names = append(names, bots[i].Name)
	}
	slices.Sort(names)
	list := strings.Join(slices.Compact(names), ", ")
	if d.name == "" {
		return nil, fmt.Errorf("several AgentInstances are declared, choose one with --name: %s", list)
	}
	return nil, fmt.Errorf("--name %s: no such AgentInstance is declared, there is %s", d.name, list)
}
