// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/host/console"
	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// desk is a bot of all shipped modules at a terminal, with a fake model server.
type desk struct {
	t     *testing.T
	opts  LocalOptions
	model *httptest.Server
	dir   string
	out   *safeBuffer
	notes *safeBuffer
	given atomic.Pointer[Loaded]
	fail  atomic.Pointer[error]
}

func newDesk(t *testing.T, prompt string) *desk {
	t.Helper()
	d := &desk{
		t: t, dir: t.TempDir(), out: &safeBuffer{}, notes: &safeBuffer{},
		model: httptest.NewServer(fakellm.New(fakellm.Options{APIKeys: []string{"sk-1"}})),
	}
	t.Cleanup(d.model.Close)
	d.give(prompt, secrets.Map{{Name: "llm", Key: "api-key"}: "sk-1\n"})
	d.opts = LocalOptions{
		Modules: Modules(), Version: "v1", Dirs: []string{d.dir}, Secrets: secrets.Map{}, DataDir: d.dir,
		Load: func() (Loaded, error) {
			if err := d.fail.Load(); err != nil {
				return Loaded{}, *err
			}
			return *d.given.Load(), nil
		},
		In: strings.NewReader(""), Out: d.out, Notes: d.notes,
		Logger: NewLogger(io.Discard, slog.LevelError, true), LogLevel: "error", Now: time.Now,
	}
	return d
}

// give changes what the files declare.
func (d *desk) give(prompt string, s secrets.Map, notes ...string) {
	c := kernelconfig.Config{
		Format: kernelconfig.Format, Name: "hello", Language: "en", DrainTimeoutSeconds: 5,
		Model:   &kernelconfig.Model{Provider: "@aalis/plugin-llm-openai:main", ID: "gpt-4o-mini"},
		Persona: &kernelconfig.Persona{Source: "owl", Name: "Owl", Prompt: prompt},
	}
	for _, name := range []string{"agent", "gateway", "memory-inmemory", "message-archive", "persona"} {
		c.Plugins = append(c.Plugins, kernelconfig.Plugin{ID: "@aalis/plugin-" + name, Module: "@aalis/plugin-" + name})
	}
	c.Plugins = append(c.Plugins, kernelconfig.Plugin{
		ID: "@aalis/plugin-llm-openai:main", Module: "@aalis/plugin-llm-openai",
		Config:  map[string]any{"baseUrl": d.model.URL, "customModels": "gpt-4o-mini"},
		Secrets: []kernelconfig.Secret{{Path: "apiKey", Name: "llm", Key: "api-key"}},
	})
	d.given.Store(&Loaded{Config: c, Secrets: s, Notes: notes})
}

// touch makes the watcher look again.
func (d *desk) touch() {
	must(d.t, os.WriteFile(filepath.Join(d.dir, "bot.yaml"), []byte(time.Now().String()), 0o600))
}

// until waits for a text; what it is in has no channel to tell of it.
func until(t *testing.T, b *safeBuffer, text string) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(b.String(), text) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("gave up waiting for %q in %q", text, b)
		}
	}
}

func TestLocalScript(t *testing.T) {
	d := newDesk(t, "You are calm.")
	d.opts.In = strings.NewReader("first\n\n  \nsecond")
	must(t, RunLocal(t.Context(), d.opts))
	lines := strings.Split(strings.TrimSuffix(d.out.String(), "\n"), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "first") || !strings.Contains(lines[1], "second") || !strings.Contains(lines[0], "You are calm.") {
		t.Errorf("got %q", d.out)
	}
	if d.notes.String() != "" {
		t.Errorf("notes: %s", d.notes)
	}
}

func TestLocalOnce(t *testing.T) {
	d := newDesk(t, "You are calm.")
	d.opts.Once = "hello"
	must(t, RunLocal(t.Context(), d.opts))
	if !strings.HasSuffix(d.out.String(), "hello\n") {
		t.Errorf("got %q", d.out)
	}
}

func TestLocalOnceWithoutTheKey(t *testing.T) {
	d := newDesk(t, "You are calm.")
	d.give("You are calm.", nil)
	d.opts.Once = "hello"
	began := time.Now()
	if err := RunLocal(t.Context(), d.opts); err != console.ErrFailed { //nolint:errorlint // nothing may be wrapped around it
		t.Errorf("got %v", err)
	}
	if time.Since(began) > modelWait {
		t.Error("waited for a model that cannot come")
	}
	if !strings.Contains(d.notes.String(), "Secret llm key api-key is not there: set AALIS_SECRET_LLM_API_KEY, or give --secret llm/api-key=file:PATH") {
		t.Errorf("notes: %s", d.notes)
	}
}

