// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/host/filewatch"
	"github.com/aalis-dev/aalis-operator/runtime/host/report"
	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

const keyID, plainID = "@aalis/plugin-key:a", "@aalis/plugin-plain"

func TestColdStartAndHotApply(t *testing.T) {
	b := newBench(t)
	if ok, why := b.runner.Ready(); ok || why == "" {
		t.Errorf("ready %v %q before there is a config", ok, why)
	}
	c := config(plugin("key:a", "one"), plugin("plain", ""))
	c.LogLevel = "warn"
	one := pack(t, c, 1)
	b.deliver(one, nil)
	s := b.await("1 runs", applied(1))
	if s.Applied.Revision != one.Revision || s.Rejected != nil || s.Recompute == nil || s.Recompute.Rounds < 1 {
		t.Errorf("got %s", show(s))
	}
	if ok, why := b.runner.Ready(); !ok {
		t.Errorf("not ready: %s", why)
	}
	if b.level.Level() != slog.LevelWarn {
		t.Errorf("level is %v", b.level)
	}
	c.Plugins[0].Config["note"] = "two"
	b.deliver(pack(t, c, 2), one)
	b.await("2 runs", applied(2))
	if got := b.probe.starts(keyID); len(got) != 2 || got[1].Note != "two" {
		t.Errorf("got %+v", got)
	}
	if got := b.probe.starts(plainID); len(got) != 1 {
		t.Errorf("an unchanged plugin was started %d times", len(got))
	}
}

func TestOnlyHigherSequences(t *testing.T) {
	b := newBench(t)
	b.deliver(pack(t, config(plugin("plain", "one")), 5), nil)
	b.await("5 runs", applied(5))
	b.deliver(pack(t, config(plugin("plain", "lower")), 4), nil)
	b.deliver(pack(t, config(plugin("plain", "same")), 5), nil)
	b.deliver(nil, nil)
	b.deliver(pack(t, config(plugin("plain", "one")), 6), nil) // the same revision again is acknowledged
	b.await("6 runs", applied(6))
	if got := b.probe.starts(plainID); len(got) != 1 {
		t.Errorf("got %d starts", len(got))
	}
}

func TestDeliveriesThatWaitKeepTheHighest(t *testing.T) {
	r := NewRunner(RunnerOptions{})
	for _, sequence := range []int64{3, 7, 5} {
		r.Deliver(Delivery{Slots: kernelconfig.Slots{Current: &kernelconfig.Delivery{Sequence: sequence}}})
	}
	r.Deliver(Delivery{})
	if got := r.inbox.Slots.Current.Sequence; got != 7 {
		t.Errorf("kept %d", got)
	}
}

func TestRejectedKeepsTheOld(t *testing.T) {
	b := newBench(t)
	b.deliver(pack(t, config(plugin("plain", "one")), 1), nil)
	b.await("1 runs", applied(1))
	damaged := pack(t, config(), 3)
	damaged.Revision = "0123"
	for _, tc := range []struct {
		name    string
		d       *kernelconfig.Delivery
		message string
	}{
		{"unknown module", pack(t, config(plugin("plian", "")), 2), "plugins[@aalis/plugin-plian]: unknown module"},
		{"damaged", damaged, "revision 0123"},
		{"unknown key", pack(t, config(kernelconfig.Plugin{ID: plainID, Module: plainID, Config: map[string]any{"nota": 1}}), 4), "config.nota: unknown key"},
		{"twice", pack(t, config(plugin("plain", "a"), plugin("plain", "b")), 5), "listed twice"},
		{"secret into text", pack(t, config(kernelconfig.Plugin{
			ID: keyID, Module: "@aalis/plugin-key", Config: map[string]any{"nested": "x"}, Secrets: []kernelconfig.Secret{fromSecret("nested.key")},
		}), 6), "config.nested: must be an object, because a Secret fills config.nested.key"},
	} {
		b.deliver(tc.d, nil)
		s := b.await(tc.name, rejected(tc.d.Sequence))
		if s.Applied == nil || s.Applied.Sequence != 1 || s.Rejected.Revision != tc.d.Revision || !strings.Contains(s.Rejected.Message, tc.message) {
			t.Errorf("%s: got %s", tc.name, show(s))
		}
		if ok, why := b.runner.Ready(); !ok {
			t.Errorf("%s: not ready: %s", tc.name, why)
		}
	}
	// A rejected one that comes again is not tried again, and a newer one clears it.
	b.deliver(pack(t, config(plugin("plain", "seven")), 7), nil)
	if s := b.await("7 runs", applied(7)); s.Rejected != nil {
		t.Errorf("got %s", show(s))
	}
	if n := strings.Count(b.log.String(), "Rejected config"); n != 5 {
		t.Errorf("%d rejections in the log", n)
	}
}

