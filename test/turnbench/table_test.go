// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package turnbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/agent"
	gatewayplugin "github.com/aalis-dev/aalis-operator/runtime/plugins/gateway"
	llmopenai "github.com/aalis-dev/aalis-operator/runtime/plugins/llm-openai"
	memoryinmemory "github.com/aalis-dev/aalis-operator/runtime/plugins/memory-inmemory"
	messagearchive "github.com/aalis-dev/aalis-operator/runtime/plugins/message-archive"
	personaplugin "github.com/aalis-dev/aalis-operator/runtime/plugins/persona"
)

const (
	chunks  = 50 // of a reply
	history = 50 // messages
	model   = "fake-1"
)

// TestBenchTable prints turns per second, CPU, allocations and memory of a bot, and of a bare client that sends the very
// requests that the bot sent.
func TestBenchTable(t *testing.T) {
	if os.Getenv("AALIS_BENCH") == "" {
		t.Skip("AALIS_BENCH is not set")
	}
	server := startServer(t)
	b := newBot(t, server)
	fmt.Printf("%-10s %8s %10s %10s %12s %12s %8s %13s %12s\n", "sessions", "turns", "turns/s", "bare/s", "CPU ms/turn", "bare CPU ms", "ratio", "allocs/chunk", "bare allocs")
	for _, c := range []struct{ sessions, turns int }{{1, 1000}, {16, 3200}, {64, 6400}} {
		b.fill(t, c.sessions)
		b.run(c.sessions, c.turns/10) // to warm up
		got := measure(c.turns, func() { b.run(c.sessions, c.turns) })
		if c.sessions == 1 {
			fmt.Printf("memory after %d turns at one session: %.0f MiB resident, %.1f MiB live\n", c.turns, resident(t), live())
		}
		bare := newBare(server, b.last(t))
		bare.run(c.sessions, c.turns/10)
		want := measure(c.turns, func() { bare.run(c.sessions, c.turns) })
		fmt.Printf("%-10d %8d %10.0f %10.0f %12.3f %12.3f %8.2f %13.2f %12.2f\n", c.sessions, c.turns, got.perSecond, want.perSecond,
			got.cpu, want.cpu, got.cpu/want.cpu, got.allocs/chunks, want.allocs/chunks)
		if n := b.failed.Load() + bare.failed.Load(); n > 0 {
			t.Errorf("%d turns failed", n)
		}
	}
}

// figures are those of one run, by turn: CPU of this process in milliseconds.
type figures struct{ perSecond, cpu, allocs float64 }

func measure(turns int, run func()) figures {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, began := cpuTime(), time.Now()
	run()
	took, used := time.Since(began), cpuTime()-cpu
	runtime.ReadMemStats(&after)
	n := float64(turns)
	return figures{n / took.Seconds(), used.Seconds() * 1000 / n, float64(after.Mallocs-before.Mallocs) / n}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails only for wrong arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the memory of this process in MiB, after what is unused was given back.
func resident(tb testing.TB) float64 {
	tb.Helper()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kib, err := strconv.Atoi(f[1])
			if err != nil {
				tb.Fatal(err)
			}
			return float64(kib) / 1024
		}
	}
	tb.Fatal("the system does not tell the resident memory")
	return 0
}

func live() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// startServer runs the fake model server as a process of its own, and gives its address.
func startServer(t *testing.T, args ...string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "fakellm")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../../hack/fakellm").CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, bin, append([]string{"--listen", addr, "--quiet", "--chunks", strconv.Itoa(chunks)}, args...)...)
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(kerneltest.Patience); ; {
		if answers(t.Context(), addr) {
			return addr
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the server does not come up")
		}
	}
}

