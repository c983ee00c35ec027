// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

var (
	store   = kernel.NewService[map[string]string]("store")
	flavour = kernel.NewService[string]("flavour")
	ticked  = kernel.NewEvent[int]("ticked")
	mood    = kernel.NewSetting[string]("mood")
)

type config struct {
	Name   string `json:"name" required:"true"`
	APIKey string `json:"apiKey" secret:"true"`
	Nested struct {
		Token string `json:"token" secret:"true"`
	} `json:"nested"`
}

// plugin is well behaved, unless told otherwise by misbehave.
func plugin(misbehave func(k *kernel.Context, c config) error) kernel.Module {
	return kernel.Define(kernel.Module{
		Name: "@test/plugin", DisplayName: "Plugin", Summary: "Does a little of everything.", Stability: kernel.Alpha,
		Inject: kernel.Inject{Required: []string{"store"}, Optional: []string{"flavour"}}, Provides: []string{"ticker"},
		Permissions: []kernel.Permission{kernel.Network},
	}, config{}, func(k *kernel.Context, c config) error {
		kernel.NewService[int]("ticker").Provide(k, 1)
		ticked.On(k, func(context.Context, int) error { return nil })
		flavour.When(k, func(string) func() { return nil })
		k.Go("loop", func(ctx context.Context) { <-ctx.Done() })
		k.OnDispose("close", func(context.Context) error { return nil })
		if misbehave != nil {
			return misbehave(k, c)
		}
		return nil
	})
}

func options() []kerneltest.Option {
	return []kerneltest.Option{
		kerneltest.WithService(store, map[string]string{}), kerneltest.WithService(flavour, "plain"),
		kerneltest.WithConfig(map[string]any{"name": "x"}), kerneltest.WithSetting("mood", "calm"),
	}
}

func TestConformanceOfGoodPlugin(t *testing.T) {
	kerneltest.Run(t, plugin(nil), options()...)
}

// bad lists what Run must find, by the subtest that finds it.
var bad = map[string]func() (kernel.Module, []kerneltest.Option){
	"secrets are not logged": func() (kernel.Module, []kerneltest.Option) {
		return plugin(func(k *kernel.Context, c config) error {
			k.Logger().Debug("Connecting", slog.Group("auth", "token", c.Nested.Token))
			return nil
		}), options()
	},
	"nothing stays behind": func() (kernel.Module, []kerneltest.Option) {
		return plugin(func(k *kernel.Context, _ config) error {
			host, _ := kernel.ServiceApp.Get(k)
			ticked.On(host.Root(), func(context.Context, int) error { return nil })
			return nil
		}), options()
	},
	"starts and stops": func() (kernel.Module, []kerneltest.Option) {
		return plugin(func(k *kernel.Context, _ config) error {
			k.OnDispose("stubborn", func(context.Context) error { <-make(chan struct{}); return nil })
			return nil
		}), append(options(), kerneltest.WithOptions(func(o *kernel.Options) { o.DisposeTimeout = time.Millisecond }))
	},
	"required service store": func() (kernel.Module, []kerneltest.Option) {
		m := plugin(nil)
		inner := m.Apply
		first := true
		m.Apply = func(k *kernel.Context, cfg map[string]any) error {
			_, ok := store.Get(k)
			if !first && !ok {
				return errors.New("no store")
			}
			first = false
			k.OnDispose("fails", func(context.Context) error { return errors.New("cannot close") })
			return inner(k, cfg)
		}
		return m, options()
	},
	"metadata": func() (kernel.Module, []kerneltest.Option) {
		m := plugin(nil)
		m.Summary, m.Stability, m.DisplayName, m.Permissions = "two\nlines", "", "", []kernel.Permission{"all"}
		m.Inject.Optional = []string{"store"}
		return m, options()
	},
	"optional service flavour": func() (kernel.Module, []kerneltest.Option) {
		m := plugin(func(k *kernel.Context, _ config) error {
			if _, ok := flavour.Get(k); !ok {
				return errors.New("flavour is not optional at all")
			}
			return nil
		})
		return m, options()
	},
	"give a fake": func() (kernel.Module, []kerneltest.Option) { return plugin(nil), nil },
}

const badEnv = "KERNELTEST_BAD"

// TestBadPlugin is run by TestConformanceOfBadPlugins in a process of its own, where it must fail.
func TestBadPlugin(t *testing.T) {
	which := os.Getenv(badEnv)
	if which == "" {
		t.Skip("run by TestConformanceOfBadPlugins")
	}
	m, opts := bad[which]()
	kerneltest.Run(t, m, opts...)
}

func TestConformanceOfBadPlugins(t *testing.T) {
	for which := range bad {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestBadPlugin$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), badEnv+"="+which)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("passed:\n%s", out)
			}
			for _, want := range []string{"FAIL", strings.ReplaceAll(which, " ", "_")} {
				if !strings.Contains(string(out), want) && !strings.Contains(string(out), which) {
					t.Errorf("the output does not have %q:\n%s", want, out)
				}
			}
		})
	}
}

func TestHarness(t *testing.T) {
	kerneltest.NoLeaks(t)
	h := kerneltest.New(t, kerneltest.WithPlugin(plugin(nil), "", map[string]any{"name": "x"}),
		kerneltest.WithSetting("mood", "calm"), kerneltest.WithModules(kernel.Module{
			Name: "spare", Apply: func(*kernel.Context, map[string]any) error { return nil },
		}))
	h.WantState("@test/plugin", recompute.Pending)
	off := store.Provide(h.Root(), nil)
	h.WantState("@test/plugin", recompute.Active)
	off()
	h.WantState("@test/plugin", recompute.Pending)
	if v, ok, err := mood.Get(h.Root()); v != "calm" || !ok || err != nil {
		t.Errorf("setting %q, %v, %v", v, ok, err)
	}
	report := h.Apply(func(c *kernel.Config) { c.Plugins["spare"] = kernel.PluginConfig{} })
	if len(report.Registered) != 1 || h.Plugin("spare").State != recompute.Active {
		t.Errorf("report %+v", report)
	}
	h.Stop()
}

func TestClock(t *testing.T) {
	c := kerneltest.NewClock()
	start := c.Now()
	c.Advance(time.Hour)
	if got := c.Now().Sub(start); got != time.Hour {
		t.Errorf("advanced %s", got)
	}
	c.Set(start)
	if !c.Now().Equal(start) {
		t.Errorf("set to %s", c.Now())
	}
}

func TestLogs(t *testing.T) {
	logs := &kerneltest.Logs{}
	l := slog.New(logs)
	l.Debug("one", "a", 1)
	l.With("scope", "x").WithGroup("g").With("b", 2).Warn("two", slog.Group("h", "c", 3), slog.Group("", "d", 4))
	l.WithGroup("").WithGroup("top").Error("three", "e", errors.New("broken"))
	want := "DEBUG one a=\"1\"\nWARN two g.b=\"2\" g.d=\"4\" g.h.c=\"3\" scope=\"x\"\nERROR three top.e=\"broken\"\n"
	if got := logs.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := len(logs.AtLeast(slog.LevelWarn)); got != 2 {
		t.Errorf("%d records at warn or above", got)
	}
	if got := logs.Find("two", "scope"); len(got) != 1 || got[0].Attrs["g.b"] != "2" {
		t.Errorf("found %v", got)
	}
	logs.Reset()
	if got := logs.Records(); len(got) != 0 {
		t.Errorf("after reset %v", got)
	}
}