func TestColdStartFallsBack(t *testing.T) {
	b := newBench(t)
	good, bad := pack(t, config(plugin("plain", "good")), 4), pack(t, config(plugin("nope", "")), 5)
	b.deliver(bad, good)
	s := b.await("the last good runs", applied(4))
	if s.Rejected == nil || s.Rejected.Sequence != 5 || s.Rejected.Revision != bad.Revision {
		t.Errorf("got %s", show(s))
	}
	b.deliver(bad, good) // told again
	b.deliver(pack(t, config(plugin("plain", "six")), 6), good)
	if s := b.await("6 runs", applied(6)); s.Rejected != nil {
		t.Errorf("got %s", show(s))
	}
}

func TestColdStartWithNothingUsable(t *testing.T) {
	b := newBench(t)
	b.runner.SecretsChanged() // nothing to do yet
	bad := pack(t, config(plugin("nope", "")), 2)
	worse := pack(t, config(plugin("nope2", "")), 1)
	b.deliver(bad, worse)
	b.await("2 is rejected", rejected(2))
	if ok, why := b.runner.Ready(); ok || why != "no delivered config can run: see the log" {
		t.Errorf("ready %v %q", ok, why)
	}
	b.deliver(pack(t, config(), 3), nil)
	b.await("3 runs", applied(3))
	if ok, _ := b.runner.Ready(); !ok {
		t.Error("not ready")
	}
}

func TestUnreadableCurrent(t *testing.T) {
	b := newBench(t)
	good := pack(t, config(plugin("plain", "good")), 4)
	b.runner.Deliver(Delivery{Slots: kernelconfig.Slots{LastGood: good}, Err: errors.New("reading the header of current: x"), At: time.Now()})
	s := b.await("the last good runs", applied(4))
	if s.Rejected == nil || s.Rejected.Revision != "unreadable" || !strings.Contains(s.Rejected.Message, "header of current") {
		t.Errorf("got %s", show(s))
	}
	b.deliver(pack(t, config(), 5), nil)
	if s := b.await("5 runs", applied(5)); s.Rejected != nil {
		t.Errorf("got %s", show(s))
	}
}

