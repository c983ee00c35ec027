// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/host"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// BenchmarkBoot starts and stops a bot as most are, with the modules that are on by default, a provider and the way in: to the moment at which all plugins are active and the app
// has said so. The model server is one that refuses connections; the platform listens on a real port.
func BenchmarkBoot(b *testing.B) {
	ctx := context.Background()
	modules := host.Modules()
	for _, timed := range []string{"start", "stop"} {
		b.Run(timed, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				app, err := kernel.New(kernel.Options{Modules: modules, Now: time.Now, Config: bootConfig(b, modules)})
				if err != nil {
					b.Fatal(err)
				}
				for _, step := range []struct {
					name string
					run  func(context.Context) error
				}{{"start", app.Start}, {"stop", app.Stop}} {
					if step.name == timed {
						b.StartTimer()
					}
					if err := step.run(ctx); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					if step.name == "start" {
						wantAllActive(b, app)
					}
				}
				b.StartTimer()
			}
		})
	}
}

func wantAllActive(b *testing.B, app *kernel.App) {
	b.Helper()
	status := app.Plugins().Status()
	for _, p := range status {
		if p.State != recompute.Active {
			b.Fatalf("%s is %s: %s%s", p.ID, p.State, p.Message, p.Error)
		}
	}
	if len(status) < 10 {
		b.Fatalf("%d plugins are too few to be a bot", len(status))
	}
}

// bootConfig gives each module of such a bot one instance, with what some of them need besides their defaults.
func bootConfig(b *testing.B, modules []kernel.Module) kernel.Config {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	needs := map[string]map[string]any{
		"@aalis/plugin-llm-openai":      {"baseUrl": fmt.Sprintf("http://127.0.0.1:%d", port), "customModels": "model-a, model-b"},
		"@aalis/plugin-platform-openai": {"port": port, "tokens": "alice: token-of-alice"},
	}
	cfg := kernel.Config{
		Plugins:  map[string]kernel.PluginConfig{},
		Settings: map[string]json.RawMessage{"network": json.RawMessage(`{"allowLoopback":true}`)},
	}
	for _, m := range modules {
		if !strings.HasPrefix(m.Name, "@aalis/plugin-") {
			b.Fatalf("module %s has no short name", m.Name)
		}
		if needs[m.Name] == nil && !m.OnByDefault {
			continue
		}
		cfg.Plugins[m.Name] = kernel.PluginConfig{Config: needs[m.Name]}
	}
	return cfg
}
