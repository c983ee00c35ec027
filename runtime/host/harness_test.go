// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/runtime/host/metrics"
	"github.com/aalis-dev/aalis-operator/runtime/host/report"
	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// safeBuffer is a buffer for concurrent writers and readers.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// values is a Source that tests change.
type values struct {
	mu sync.Mutex
	m  secrets.Map
}

func (v *values) Lookup(k secrets.Key) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.m.Lookup(k)
}

func (v *values) set(m secrets.Map) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.m = maps.Clone(m)
}

// probe is what a test module tells.
type probe struct {
	mu      sync.Mutex
	applies map[string][]keyConfig
	hold    chan struct{} // drains wait for it
	drained chan string
}

type keyConfig struct {
	APIKey string `json:"apiKey" secret:"true" maxLength:"10"`
	Tokens string `json:"tokens" secret:"true" type:"textarea"`
	Note   string `json:"note"`
	Nested struct {
		Key string `json:"key" secret:"true"`
	} `json:"nested"`
}

// modules are a reusable module "key" with secrets, a module "plain" without, and one that fails.
func (p *probe) modules() []kernel.Module {
	key := kernel.Define(kernel.Module{Name: "@aalis/plugin-key", Reusable: true}, keyConfig{}, func(k *kernel.Context, cfg keyConfig) error {
		p.note(k.ID(), cfg)
		k.OnDrain("work", func(ctx context.Context) {
			p.mu.Lock()
			hold := p.hold
			p.mu.Unlock()
			if hold == nil {
				return
			}
			select {
			case <-hold:
				p.drained <- k.ID()
			case <-ctx.Done():
			}
		})
		return nil
	})
	plain := kernel.Define(kernel.Module{Name: "@aalis/plugin-plain", Reusable: true}, struct {
		Note string `json:"note"`
	}{}, func(k *kernel.Context, _ struct {
		Note string `json:"note"`
	}) error {
		p.note(k.ID(), keyConfig{})
		return nil
	})
	failing := kernel.Define(kernel.Module{Name: "@aalis/plugin-failing"}, struct{}{}, func(*kernel.Context, struct{}) error {
		return errors.New("no luck")
	})
	return []kernel.Module{failing, key, plain}
}

func (p *probe) note(id string, cfg keyConfig) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.applies == nil {
		p.applies = map[string][]keyConfig{}
	}
	p.applies[id] = append(p.applies[id], cfg)
}

func (p *probe) starts(id string) []keyConfig {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]keyConfig(nil), p.applies[id]...)
}

// bench is a Runner under test.
type bench struct {
	t       *testing.T
	probe   *probe
	secrets *values
	runner  *Runner
	log     *safeBuffer
	level   *slog.LevelVar
	reports chan report.Snapshot
	stop    func() error
}

func newBench(t *testing.T, change ...func(*RunnerOptions)) *bench {
	t.Helper()
	b := &bench{
		t: t, probe: &probe{drained: make(chan string, 10)}, secrets: &values{m: secrets.Map{}}, log: &safeBuffer{},
		level: &slog.LevelVar{}, reports: make(chan report.Snapshot, 1000),
	}
	o := RunnerOptions{
		Modules: b.probe.modules(), Secrets: b.secrets, Logger: NewLogger(b.log, slog.LevelDebug, true), Level: b.level,
		Metrics: metrics.New(metrics.Options{Agent: "hello"}), Now: time.Now, Changed: func(s report.Snapshot) { b.reports <- s },
	}
	for _, c := range change {
		c(&o)
	}
	b.runner = NewRunner(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.runner.Run(ctx) }()
	b.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := b.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
		if t.Failed() {
			t.Logf("log:\n%s", b.log)
		}
	})
	return b
}

// config is a bot of these plugins.
func config(plugins ...kernelconfig.Plugin) kernelconfig.Config {
	return kernelconfig.Config{Format: kernelconfig.Format, Name: "hello", DrainTimeoutSeconds: 5, Plugins: plugins}
}

// plugin is an instance id of a test module with a note.
func plugin(id, note string, from ...kernelconfig.Secret) kernelconfig.Plugin {
	module := id
	for i, r := range id {
		if r == ':' {
			module = id[:i]
		}
	}
	p := kernelconfig.Plugin{ID: "@aalis/plugin-" + id, Module: "@aalis/plugin-" + module, Secrets: from}
	if note != "" {
		p.Config = map[string]any{"note": note}
	}
	return p
}

func fromSecret(path string) kernelconfig.Secret {
	return kernelconfig.Secret{Path: path, Name: "llm", Key: "api-key"}
}

func pack(t testing.TB, c kernelconfig.Config, sequence int64) *kernelconfig.Delivery {
	t.Helper()
	d, err := kernelconfig.Pack(c, sequence)
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

// deliver hands over slots.
func (b *bench) deliver(current, lastGood *kernelconfig.Delivery) {
	b.runner.Deliver(Delivery{Slots: kernelconfig.Slots{Current: current, LastGood: lastGood}, At: time.Now()})
}

// await waits for a report that is as wanted.
func (b *bench) await(what string, ok func(report.Snapshot) bool) report.Snapshot {
	b.t.Helper()
	deadline := time.After(patience)
	var last report.Snapshot
	for {
		select {
		case last = <-b.reports:
			if ok(last) {
				return last
			}
		case <-deadline:
			b.t.Fatalf("gave up waiting until %s; last: %s", what, show(last))
		}
	}
}

func show(s report.Snapshot) string {
	return fmt.Sprintf("%+v applied=%+v rejected=%+v", s, s.Applied, s.Rejected)
}

func applied(sequence int64) func(report.Snapshot) bool {
	return func(s report.Snapshot) bool { return s.Applied != nil && s.Applied.Sequence == sequence }
}

func rejected(sequence int64) func(report.Snapshot) bool {
	return func(s report.Snapshot) bool { return s.Rejected != nil && s.Rejected.Sequence == sequence }
}

// pluginIs waits for the state, and the message, of a plugin.
func pluginIs(id, state, message string) func(report.Snapshot) bool {
	return func(s report.Snapshot) bool {
		for _, p := range s.Plugins {
			if p.ID == "@aalis/plugin-"+id {
				return p.State == state && p.Message == message
			}
		}
		return false
	}
}