func TestLocalEdits(t *testing.T) {
	d := newDesk(t, "You are calm.")
	in, typing := io.Pipe()
	d.opts.In, d.opts.Interactive, d.opts.Addr = in, true, "127.0.0.1:0"
	addr := make(chan net.Addr, 1)
	d.opts.Listening = func(a net.Addr) { addr <- a }
	done := make(chan error, 1)
	go func() { done <- RunLocal(context.Background(), d.opts) }()
	<-addr
	say := func(text, answer string) {
		_, err := io.WriteString(typing, text+"\n")
		must(t, err)
		until(t, d.out, answer)
	}
	until(t, d.notes, "Ctrl-D ends")
	say("one", "Owl: [你的名字是Owl。 You are calm.]")

	d.give("You are wild.", d.given.Load().Secrets, "a note")
	d.touch()
	until(t, d.notes, "aalis: a note\naalis: The change is live.")
	say("two", "You are wild.")

	wrong := errors.New("bot.yaml: document 1, line 3: is wrong")
	d.fail.Store(&wrong)
	d.touch()
	until(t, d.notes, "The change is not taken over; what ran goes on running:\n  bot.yaml: document 1, line 3: is wrong")
	say("three", "three")
	d.fail.Store(nil)
	d.touch()
	until(t, d.notes, "The files are in order again.")

	bad := *d.given.Load()
	bad.Config.Plugins = append([]kernelconfig.Plugin{{ID: "@aalis/plugin-nope", Module: "@aalis/plugin-nope"}}, bad.Config.Plugins...)
	d.given.Store(&bad)
	d.touch()
	until(t, d.notes, "plugins[@aalis/plugin-nope]: unknown module")
	say("four", "four")

	// The key in the file changes: the plugin is bounced with it, and refused by the server.
	d.give("You are wild.", secrets.Map{{Name: "llm", Key: "api-key"}: ""})
	d.touch()
	until(t, d.notes, "Secret llm key api-key: the value is empty")
	must(t, typing.Close())
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := strings.Count(d.notes.String(), "a note"); n != 1 {
		t.Errorf("the note was told %d times:\n%s", n, d.notes)
	}
}

func TestLocalRefusals(t *testing.T) {
	tests := map[string]struct {
		change func(*desk)
		want   string
	}{
		"files": {func(d *desk) { err := errors.New("bot.yaml: is wrong"); d.fail.Store(&err) }, "bot.yaml: is wrong"},
		"kernel": {func(d *desk) {
			l := *d.given.Load()
			l.Config.Plugins = append(l.Config.Plugins, kernelconfig.Plugin{ID: "@aalis/plugin-nope", Module: "@aalis/plugin-nope"})
			d.given.Store(&l)
		}, "plugins[@aalis/plugin-nope]: unknown module"},
		"too large": {func(d *desk) {
			l := *d.given.Load()
			var noise strings.Builder
			for i := range 400000 {
				noise.WriteString(kernelconfig.Revision([]byte{byte(i), byte(i >> 8), byte(i >> 16)})[:4])
			}
			l.Config.Persona.Prompt = noise.String()
			d.given.Store(&l)
		}, "it may take at most 409600"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "x")
			tc.change(d)
			err := RunLocal(t.Context(), d.opts)
			var wrong *DeclarationError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	d := newDesk(t, "x")
	d.opts.Addr = "nowhere:x"
	if err := RunLocal(t.Context(), d.opts); err == nil || !strings.Contains(err.Error(), "listening on") {
		t.Errorf("got %v", err)
	}
}

// TestLocalInterruptedTurn interrupts while an answer is being written: it is written to its end.
func TestLocalInterruptedTurn(t *testing.T) {
	d := newDesk(t, "x")
	gate, asked := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d.model.Config.Handler = fakellm.New(fakellm.Options{Chunks: 2, ChunkDelay: time.Nanosecond, Wait: func(ctx context.Context, _ time.Duration) error {
		once.Do(func() { close(asked) })
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return ctx.Err()
	}})
	in, typing := io.Pipe()
	defer func() { _ = typing.Close() }()
	d.opts.In = in
	ctx, interrupt := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- RunLocal(ctx, d.opts) }()
	_, err := io.WriteString(typing, "hello\n")
	must(t, err)
	<-asked
	interrupt()
	close(gate)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !strings.HasSuffix(d.out.String(), "hello\n") {
		t.Errorf("got %q", d.out)
	}
}
