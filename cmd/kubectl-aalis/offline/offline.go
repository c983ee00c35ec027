// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package offline makes, with no cluster, what the operator would make of bots that are declared in files: the kernel
// config and the child objects of each. It is pure and calls the operator's own pipeline.
package offline

import (
	"errors"
	"fmt"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// Bot is one bot as the operator would make it.
type Bot struct {
	// Instance is the bot.
	Instance *v1alpha1.AgentInstance
	// Composed is its config, with what is wrong.
	Composed compose.Result
	// Objects are its children; empty unless the config is deployable.
	Objects []render.Object
}

// Options of the operator that would make it.
type Options struct {
	// Catalog of the runtime image.
	Catalog catalog.Catalog
	// Image is the runtime image of bots that name none.
	Image string
}

// Render makes the named bot, or all of them if name is empty. An image that a bot names itself is taken as allowed: the
// operator's list of allowed images is not known here. Unknown here are also the addresses of the API server, which the
// operator puts into the NetworkPolicy, and the UIDs of the owner references.
func Render(objects cluster.Objects, name string, o Options) ([]Bot, error) {
	var out []Bot
	for i := range objects.Instances {
		instance := &objects.Instances[i]
		if name != "" && instance.Name != name {
			continue
		}
		bot, err := one(objects, instance, o)
		if err != nil {
			return nil, err
		}
		out = append(out, bot)
	}
	switch {
	case len(out) > 0:
		return out, nil
	case name != "":
		return nil, fmt.Errorf("no AgentInstance %q is declared", name)
	}
	return nil, errors.New("no AgentInstance is declared")
}

func one(objects cluster.Objects, instance *v1alpha1.AgentInstance, o Options) (Bot, error) {
	input := objects.Input(instance)
	input.Catalog = o.Catalog
	bot := Bot{Instance: instance, Composed: compose.Compose(input)}
	if !bot.Composed.Deployable() {
		return bot, nil
	}
	delivery := bot.Composed.Delivery
	delivery.Sequence = 1
	children, err := render.Render(render.Input{
		Instance: instance, Config: bot.Composed.Config, Slots: kernelconfig.Slots{Current: &delivery}, Catalog: o.Catalog,
		Options: render.Options{RuntimeImage: o.Image, AllowedImages: []string{"*"}},
	})
	if err != nil {
		return bot, fmt.Errorf("rendering bot %s/%s: %w", instance.Namespace, instance.Name, err)
	}
	bot.Objects = children.List()
	return bot, nil
}
