// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// freePort finds a port that nobody listens on just now.
func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port
}

func TestConformance(t *testing.T) {
	b := &bot{script: echo, running: map[string]context.CancelFunc{}}
	kerneltest.Run(t, Plugin,
		kerneltest.WithService(gateway.Service, gateway.Gateway(fakeGateway{})),
		kerneltest.WithService(agent.Service, agent.Agent(b)),
		kerneltest.WithConfig(map[string]any{"port": freePort(t), "tokens": testTokens}))
}

func TestBadConfig(t *testing.T) {
	taken, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	port := taken.Addr().(*net.TCPAddr).Port
	tests := []struct {
		name string
		cfg  map[string]any
		want string
	}{
		{"no tokens", nil, `config.tokens: must hold at least one line "userId: token"`},
		{"bad line", map[string]any{"tokens": "alice: " + aliceToken + "\n\nbob " + bobToken}, "config.tokens: line 3: must be"},
		{"port in use", map[string]any{"tokens": testTokens, "port": port}, fmt.Sprintf("config.port: opening port %d: ", port)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kerneltest.NoLeaks(t)
			h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, "", tt.cfg),
				kerneltest.WithService(gateway.Service, gateway.Gateway(fakeGateway{})))
			h.WantState(ModuleName, recompute.Error)
			got := h.Plugin(ModuleName).Error
			if !strings.Contains(got, tt.want) || strings.Contains(got+h.Logs.String(), bobToken) {
				t.Errorf("error is %q, want it to contain %q and no token", got, tt.want)
			}
		})
	}
}

