// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/host/console"
	"github.com/aalis-dev/aalis-operator/runtime/host/filewatch"
	"github.com/aalis-dev/aalis-operator/runtime/host/metrics"
	"github.com/aalis-dev/aalis-operator/runtime/host/report"
	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// modelWait is how long a script's first message waits for a model to be found.
const modelWait = 5 * time.Second

// modelModules begins the names of the modules that bring models.
const modelModules = "@aalis/plugin-llm-"

// localSettings are the top-level keys of a bot that runs on somebody's own machine: its models may be there, too.
// On a shared server a bot is told from others by its namespace and name.
func localSettings(c kernelconfig.Config) map[string]json.RawMessage {
	out := identitySettings("local", cmp.Or(c.Namespace, "default"), c.Name)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	out["network"] = json.RawMessage(`{"allowLoopback":true}`)
	out[access.ConsoleSetting.Key()] = json.RawMessage("true")
	return out
}

// Loaded is what the files declare now.
type Loaded struct {
	Config kernelconfig.Config
	// Secrets are the values that stand in the files.
	Secrets secrets.Map
	// Notes are for the user to read.
	Notes []string
}

// LocalOptions configure RunLocal.
type LocalOptions struct {
	Modules              []kernel.Module
	Version, CatalogHash string
	// Load reads and composes the files.
	Load func() (Loaded, error)
	// Dirs are watched for changes of what Load reads, and of the files of Secrets.
	Dirs []string
	// Secrets are asked before those of the files.
	Secrets secrets.Source
	DataDir string
	// Addr serves probes and metrics unless empty.
	Addr string
	// Tracing says where spans go, if anywhere. The bot's names in it are filled in.
	Tracing TracingOptions
	// In and Out are the conversation, Notes what else there is to say.
	In         io.Reader
	Out, Notes io.Writer
	// Interactive tells that a person sits at In.
	Interactive bool
	// Once is the only message, instead of those of In, unless empty.
	Once     string
	Logger   *slog.Logger
	LogLevel string
	Now      func() time.Time
	// Listening is told the address that Addr became; it may be nil.
	Listening func(net.Addr)
}

// DeclarationError says that what is declared cannot run.
type DeclarationError struct{ Err error }

// Error implements error.
func (e *DeclarationError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *DeclarationError) Unwrap() error { return e.Err }

// local is a bot that runs from files.
type local struct {
	LocalOptions
	runner   *Runner
	inFiles  atomic.Pointer[secrets.Map]
	sequence int64
	revision string
	failing  bool // the files cannot be used as they are now
	running  atomic.Int64
	say      *sayer
	reports  chan report.Snapshot // the newest
}

// RunLocal runs a bot from files and talks to it until the input or ctx ends, then drains. It returns a
// *DeclarationError if the bot could not start, and console.ErrFailed if an answer failed.
func RunLocal(ctx context.Context, o LocalOptions) error {
	watch, err := filewatch.New(o.Dirs, filewatch.Options{Logger: o.Logger})
	if err != nil {
		return err
	}
	defer watch.Close()
	l := &local{LocalOptions: o, say: &sayer{w: o.Notes, last: map[string][]string{}}, reports: make(chan report.Snapshot, 1)}
	first, err := l.load()
	if err != nil {
		return &DeclarationError{Err: err}
	}
	meter := metrics.New(metrics.Options{
		Agent: first.Config.Name, Namespace: first.Config.Namespace, Version: o.Version, CatalogHash: o.CatalogHash,
	})
	o.Tracing.Agent, o.Tracing.Namespace, o.Tracing.Version = first.Config.Name, first.Config.Namespace, o.Version
	tracer, attach, stopTracing, err := startTracing(ctx, o.Tracing, o.Logger, o.Now)
	if err != nil {
		return err
	}
	defer stopTracing()
	talk := console.New(console.Options{In: o.In, Out: o.Out, Interactive: o.Interactive && o.Once == "", Name: speaker(first.Config)})
	l.runner = NewRunner(RunnerOptions{
		Modules: o.Modules, Secrets: secrets.Chain{o.Secrets, l}, Settings: localSettings(first.Config), LogLevel: o.LogLevel,
		Logger: o.Logger, Metrics: meter, Tracer: tracer, Now: o.Now, Version: o.Version, DataDir: o.DataDir,
		Attach:  append(attach, meter.Attach, talk.Attach),
		Changed: l.changed, Rejected: l.rejected,
	})
	if o.Addr != "" {
		bound, stop, err := serve(o.Addr, newHandler(l.runner.Ready, meter.Handler(), l.runner.serveUsage(first.Config.Namespace)), o.Logger)
		if err != nil {
			return err
		}
		defer stop()
		if o.Listening != nil {
			o.Listening(bound)
		}
	}
	if err := l.deliver(first); err != nil {
		return &DeclarationError{Err: err}
	}
	return l.run(ctx, watch, talk)
}

// speaker is the name under which an interactive console shows the bot.
func speaker(c kernelconfig.Config) string {
	if c.Persona != nil && c.Persona.Name != "" {
		return c.Persona.Name
	}
	return c.Name
}

// run ends when the conversation or ctx does. The kernel then drains, and what it says until it is down is still printed.
func (l *local) run(ctx context.Context, watch *filewatch.Watcher, talk *console.Console) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	living, down := context.WithCancel(context.WithoutCancel(ctx))
	var (
		tasks   sync.WaitGroup
		talkErr error
	)
	tasks.Go(func() { watch.Run(living, l.reload) })
	tasks.Go(func() {
		defer stop()
		talkErr = l.talk(working, living, talk)
	})
	err := l.runner.Run(working)
	down()
	tasks.Wait()
	if err == nil {
		return talkErr
	}
	return errors.Join(talkErr, err)
}

