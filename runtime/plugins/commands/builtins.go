// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// grace is how long the answer to /restart and /shutdown has to get out before they do it.
const grace = 500 * time.Millisecond

// builtins are the commands that the plugin brings.
func builtins(k *kernel.Context, r *registry) []commands.Command {
	p := &process{k: k, after: time.AfterFunc}
	c := &clearer{k: k}
	restricted := access.Policy{Visibility: access.Restricted}
	list := []commands.Command{
		{
			Declaration: helpName + " [name:text]", Handler: func(_ context.Context, call commands.Call) (string, error) {
				name, _ := call.Args["name"].(string)
				return r.Help(name), nil
			},
		},
		{Declaration: "status", Handler: func(context.Context, commands.Call) (string, error) { return status(k, r), nil }},
		{Declaration: "restart", Policy: restricted, Handler: p.restart},
		{Declaration: "shutdown", Policy: restricted, Handler: p.shutdown},
	}
	list = append(list, c.commands()...)
	for i := range list {
		name, _ := cutWord(list[i].Declaration)
		explain(&list[i], about[name])
	}
	return list
}

// about says what each of them does.
var about = map[string]i18n.Label{
	"help": i18n.AboutHelp, "status": i18n.AboutStatus, "restart": i18n.AboutRestart, "shutdown": i18n.AboutShutdown,
	"clear": i18n.AboutClear, "clear.list": i18n.AboutClearList, "clear.all": i18n.AboutClearAll,
}

// explain gives a command its texts in both languages.
func explain(c *commands.Command, what i18n.Label) {
	c.Description = what.In(i18n.English)
	zh := commands.Texts{Description: what.In(i18n.Chinese), Options: map[string]string{}}
	for i := range c.Options {
		c.Options[i].Description = i18n.AboutClearType.In(i18n.English)
		zh.Options["type"] = i18n.AboutClearType.In(i18n.Chinese)
	}
	c.Translations = map[string]commands.Texts{string(i18n.Chinese): zh}
}

// status says what the bot runs.
func status(k *kernel.Context, r *registry) string {
	lang := i18n.Of(k)
	rows := [][2]string{}
	add := func(l i18n.Label, text string) { rows = append(rows, [2]string{l.In(lang), text}) }
	if m, ok := kernel.ServicePlugins.Get(k); ok {
		add(i18n.StatusPlugins, states(m.Status()).In(lang))
	}
	services := strings.Join(slices.DeleteFunc(k.ServiceNames(), isSecret), ", ")
	if services == "" {
		services = i18n.StatusNoServices.In(lang)
	}
	add(i18n.StatusServices, services)
	count := 0
	if t, ok := tools.Service.Get(k); ok {
		count = len(t.List())
	}
	add(i18n.StatusTools, strconv.Itoa(count))
	add(i18n.StatusCommands, strconv.Itoa(len(r.runnables())))
	lines := []string{"**" + i18n.StatusTitle(k.AppName()).In(lang) + "**", ""}
	for _, row := range rows {
		lines = append(lines, fmt.Sprintf("- %s: %s", row[0], row[1]))
	}
	return strings.Join(lines, "\n")
}

// isSecret tells whether a service only says that a key of a Secret is there; its name is nobody's business.
func isSecret(service string) bool { return strings.HasPrefix(service, "secret:") }

func states(plugins []kernel.PluginStatus) i18n.Message {
	var active, waiting, failed int
	for _, p := range plugins {
		switch p.State {
		case recompute.Active:
			active++
		case recompute.Pending, recompute.Activating:
			waiting++
		case recompute.Error:
			failed++
		case recompute.Disabled, recompute.Disposed:
		}
	}
	return i18n.StatusStates(active, waiting, failed)
}

// runnables names the commands that do something.
func (r *registry) runnables() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []string
	for _, n := range r.tree.all() {
		if n.runnable() != nil {
			out = append(out, n.name)
		}
	}
	return out
}

// process ends or restarts the bot's process where the host has said how, and elsewhere says who does. In a cluster that
// is the cluster: a container that ends by itself is started again.
type process struct {
	k     *kernel.Context
	after func(d time.Duration, fn func()) *time.Timer
}

func (p *process) restart(context.Context, commands.Call) (string, error) {
	app, ok := p.app()
	if !ok {
		return i18n.RestartInstead(p.k.AppName()).In(i18n.Of(p.k)), nil
	}
	p.later("restart", func() {
		if err := app.Restart(context.Background(), nil); err != nil {
			p.k.Logger().Warn("Failed to restart", "error", err)
		}
	})
	return i18n.Restarting.In(i18n.Of(p.k)), nil
}

func (p *process) shutdown(context.Context, commands.Call) (string, error) {
	app, ok := p.app()
	if !ok {
		return i18n.ShutdownInstead(p.k.AppName()).In(i18n.Of(p.k)), nil
	}
	p.later("shutdown", func() {
		if err := app.Stop(context.Background()); err != nil {
			p.k.Logger().Warn("Failed to shut down", "error", err)
		}
	})
	return i18n.ShuttingDown.In(i18n.Of(p.k)), nil
}

// app is the kernel, if the host has said how to restart it.
func (p *process) app() (*kernel.App, bool) {
	app, ok := kernel.ServiceApp.Get(p.k)
	return app, ok && app.HasRestartStrategy()
}

// later does something once the answer has had time to get out. It must not run within the plugin's own context, which it
// tears down.
func (p *process) later(label string, do func()) {
	timer := p.after(grace, do)
	p.k.OnDispose(label, func(context.Context) error {
		timer.Stop()
		return nil
	})
}