func answers(ctx context.Context, addr string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/healthz", http.NoBody)
	if err != nil {
		return false
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return r.Body.Close() == nil && r.StatusCode == http.StatusOK
}

// bot is a whole bot: gateway, agent, archive, memory, persona and provider.
type bot struct {
	*kerneltest.Harness
	gateway gateway.Gateway
	failed  atomic.Int64
}

func newBot(t *testing.T, server string) *bot {
	t.Helper()
	opts := []kerneltest.Option{
		kerneltest.WithSetting(persona.Setting.Key(), map[string]any{"source": "owl", "name": "Owl", "prompt": "You are a calm companion."}),
		kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
		kerneltest.WithOptions(func(o *kernel.Options) { o.Config.LogLevel, o.DevMode, o.Now = "error", false, time.Now }),
		kerneltest.WithPlugin(llmopenai.Plugin, llmopenai.Plugin.Name+":main", map[string]any{
			"baseUrl": "http://" + server, "customModels": model, "providerCapabilities": "chat streaming tool_calling",
		}),
	}
	for _, m := range []kernel.Module{agent.Plugin, gatewayplugin.Plugin, memoryinmemory.Plugin, messagearchive.Plugin, personaplugin.Plugin} {
		opts = append(opts, kerneltest.WithPlugin(m, "", nil))
	}
	b := &bot{Harness: kerneltest.New(t, opts...)}
	g, ok := gateway.Service.Get(b.Root())
	if !ok {
		t.Fatalf("there is no gateway:\n%s", b.Logs)
	}
	b.gateway = g
	message.Outbound.On(b.Root(), func(_ context.Context, m message.Outgoing) error {
		if m.Source != message.FromAgent {
			b.failed.Add(1)
		}
		return nil
	})
	return b
}

// fill gives each session a whole history.
func (b *bot) fill(t *testing.T, sessions int) {
	t.Helper()
	store, ok := memory.Service.Get(b.Root())
	if !ok {
		t.Fatal("there is no memory")
	}
	for s := range sessions {
		var list []message.Message
		for i := range history {
			role := message.RoleUser
			if i%2 == 1 {
				role = message.RoleAssistant
			}
			list = append(list, message.Message{Role: role, Timestamp: time.Now().UnixMilli(), Content: fmt.Sprint(
				"message ", i, " of a conversation that has been going on for a while, 有一些中文, about this and that and more of the same, again and again")})
		}
		if err := store.SaveMessages(t.Context(), name(s), list); err != nil {
			t.Fatal(err)
		}
	}
}

func name(session int) string { return "bench:" + strconv.Itoa(session) }

func (b *bot) run(sessions, turns int) { spread(sessions, turns, b.turn) }

// turn says something in a session and returns when it was answered.
func (b *bot) turn(session, turn int) {
	b.gateway.IngressMessage(context.Background(), message.Incoming{
		Content:   fmt.Sprint("tell me more about number ", turn, " of this long list of things that we talk about here and now"),
		SessionID: name(session), Platform: "bench", UserID: "u", SessionType: message.SessionPrivate,
	})
}

// spread runs turns, each session its own one after the other.
func spread(sessions, turns int, one func(session, turn int)) {
	var wg sync.WaitGroup
	for s := range sessions {
		wg.Go(func() {
			for i := range turns / sessions {
				one(s, i)
			}
		})
	}
	wg.Wait()
}

// last is the body of the last request that the bot sent.
func (b *bot) last(t *testing.T) openai.ChatCompletionRequest {
	t.Helper()
	var req openai.ChatCompletionRequest
	off := llmCapture(b, &req)
	defer off()
	b.run(1, 1)
	if len(req.Messages) < history {
		t.Fatalf("the bot sent %d messages", len(req.Messages))
	}
	return req
}

// bare asks the same as the bot did, with nothing around it.
type bare struct {
	client *openai.Client
	req    openai.ChatCompletionRequest
	failed atomic.Int64
}

func newBare(server string, req openai.ChatCompletionRequest) *bare {
	cfg := openai.DefaultConfig("k")
	cfg.BaseURL = "http://" + server + "/v1"
	cfg.HTTPClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
	return &bare{client: openai.NewClientWithConfig(cfg), req: req}
}

func (b *bare) run(sessions, turns int) {
	spread(sessions, turns, func(int, int) {
		if err := b.ask(); err != nil {
			b.failed.Add(1)
		}
	})
}

func (b *bare) ask() error {
	s, err := b.client.CreateChatCompletionStream(context.Background(), b.req)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	var text bytes.Buffer
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, c := range r.Choices {
			text.WriteString(c.Delta.Content)
		}
	}
}
