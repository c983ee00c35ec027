// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	instance = ModuleName + ":main"
	testKey  = "sk-canary-5f2c91"
)

// rig is a plugin that runs against a fake server. Its waits return at once and are written down, but those of the
// discovery, which wait for a tick.
type rig struct {
	*kerneltest.Harness
	t    testing.TB
	fake *fakellm.Server
	url  string
	tick chan struct{}

	mu    sync.Mutex
	waits []time.Duration                 // between the tries of calls
	rests []time.Duration                 // between discoveries
	wait  func(ctx context.Context) error // instead of none
}

func (r *rig) tools() llmhttp.Tools {
	return llmhttp.Tools{
		Wait: func(ctx context.Context, d time.Duration) error {
			r.mu.Lock()
			r.waits = append(r.waits, d)
			wait := r.wait
			r.mu.Unlock()
			if wait != nil {
				return wait(ctx)
			}
			return ctx.Err()
		},
		Rest: func(ctx context.Context, d time.Duration) error {
			r.mu.Lock()
			r.rests = append(r.rests, d)
			r.mu.Unlock()
			select {
			case <-r.tick:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Jitter: func() float64 { return 0 },
	}
}

func (r *rig) slept() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.waits)
}

func (r *rig) rested() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rests)
}

func (r *rig) module() kernel.Module {
	m := Plugin
	m.Apply = func(k *kernel.Context, cfg map[string]any) error {
		c, err := kernel.Decode(Default(), cfg)
		if err != nil {
			return err
		}
		return applyWith(k, c, r.tools())
	}
	return m
}

// serve starts a rig against a handler.
func serve(tb testing.TB, handler http.Handler, cfg map[string]any, opts ...kerneltest.Option) *rig {
	tb.Helper()
	kerneltest.NoLeaks(tb)
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	r := &rig{t: tb, url: server.URL, tick: make(chan struct{})}
	full := map[string]any{"baseUrl": server.URL, "apiKey": testKey}
	maps.Copy(full, cfg)
	opts = append([]kerneltest.Option{
		kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
		kerneltest.WithPlugin(r.module(), instance, full),
	}, opts...)
	r.Harness = kerneltest.New(tb, opts...)
	tb.Cleanup(r.noSecrets)
	return r
}

// start starts a rig against a fake model server.
func start(tb testing.TB, cfg map[string]any, opts ...kerneltest.Option) *rig {
	tb.Helper()
	fake := fakellm.New(fakellm.Options{APIKeys: []string{testKey}})
	r := serve(tb, fake, cfg, opts...)
	r.fake = fake
	return r
}

func (r *rig) onWait(fn func(ctx context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wait = fn
}

func (r *rig) noSecrets() {
	r.t.Helper()
	if found := r.Logs.Find(testKey); len(found) > 0 {
		r.t.Errorf("the log shows the key: %v", found)
	}
}

func (r *rig) entries() []string {
	var out []string
	for _, e := range llm.Service.Entries(r.Root()) {
		out = append(out, strings.TrimPrefix(e.EntryID, instance+"/"))
	}
	return out
}

func (r *rig) model(id string) llm.Model {
	r.t.Helper()
	m, ok := llm.Resolve(r.Root(), llm.Ref{Provider: instance, ID: id})
	if !ok {
		r.t.Fatalf("there is no model %s among %v; log:\n%s", id, r.entries(), r.Logs)
	}
	return m
}

// eventually polls a condition that becomes true in another goroutine.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	deadline := time.NewTimer(kerneltest.Patience)
	defer deadline.Stop()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-poll.C:
		case <-deadline.C:
			tb.Fatalf("waited in vain for: %s", what)
		}
	}
}

func user(text string) llm.Request {
	return llm.Request{Messages: []message.Message{{Role: message.RoleUser, Content: text}}}
}

// reply is a streamed reply put together.
type reply struct {
	llm.Response
	chunks   int
	progress []message.ToolCallProgress
	done     int
}

func collect(ctx context.Context, m llm.Model, req llm.Request) (reply, error) {
	var out reply
	err := m.ChatStream(ctx, req, func(c llm.Chunk) error {
		out.chunks++
		out.Content += c.ContentDelta
		out.ReasoningContent += c.ReasoningDelta
		if c.ToolCallProgress != nil {
			out.progress = append(out.progress, *c.ToolCallProgress)
		}
		if c.Usage != nil {
			out.Usage = c.Usage
		}
		if c.Done {
			out.done++
			out.ToolCalls = c.ToolCalls
		}
		return nil
	})
	return out, err
}

// lastBody is the body of the last chat request that the fake server received.
func (r *rig) lastBody() map[string]any {
	r.t.Helper()
	e, ok := r.fake.Last()
	if !ok {
		r.t.Fatal("no request was made")
	}
	var out map[string]any
	if err := json.Unmarshal(e.Body, &out); err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) chatRequests() int {
	n := 0
	for _, e := range r.fake.Requests() {
		if e.API == "chat" {
			n++
		}
	}
	return n
}

func shortDrain(o *kernel.Options) { o.DrainTimeout = time.Millisecond }