// talk waits until the bot runs, and has the conversation.
func (l *local) talk(working, living context.Context, c *console.Console) error {
	if err := l.awaitStart(working); err != nil || working.Err() != nil {
		return err
	}
	if l.Once == "" && l.Interactive {
		l.say.line("Type a message and press Enter; Ctrl-D ends. Changes of the files take effect at once.")
	} else {
		l.awaitModel(working)
	}
	if l.Once == "" {
		return c.Run(working, living)
	}
	return c.Ask(living, l.Once)
}

// awaitStart waits for the first report: the bot runs, or its config was refused.
func (l *local) awaitStart(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-l.reports:
			switch {
			case s.Applied != nil:
				l.keep(s) // awaitModel may want it, too
				return nil
			case s.Rejected != nil:
				return &DeclarationError{Err: errors.New(s.Rejected.Message)}
			}
		}
	}
}

// awaitModel waits for a model, which some providers look for after they have started. Without one the bot says itself
// what is wrong.
func (l *local) awaitModel(ctx context.Context) {
	limit := time.NewTimer(modelWait)
	defer limit.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-limit.C:
			return
		case s := <-l.reports:
			if s.Model != "" || hopeless(s) {
				return
			}
		}
	}
}

// hopeless tells that no plugin is left that may still bring a model.
func hopeless(s report.Snapshot) bool {
	return !slices.ContainsFunc(s.Plugins, func(p report.Plugin) bool {
		return strings.HasPrefix(p.ID, modelModules) && (p.State == string(recompute.Active) || p.State == string(recompute.Activating))
	})
}

// changed tells of a new revision that runs and keeps the report.
func (l *local) changed(s report.Snapshot) {
	if s.Applied != nil && s.Applied.Sequence > l.running.Swap(s.Applied.Sequence) && s.Applied.Sequence > 1 {
		l.say.line("The change is live.")
	}
	l.keep(s)
}

// rejected tells of a change that the kernel refused. The first config's is told as the reason why nothing runs.
func (l *local) rejected(r report.Rejected) {
	if r.Sequence > 1 {
		l.say.line("The change is not taken over; what ran goes on running:\n" + r.Message)
	}
}

// keep leaves the newest report for whoever waits.
func (l *local) keep(s report.Snapshot) {
	for {
		select {
		case l.reports <- s:
			return
		default:
		}
		select {
		case <-l.reports:
		default:
		}
	}
}

// load reads the files and tells what is to be noted about them.
func (l *local) load() (Loaded, error) {
	loaded, err := l.Load()
	if err != nil {
		return Loaded{}, err
	}
	if loaded.Secrets == nil {
		loaded.Secrets = secrets.Map{}
	}
	l.inFiles.Store(&loaded.Secrets)
	l.say.news("note", append(slices.Clone(loaded.Notes), l.missing(loaded)...)...)
	return loaded, nil
}

// missing says how to give the Secret keys that are not there.
func (l *local) missing(loaded Loaded) []string {
	var notes []string
	for _, k := range loaded.Config.MountedSecrets() {
		_, err := secrets.Read(secrets.Chain{l.Secrets, l}, k, true)
		var problem *secrets.ProblemError
		switch {
		case errors.Is(err, secrets.ErrAbsent):
			notes = append(notes, fmt.Sprintf("Secret %s key %s is not there: set %s, or give --secret %s/%s=file:PATH",
				k.Name, k.Key, secrets.EnvName(k), k.Name, k.Key))
		case errors.As(err, &problem):
			notes = append(notes, problem.Error())
		}
	}
	return notes
}

// Lookup implements secrets.Source for what stands in the files.
func (l *local) Lookup(k secrets.Key) (string, error) {
	if m := l.inFiles.Load(); m != nil {
		return m.Lookup(k)
	}
	return "", secrets.ErrAbsent
}

// deliver hands a config to the runner if it is another one.
func (l *local) deliver(loaded Loaded) error {
	d, err := kernelconfig.Pack(loaded.Config, l.sequence+1)
	if err != nil {
		return err
	}
	if d.Revision == l.revision {
		return nil
	}
	l.sequence, l.revision = d.Sequence, d.Revision
	l.runner.Deliver(Delivery{Slots: kernelconfig.Slots{Current: &d}, At: l.Now()})
	return nil
}

// reload is called after every change of the files.
func (l *local) reload() {
	loaded, err := l.load()
	if err == nil {
		err = l.deliver(loaded)
	}
	if err != nil {
		l.failing = true
		l.say.news("error", "The change is not taken over; what ran goes on running:\n"+err.Error())
		return
	}
	if l.failing {
		l.failing = false
		l.say.line("The files are in order again.")
		l.say.news("error")
	}
	l.runner.SecretsChanged()
}

// sayer writes notes for people.
type sayer struct {
	mu   sync.Mutex
	w    io.Writer
	last map[string][]string
}

func (s *sayer) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintln(s.w, "aalis: "+strings.ReplaceAll(text, "\n", "\n  "))
}

// news says what is new since the last call of its kind: another file in the same directory repeats nothing.
func (s *sayer) news(kind string, lines ...string) {
	s.mu.Lock()
	before := s.last[kind]
	s.last[kind] = lines
	s.mu.Unlock()
	for _, line := range lines {
		if !slices.Contains(before, line) {
			s.line(line)
		}
	}
}

var _ secrets.Source = (*local)(nil)