func TestSecretLifeCycle(t *testing.T) {
	b := newBench(t)
	key := secrets.Key{Name: "llm", Key: "api-key"}
	b.deliver(pack(t, config(plugin("key:a", "", fromSecret("apiKey")), plugin("plain", "")), 1), nil)
	b.await("the plugin waits", pluginIs("key:a", "Pending", "waiting for secret:llm/api-key"))
	steps := []struct {
		name, value, state, message, seen string
	}{
		{"it comes", "sk-1\n", "Active", "", "sk-1"},
		{"rotated", "sk-2", "Active", "", "sk-2"},
		{"line break inside", "sk\n3", "Pending", "Secret llm key api-key: the value has a line break inside; it must be one line", ""},
		{"empty", "\n", "Pending", "Secret llm key api-key: the value is empty", ""},
		{"too long for the field", "sk-1234567890", "Pending", "Secret llm key api-key: the value does not fit config.apiKey: it may not be longer than 10 characters", ""},
		{"right again", "sk-4", "Active", "", "sk-4"},
		{"gone", "-", "Pending", "waiting for secret:llm/api-key", ""},
		{"back", "sk-4", "Active", "", "sk-4"},
	}
	for _, s := range steps {
		before := len(b.probe.starts(keyID))
		m := secrets.Map{key: s.value}
		if s.value == "-" {
			m = secrets.Map{}
		}
		b.secrets.set(m)
		b.runner.SecretsChanged()
		b.await(s.name, func(r report.Snapshot) bool {
			starts := b.probe.starts(keyID)
			return pluginIs("key:a", s.state, s.message)(r) && (s.seen == "" || starts[len(starts)-1].APIKey == s.seen)
		})
		starts := b.probe.starts(keyID)
		if want := before + btoi(s.seen != ""); len(starts) != want {
			t.Errorf("%s: %d starts, want %d", s.name, len(starts), want)
		}
	}
	if n := len(b.probe.starts(plainID)); n != 1 {
		t.Errorf("another plugin was started %d times", n)
	}
	if r := b.runner.Report(); r.Applied.Sequence != 1 || r.Rejected != nil {
		t.Errorf("got %s", show(r))
	}
	log := b.log.String()
	if !strings.Contains(log, "Removed trailing line breaks") || strings.Contains(log, "sk-") || strings.Contains(log, "sk\n") {
		t.Errorf("log:\n%s", log)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSecretOfSeveralPlugins has one key in two plugins and in fields of both kinds.
func TestSecretOfSeveralPlugins(t *testing.T) {
	b := newBench(t)
	b.secrets.set(secrets.Map{{Name: "llm", Key: "api-key"}: "a: 1\nb: 2\n"})
	off := plugin("key:off", "", fromSecret("apiKey"))
	off.Disabled = true
	b.deliver(pack(t, config(
		plugin("key:line", "", fromSecret("apiKey"), fromSecret("nested.key")), plugin("key:area", "", fromSecret("tokens")), off, plugin("plain", ""),
	), 1), nil)
	s := b.await("it runs", applied(1))
	for id, want := range map[string][2]string{
		"key:line": {"Pending", "Secret llm key api-key: the value has a line break inside; it must be one line; Secret llm key api-key: the value has a line break inside; it must be one line"},
		"key:area": {"Active", ""}, "key:off": {"Disabled", ""}, "plain": {"Active", ""},
	} {
		if !pluginIs(id, want[0], want[1])(s) {
			t.Errorf("%s: got %s", id, show(s))
		}
	}
	if got := b.probe.starts("@aalis/plugin-key:area"); len(got) != 1 || got[0].Tokens != "a: 1\nb: 2" {
		t.Errorf("got %+v", got)
	}
	b.secrets.set(secrets.Map{{Name: "llm", Key: "api-key"}: "sk"})
	b.runner.SecretsChanged()
	b.await("both run", func(s report.Snapshot) bool {
		return pluginIs("key:line", "Active", "")(s) && pluginIs("key:area", "Active", "")(s)
	})
	if got := b.probe.starts("@aalis/plugin-key:line"); len(got) != 1 || got[0].Nested.Key != "sk" || got[0].APIKey != "sk" {
		t.Errorf("got %+v", got)
	}
}

// TestMountedSecretSwap changes a Secret as the kubelet does: a new directory, then a swap of the symlink ..data.
func TestMountedSecretSwap(t *testing.T) {
	for _, layout := range []string{"one volume", "a volume each"} {
		t.Run(layout, func(t *testing.T) {
			root := t.TempDir()
			volume, inside := root, "llm"
			if layout == "a volume each" {
				volume, inside = filepath.Join(root, "llm"), "."
			}
			mount := func(version, value string) {
				dir := filepath.Join(volume, "..v"+version)
				must(t, os.MkdirAll(filepath.Join(dir, inside), 0o700))
				if value != "" {
					must(t, os.WriteFile(filepath.Join(dir, inside, "api-key"), []byte(value), 0o600))
				}
				must(t, os.Symlink("..v"+version, filepath.Join(volume, "..data_tmp")))
				must(t, os.Rename(filepath.Join(volume, "..data_tmp"), filepath.Join(volume, "..data")))
			}
			mount("1", "")
			if inside == "." {
				must(t, os.Symlink("..data/api-key", filepath.Join(volume, "api-key")))
			} else {
				must(t, os.Symlink("..data/llm", filepath.Join(volume, "llm")))
			}
			b := newBench(t, func(o *RunnerOptions) { o.Secrets = secrets.Dir(root) })
			watch, err := filewatch.New([]string{root}, filewatch.Options{Debounce: time.Millisecond, Below: true})
			must(t, err)
			done := make(chan struct{})
			go func() { defer close(done); watch.Run(t.Context(), b.runner.SecretsChanged) }()
			t.Cleanup(func() { <-done })
			b.deliver(pack(t, config(plugin("key:a", "", fromSecret("apiKey"))), 1), nil)
			b.await("the plugin waits", pluginIs("key:a", "Pending", "waiting for secret:llm/api-key"))
			for i, value := range []string{"first", "second"} {
				mount([]string{"2", "3"}[i], value)
				b.await(value, func(s report.Snapshot) bool {
					starts := b.probe.starts(keyID)
					return pluginIs("key:a", "Active", "")(s) && starts[len(starts)-1].APIKey == value
				})
			}
			mount("4", "")
			b.await("the plugin waits again", pluginIs("key:a", "Pending", "waiting for secret:llm/api-key"))
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStopDrains(t *testing.T) {
	b := newBench(t)
	b.probe.hold = make(chan struct{})
	b.deliver(pack(t, config(plugin("key:a", "")), 1), nil)
	b.await("1 runs", applied(1))
	stopped := make(chan error, 1)
	go func() { stopped <- b.stop() }()
	for ok := true; ok; {
		var why string
		if ok, why = b.runner.Ready(); !ok && why != "draining" {
			t.Errorf("not ready: %s", why)
		}
	}
	select {
	case err := <-stopped:
		t.Fatalf("stopped with work under way: %v", err)
	default:
	}
	close(b.probe.hold)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if id := <-b.probe.drained; id != keyID {
		t.Errorf("drained %s", id)
	}
	if b.runner.App() != nil {
		t.Error("there is a kernel after the end")
	}
}

func TestNoDrainTimeMeansNoWait(t *testing.T) {
	b := newBench(t)
	b.probe.hold = make(chan struct{}) // never closed
	c := config(plugin("key:a", ""))
	c.DrainTimeoutSeconds = 0
	b.deliver(pack(t, c, 1), nil)
	b.await("1 runs", applied(1))
	if err := b.stop(); err != nil {
		t.Error(err)
	}
}

func TestPluginErrorAndSettings(t *testing.T) {
	var root *kernel.Context
	b := newBench(t, func(o *RunnerOptions) {
		o.Settings = localSettings(kernelconfig.Config{Name: "b"})
		o.LogLevel = "error"
		o.Attach = []func(*kernel.Context){func(k *kernel.Context) { root = k }}
	})
	c := config(plugin("failing", ""), plugin("key:z", "x"), plugin("key:a", "x"))
	c.Language = "zh-CN"
	c.Model = &kernelconfig.Model{Provider: "p", ID: "m"}
	c.Persona = &kernelconfig.Persona{Source: "owl", Name: "Owl", Prompt: "<be calm>"}
	c.Authority = &kernelconfig.Authority{DeniedCapabilities: []string{"tool:x"}}
	c.Preferences = []kernelconfig.Preference{{Service: "llm", Prefer: []string{"p/m"}}}
	b.deliver(pack(t, c, 1), nil)
	s := b.await("1 runs", applied(1))
	if !pluginIs("failing", "Error", "no luck")(s) {
		t.Errorf("got %s", show(s))
	}
	if !slices.IsSortedFunc(s.Plugins, func(a, b report.Plugin) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("plugins are not sorted: %s", show(s))
	}
	if ref, ok, err := agent.ModelSetting.Get(root); ref != (llm.Ref{Provider: "p", ID: "m"}) || !ok || err != nil {
		t.Errorf("got %+v %v %v", ref, ok, err)
	}
	if got := root.Preferred("llm"); !slices.Equal(got, []string{"p/m"}) {
		t.Errorf("got %v", got)
	}
	cfg := b.runner.App().Config()
	for key, want := range map[string]string{
		"language": `"zh-CN"`, "network": `{"allowLoopback":true}`, "model": `{"provider":"p","id":"m"}`,
		"authority": `{"deniedCapabilities":["tool:x"]}`,
	} {
		if got := string(cfg.Settings[key]); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
	if cfg.LogLevel != "error" || b.level.Level() != slog.LevelError {
		t.Errorf("log level %s, %v: the option did not win", cfg.LogLevel, b.level)
	}
}

// fakeAgent has a model, or says why not.
type fakeAgent struct {
	agent.Agent
	model string
	err   error
}

func (f fakeAgent) AbortTurn(string)              {}
func (f fakeAgent) DefaultModel() (string, error) { return f.model, f.err }

func TestReportFollowsTheModel(t *testing.T) {
	var root *kernel.Context
	b := newBench(t, func(o *RunnerOptions) {
		o.Attach = []func(*kernel.Context){func(k *kernel.Context) { root = k }}
	})
	b.deliver(pack(t, config(), 1), nil)
	if s := b.await("1 runs", applied(1)); s.Model != "" || s.ModelMessage != "" {
		t.Errorf("got %s", show(s))
	}
	off := agent.Service.Provide(root, fakeAgent{err: errors.New("the model is not there")})
	kernel.EventServiceRegistered.Emit(t.Context(), root, "llm")
	b.await("the message", func(s report.Snapshot) bool { return s.ModelMessage == "the model is not there" && s.Model == "" })
	off()
	agent.Service.Provide(root, fakeAgent{model: "p/m"})
	kernel.EventServicePreferenceChanged.Emit(t.Context(), root, "llm")
	b.await("the model", func(s report.Snapshot) bool { return s.Model == "p/m" && s.ModelMessage == "" })
}
