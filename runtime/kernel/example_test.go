// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Contract packages declare typed keys as package-level variables.
var (
	greeterService = kernel.NewService[func(name string) string]("greeter")
	greetedEvent   = kernel.NewEvent[string]("greeted")
	greetHook      = kernel.NewHook[greeting]("greet:before")
	greetPoint     = kernel.NewPoint[string]("greet:languages")
	greetSetting   = kernel.NewSetting[string]("salutation")
)

type greeting struct{ Name string }

type greeterConfig struct {
	Mark string `json:"mark" desc:"What ends a greeting." maxLength:"3"`
}

// A plugin is a module: metadata, a config with defaults, and an apply function that registers what the plugin does.
var greeter = kernel.Define(kernel.Module{
	Name: "@example/greeter", DisplayName: "Greeter", Summary: "Greets people.", Stability: kernel.Stable,
	Provides: []string{greeterService.Name()},
}, greeterConfig{Mark: "!"}, func(k *kernel.Context, cfg greeterConfig) error {
	greeterService.Provide(k, func(name string) string { return "Hello, " + name + cfg.Mark })
	k.OnDispose("say goodbye", func(context.Context) error { fmt.Println("goodbye"); return nil })
	return nil
})

var visitor = kernel.Module{
	Name: "@example/visitor", Inject: kernel.Inject{Required: []string{greeterService.Name()}},
	Apply: func(k *kernel.Context, _ map[string]any) error {
		greet, _ := greeterService.Get(k) // required, so it is there
		fmt.Println(greet("visitor"))
		return nil
	},
}

func newApp(cfg kernel.Config) *kernel.App {
	app, err := kernel.New(kernel.Options{Modules: []kernel.Module{greeter, visitor}, Config: cfg, Now: time.Now})
	if err != nil {
		panic(err)
	}
	return app
}

// An App runs the plugins that its config lists, each as soon as the services it requires are there.
func Example() {
	ctx := context.Background()
	app := newApp(kernel.Config{Name: "Example", Plugins: map[string]kernel.PluginConfig{
		"@example/visitor": {},
		"@example/greeter": {Config: map[string]any{"mark": "."}},
	}})
	if err := app.Start(ctx); err != nil {
		fmt.Println(err)
	}
	for _, p := range app.Plugins().Status() {
		fmt.Println(p.ID, p.State)
	}
	if err := app.Stop(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Hello, visitor.
	// @example/greeter Active
	// @example/visitor Active
	// goodbye
}

// A config is applied in place: what did not change goes on running.
func ExampleApp_Apply() {
	ctx := context.Background()
	app := newApp(kernel.Config{})
	if err := app.Start(ctx); err != nil {
		fmt.Println(err)
	}
	report, err := app.Apply(ctx, kernel.Config{Plugins: map[string]kernel.PluginConfig{"@example/visitor": {}}})
	fmt.Println(report.Registered, err)
	status, _ := app.Plugins().Plugin("@example/visitor")
	fmt.Println(status.State, status.Message)
	_, err = app.Apply(ctx, kernel.Config{Plugins: map[string]kernel.PluginConfig{"@example/greeter": {Config: map[string]any{"mark": 1}}}})
	fmt.Println(err)
	_ = app.Stop(ctx)
	// Output:
	// [@example/visitor] <nil>
	// Pending waiting for service greeter
	// applying a config: plugins[@example/greeter].config.mark: must be a string, got 1
}

// When keeps something attached to whichever provider wins.
func ExampleService_When() {
	k := newApp(kernel.Config{}).Root()
	greeterService.When(k, func(greet func(string) string) (detach func()) {
		fmt.Println(greet("attached"))
		return func() { fmt.Println("detached") }
	})
	off := greeterService.Provide(k, func(name string) string { return "low " + name })
	greeterService.Provide(k, func(name string) string { return "high " + name }, kernel.WithPriority(1), kernel.WithEntryID("root/high"))
	off()
	// Output:
	// low attached
	// detached
	// high attached
}

func ExampleEvent() {
	k := newApp(kernel.Config{}).Root()
	off := greetedEvent.On(k, func(_ context.Context, name string) error {
		fmt.Println("greeted", name)
		return nil
	})
	greetedEvent.Emit(context.Background(), k, "Ada")
	off()
	greetedEvent.Emit(context.Background(), k, "nobody hears this")
	// Output: greeted Ada
}

func ExampleHook() {
	k, ctx := newApp(kernel.Config{}).Root(), context.Background()
	greetHook.Use(k, func(ctx context.Context, g *greeting, next kernel.Next) error {
		if g.Name == "" {
			return nil // not calling next ends it here
		}
		g.Name = "dear " + g.Name
		return next(ctx)
	})
	for _, name := range []string{"Ada", ""} {
		g := &greeting{Name: name}
		end, err := greetHook.Run(ctx, k, g, func(context.Context) error { fmt.Println("greeting", g.Name); return nil })
		fmt.Println(end, err)
	}
	// Output:
	// greeting dear Ada
	// true <nil>
	// false <nil>
}

func ExamplePoint() {
	k := newApp(kernel.Config{}).Root()
	for _, id := range []string{"zh-CN", "en"} {
		if _, err := greetPoint.Contribute(k, id, "spec of "+id); err != nil {
			fmt.Println(err)
		}
	}
	for _, c := range greetPoint.Collect(k) {
		fmt.Println(c.Key, c.Spec)
	}
	// Output:
	// root/en spec of en
	// root/zh-CN spec of zh-CN
}

func ExampleSetting() {
	ctx := context.Background()
	app := newApp(kernel.Config{Settings: map[string]json.RawMessage{"salutation": []byte(`"Hello"`)}})
	_ = app.Start(ctx)
	greetSetting.Watch(app.Root(), func(_ context.Context, v string, present bool) { fmt.Println(v, present) })
	_, _ = app.Apply(ctx, kernel.Config{Settings: map[string]json.RawMessage{"salutation": []byte(`"Good day"`)}})
	_ = app.Stop(ctx)
	// Output:
	// Hello true
	// Good day true
}