func TestAuthentication(t *testing.T) {
	r := start(t, echo, nil)
	for _, path := range []string{"/v1/models", "/v1/models/Test", "/v1/chat/completions"} {
		method := http.MethodGet
		if strings.HasSuffix(path, "completions") {
			method = http.MethodPost
		}
		for _, header := range []string{"", "Bearer ", "Bearer wrong-token", "Basic " + aliceToken, "Bearer " + aliceToken + "x"} {
			a := r.must(method, path, "", ask("x"), "Authorization", header)
			if code, _, text := a.error(t); a.status != http.StatusUnauthorized || code != "invalid_api_key" ||
				a.header.Get("WWW-Authenticate") == "" || strings.Contains(text, "alice") {
				t.Errorf("%s with %q: %d %s", path, header, a.status, a.body)
			}
		}
		if a := r.must(method, path, "", ask("x"), "Authorization", "bearer  "+aliceToken); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

func TestModels(t *testing.T) {
	r := start(t, echo, nil)
	c := r.client(aliceToken)
	list, err := c.ListModels(t.Context())
	if err != nil || len(list.Models) != 1 || list.Models[0].ID != "Test" || list.Models[0].Object != "model" {
		t.Errorf("got %+v, %v", list, err)
	}
	if m, err := c.GetModel(t.Context(), "Test"); err != nil || m.ID != "Test" || m.CreatedAt != r.Clock.Now().Unix() {
		t.Errorf("got %+v, %v", m, err)
	}
	a := r.must(http.MethodGet, "/v1/models/gpt-4o", aliceToken, "")
	if code, param, _ := a.error(t); a.status != http.StatusNotFound || code != "model_not_found" || param != "model" {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

func TestOtherAddresses(t *testing.T) {
	r := start(t, echo, nil)
	if a := r.must(http.MethodGet, "/", "", ""); a.status != http.StatusNotFound {
		t.Errorf("got %d %s", a.status, a.body)
	}
	a := r.must(http.MethodGet, "/v1/chat/completions", aliceToken, "")
	if code, _, _ := a.error(t); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "POST" || code != "method_not_allowed" {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

// blocked is a script that tells of its message and then waits for a word.
func blocked() (script, chan message.Incoming, chan struct{}) {
	arrived, release := make(chan message.Incoming, 16), make(chan struct{})
	return func(ctx context.Context, b *bot, m message.Incoming) {
		arrived <- m
		select {
		case <-release:
			echo(ctx, b, m)
		case <-ctx.Done():
			b.after(m, agent.Aborted)
		}
	}, arrived, release
}

type result struct {
	answer
	err error
}

func (r *rig) async(ctx context.Context, body string, header ...string) chan result {
	out := make(chan result, 1)
	go func() {
		a, err := r.do(ctx, http.MethodPost, "/v1/chat/completions", aliceToken, body, header...)
		out <- result{a, err}
	}()
	return out
}

func TestTooManyRequests(t *testing.T) {
	s, arrived, release := blocked()
	r := start(t, s, map[string]any{"maxConcurrent": 1})
	first := r.async(t.Context(), ask("x"))
	<-arrived
	a := r.chat(ask("y"))
	if code, _, _ := a.error(t); a.status != http.StatusTooManyRequests || code != "too_many_requests" || a.header.Get("Retry-After") != "1" {
		t.Errorf("got %d %v %s", a.status, a.header, a.body)
	}
	if a := r.must(http.MethodGet, "/v1/models", aliceToken, ""); a.status != http.StatusOK {
		t.Errorf("models: %d", a.status)
	}
	close(release)
	if got := <-first; got.err != nil || got.status != http.StatusOK {
		t.Errorf("got %+v", got)
	}
}

func TestClientThatHangsUpEndsItsTurn(t *testing.T) {
	for _, mode := range []string{"", streamed} {
		t.Run(mode, func(t *testing.T) {
			s, arrived, _ := blocked()
			r := start(t, s, nil)
			ctx, cancel := context.WithCancel(t.Context())
			got := r.async(ctx, ask("x", mode))
			<-arrived
			cancel()
			if res := <-got; !errors.Is(res.err, context.Canceled) {
				t.Errorf("got %+v", res)
			}
			eventually(t, "the abort", func() bool { return slices.Equal(r.bot.aborts(), []string{"openai:alice:default"}) })
			eventually(t, "the end", func() bool { return r.server.requests.Count() == 0 })
		})
	}
}

func TestNewerTurnIsNotAborted(t *testing.T) {
	s, arrived, release := blocked()
	r := start(t, s, nil)
	old := r.server.turns.open("old", "openai:alice:default", false)
	defer r.server.turns.close(old)
	newer := r.async(t.Context(), ask("x"))
	<-arrived
	r.server.abort(old)
	if got := r.bot.aborts(); len(got) != 0 {
		t.Errorf("aborted %v", got)
	}
	close(release)
	if got := <-newer; got.err != nil || got.status != http.StatusOK {
		t.Errorf("got %+v", got)
	}
}

func TestReplacedTurnIsTold(t *testing.T) {
	s, arrived, release := blocked()
	r := start(t, s, nil)
	first := r.async(t.Context(), ask("x"))
	<-arrived
	second := r.async(t.Context(), ask("y"))
	<-arrived
	if got := <-first; got.status != http.StatusConflict {
		t.Errorf("got %+v", got)
	}
	close(release)
	if got := <-second; got.status != http.StatusOK {
		t.Errorf("got %+v", got)
	}
}

func TestTimeout(t *testing.T) {
	half := func(ctx context.Context, b *bot, m message.Incoming) {
		b.delta(m, "half an ")
		<-ctx.Done()
		b.after(m, agent.Aborted)
	}
	for _, mode := range []string{"", streamed} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, half, nil)
			set := *r.server.set.Load()
			set.timeout = 50 * time.Millisecond
			r.server.set.Store(&set)
			a := r.chat(ask("x", mode))
			if mode == "" {
				if code, _, _ := a.error(t); a.status != http.StatusGatewayTimeout || code != "timeout" {
					t.Errorf("got %d %s", a.status, a.body)
				}
			} else if !strings.Contains(a.body, `data: {"error":{`) || strings.Contains(a.body, "[DONE]") || !strings.Contains(a.body, "half an ") {
				t.Errorf("got %s", a.body)
			}
			if got := r.bot.aborts(); len(got) != 1 {
				t.Errorf("aborted %v", got)
			}
		})
	}
}

func TestHeartbeat(t *testing.T) {
	s, arrived, release := blocked()
	r := start(t, s, nil)
	r.server.heartbeat = 5 * time.Millisecond
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.addr+"/v1/chat/completions", strings.NewReader(ask("x", streamed)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+aliceToken)
	resp, err := r.http().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	<-arrived
	lines := bufio.NewReader(resp.Body)
	for range 3 {
		if line, err := lines.ReadString('\n'); err != nil || line != ": keep-alive\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		_, _ = lines.ReadString('\n')
	}
	close(release)
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), "said: ") {
		t.Errorf("got %q, %v", rest, err)
	}
}

func TestStopLetsRunningRequestsFinish(t *testing.T) {
	s, arrived, release := blocked()
	r := start(t, s, nil)
	got := r.async(t.Context(), ask("x", streamed))
	<-arrived
	stopped := make(chan struct{})
	go func() { defer close(stopped); r.Stop() }()
	eventually(t, "the drain", r.server.closing.Load)
	eventually(t, "the port to close", func() bool {
		conn, err := net.Dial("tcp", r.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	close(release)
	if res := <-got; res.err != nil || !strings.HasSuffix(res.body, "data: [DONE]\n\n") {
		t.Errorf("got %+v", res)
	}
	<-stopped
}

func TestStopThatCannotWait(t *testing.T) {
	arrived := make(chan struct{})
	stuck := func(ctx context.Context, b *bot, m message.Incoming) {
		if strings.Contains(m.Content, "begin") {
			b.delta(m, "begun")
		}
		close(arrived)
		<-ctx.Done()
	}
	for _, text := range []string{"begin", "wait"} {
		for _, mode := range []string{"", streamed} {
			t.Run(text+mode, func(t *testing.T) {
				arrived = make(chan struct{})
				r := start(t, stuck, nil, kerneltest.WithOptions(func(o *kernel.Options) { o.DrainTimeout = 20 * time.Millisecond }))
				got := r.async(t.Context(), ask(text, mode))
				<-arrived
				begin := time.Now()
				r.Stop()
				if took := time.Since(begin); took > 2*time.Second {
					t.Errorf("stopping took %s", took)
				}
				res := <-got
				if res.err != nil || !strings.Contains(res.body, `"code":"stopping"`) {
					t.Errorf("got %+v", res)
				}
				if started := mode == streamed && text == "begin"; !started && (res.status != http.StatusServiceUnavailable || res.header.Get("Retry-After") == "") {
					t.Errorf("got %+v", res)
				}
				if len(r.bot.aborts()) > 0 {
					t.Error("the turn was aborted")
				}
			})
		}
	}
}

func TestRequestsWhileStoppingAreRefused(t *testing.T) {
	r := start(t, echo, nil)
	r.server.closing.Store(true)
	a := r.chat(ask("x"))
	if code, _, _ := a.error(t); a.status != http.StatusServiceUnavailable || code != "stopping" {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

func TestReconfigure(t *testing.T) {
	r := start(t, echo, nil)
	change := func(key string, value any) kernel.ApplyReport {
		return r.Apply(func(cfg *kernel.Config) {
			p := cfg.Plugins[ModuleName].Clone()
			p.Config[key] = value
			cfg.Plugins[ModuleName] = p
		})
	}
	server := r.server
	const fresh = "a-new-canary-token"
	report := change("tokens", "alice: "+fresh)
	if !slices.Equal(report.Reconfigured, []string{ModuleName}) || r.server != server {
		t.Errorf("report is %+v, want the tokens swapped in place", report)
	}
	if a := r.chat(ask("x")); a.status != http.StatusUnauthorized {
		t.Errorf("the old token still works: %d", a.status)
	}
	if a := r.must(http.MethodPost, "/v1/chat/completions", fresh, ask("x")); a.status != http.StatusOK {
		t.Errorf("the new token does not work: %d %s", a.status, a.body)
	}
	change("maxConcurrent", 3)
	change("maxBodyBytes", 2048)
	change("requestTimeoutSeconds", 9)
	if set := r.server.set.Load(); set.maxConcurrent != 3 || set.maxBody != 2048 || set.timeout != 9*time.Second {
		t.Errorf("settings are %+v", set)
	}
	if report := change("port", 18080); !slices.Equal(report.Bounced, []string{ModuleName}) || r.server == server {
		t.Errorf("report is %+v, want a bounce for the port", report)
	}
	if a := r.must(http.MethodPost, "/v1/chat/completions", fresh, ask("x")); a.status != http.StatusOK {
		t.Errorf("after the bounce: %d %s", a.status, a.body)
	}
	change("tokens", "")
	r.WantState(ModuleName, recompute.Error)
	if got := r.Plugin(ModuleName).Error; !strings.Contains(got, "config.tokens: must hold at least one line") {
		t.Errorf("error is %q", got)
	}
}

func TestPanicIsContained(t *testing.T) {
	r := start(t, echo, nil)
	h := r.server.guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("on purpose") }))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "on purpose") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if len(r.Logs.Find("Request failed", "on purpose", "stack=")) != 1 {
		t.Errorf("log:\n%s", r.Logs)
	}
}

func TestSlowListenersDoNotBlockTheTurn(t *testing.T) {
	const n = 1000
	r := start(t, func(_ context.Context, b *bot, m message.Incoming) {
		for range n {
			b.delta(m, "x")
		}
		b.after(m, agent.Replied)
	}, nil)
	// The whole turn happens inside the emission of its message.
	message.Inbound.On(r.Root(), func(ctx context.Context, m message.Incoming) error {
		if m.Content == "inside" {
			for range n {
				r.bot.delta(m, "y")
			}
		}
		return nil
	})
	got := r.chat(ask("inside", streamed)).text(t)
	if strings.Count(got, "x") != n {
		t.Errorf("got %d x and %d y", strings.Count(got, "x"), strings.Count(got, "y"))
	}
}
