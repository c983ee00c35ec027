// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	aliceToken = "alice-canary-token-1"
	bobToken   = "bob-canary-token-2"
	testTokens = "# people\nalice: " + aliceToken + "\nbob: " + bobToken + "\n"
)

// script is what the bot does with a message. Its ctx ends when the turn is aborted.
type script func(ctx context.Context, b *bot, m message.Incoming)

// bot stands in for gateway and agent: it runs a script for each message.
type bot struct {
	k      *kernel.Context
	script script

	mu      sync.Mutex
	aborted []string
	running map[string]context.CancelFunc // by session
	seen    []message.Incoming
}

func (b *bot) module() kernel.Module {
	return kernel.Module{
		Name: "scripted", Provides: []string{gateway.Service.Name(), agent.Service.Name()},
		Apply: func(k *kernel.Context, _ map[string]any) error {
			b.k = k
			gateway.Service.Provide(k, fakeGateway{})
			agent.Service.Provide(k, agent.Agent(b))
			message.Inbound.On(k, func(_ context.Context, m message.Incoming) error {
				k.Go("turn", func(ctx context.Context) { b.run(ctx, m) })
				return nil
			})
			return nil
		},
	}
}

func (b *bot) run(ctx context.Context, m message.Incoming) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.mu.Lock()
	if former := b.running[m.SessionID]; former != nil {
		former()
	}
	b.running[m.SessionID] = cancel
	b.seen = append(b.seen, m)
	b.mu.Unlock()
	b.script(ctx, b, m)
}

func (b *bot) HandleMessage(context.Context, message.Incoming)        {}
func (b *bot) DefaultModel() (string, error)                          { return "", nil }
func (b *bot) Abort(string)                                           {}
func (b *bot) RegisterPreprocessor(string, agent.Preprocessor) func() { return func() {} }
func (b *bot) Preprocessors() []string                                { return nil }
func (b *bot) AbortTurn(turn string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.seen {
		if m.TurnID != turn {
			continue
		}
		b.aborted = append(b.aborted, m.SessionID)
		if cancel := b.running[m.SessionID]; cancel != nil {
			cancel()
		}
	}
}

func (b *bot) aborts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.aborted...)
}

func (b *bot) last(t testing.TB) message.Incoming {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.seen) == 0 {
		t.Fatal("the bot received nothing")
	}
	return b.seen[len(b.seen)-1]
}

func (b *bot) chunk(m message.Incoming, c message.StreamChunk) {
	c.SessionID, c.Platform, c.TurnID = m.SessionID, m.Platform, m.TurnID
	message.Stream.Emit(context.Background(), b.k, c)
}

func (b *bot) delta(m message.Incoming, texts ...string) {
	for _, text := range texts {
		b.chunk(m, message.StreamChunk{ContentDelta: text})
	}
}

func (b *bot) say(m message.Incoming, source message.OutgoingSource, text string) {
	b.send(m, message.Outgoing{Content: text, Source: source})
}

func (b *bot) send(m message.Incoming, out message.Outgoing) {
	out.SessionID, out.Platform, out.TurnID = m.SessionID, m.Platform, m.TurnID
	message.Outbound.Emit(context.Background(), b.k, out)
}

// after ends a turn as the agent does, done as the gateway does.
func (b *bot) after(m message.Incoming, outcome agent.Outcome) {
	data := agent.TurnData{Message: m, SessionID: m.SessionID, Outcome: outcome}
	_, _ = agent.TurnAfter.Run(context.Background(), b.k, &data, nil)
}

func (b *bot) done(m message.Incoming, phase gateway.Phase, reached bool) {
	gateway.Done.Emit(context.Background(), b.k, gateway.PhaseDone{
		Phase: phase, ReachedEnd: reached, SessionID: m.SessionID, Platform: m.Platform, TurnID: m.TurnID,
	})
}

type fakeGateway struct{}

func (fakeGateway) IngressMessage(context.Context, message.Incoming)   {}
func (fakeGateway) DispatchOutbound(context.Context, message.Outgoing) {}

// echo answers like a bot that is well.
func echo(_ context.Context, b *bot, m message.Incoming) {
	b.done(m, gateway.PhaseCommand, true)
	b.chunk(m, message.StreamChunk{ReasoningDelta: "thinking"})
	b.delta(m, "You ", "said: ", m.Content)
	b.send(m, message.Outgoing{
		Content: "You said: " + m.Content, Source: message.FromAgent, ReasoningContent: "thinking",
		ModelInfo: &message.ModelInfo{Provider: "p", Model: "m", PromptTokens: 11, CompletionTokens: 5},
	})
	b.after(m, agent.Replied)
	b.done(m, gateway.PhaseDispatch, true)
}

// rig is the plugin with a scripted bot behind it, served on a port of its own.
type rig struct {
	*kerneltest.Harness
	t      testing.TB
	bot    *bot
	server *server
	addr   string
}

func start(t testing.TB, s script, cfg map[string]any, opts ...kerneltest.Option) *rig {
	t.Helper()
	if t.Name() != "TestBadRequests" { // which looks for leaks itself
		kerneltest.NoLeaks(t)
	}
	r := &rig{t: t, bot: &bot{script: s, running: map[string]context.CancelFunc{}}}
	if cfg == nil {
		cfg = map[string]any{}
	}
	if _, ok := cfg["tokens"]; !ok {
		cfg["tokens"] = testTokens
	}
	m := Plugin
	m.Apply = func(k *kernel.Context, cfg map[string]any) error {
		c, err := kernel.Decode(Default(), cfg)
		if err != nil {
			return err
		}
		set, err := c.settings()
		if err != nil {
			return err
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		r.addr = ln.Addr().String()
		r.server = run(k, ln, set)
		return nil
	}
	r.Harness = kerneltest.New(t, append([]kerneltest.Option{
		kerneltest.WithPlugin(r.bot.module(), "", nil), kerneltest.WithPlugin(m, "", cfg),
	}, opts...)...)
	r.WantState(ModuleName, recompute.Active)
	t.Cleanup(func() {
		for _, token := range []string{aliceToken, bobToken} {
			if found := r.Logs.Find(token); len(found) > 0 {
				t.Errorf("the log shows a token: %v", found)
			}
		}
	})
	return r
}

// client is an OpenAI client with connections of its own.
func (r *rig) client(token string) *openai.Client {
	conf := openai.DefaultConfig(token)
	conf.BaseURL = "http://" + r.addr + "/v1"
	conf.HTTPClient = r.http()
	return openai.NewClientWithConfig(conf)
}

func (r *rig) http() *http.Client {
	transport := &http.Transport{}
	r.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// answer is a whole HTTP answer.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) error(t testing.TB) (code, param, text string) {
	t.Helper()
	var e struct {
		Error struct {
			Message, Type, Code string
			Param               *string
		}
	}
	if err := json.Unmarshal([]byte(a.body), &e); err != nil || e.Error.Type == "" || e.Error.Message == "" {
		t.Fatalf("%q is no error object: %v", a.body, err)
	}
	if e.Error.Param != nil {
		param = *e.Error.Param
	}
	return e.Error.Code, param, e.Error.Message
}

func (r *rig) do(ctx context.Context, method, path, token, body string, header ...string) (answer, error) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.addr+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.http().Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(data)}, err
}

func (r *rig) must(method, path, token, body string, header ...string) answer {
	r.t.Helper()
	a, err := r.do(r.t.Context(), method, path, token, body, header...)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) chat(body string, header ...string) answer {
	r.t.Helper()
	return r.must(http.MethodPost, "/v1/chat/completions", aliceToken, body, header...)
}

func ask(text string, more ...string) string {
	raw, _ := json.Marshal(text)
	return `{"messages":[{"role":"user","content":` + string(raw) + `}]` + strings.Join(more, "") + `}`
}

const streamed = `,"stream":true`

// content is the text of a whole answer.
func (a answer) content(t testing.TB) string {
	t.Helper()
	var c openai.ChatCompletionResponse
	if err := json.Unmarshal([]byte(a.body), &c); err != nil || a.status != http.StatusOK || len(c.Choices) != 1 {
		t.Fatalf("status %d, body %q: %v", a.status, a.body, err)
	}
	return c.Choices[0].Message.Content
}

// text puts the deltas of a streamed answer together.
func (a answer) text(t testing.TB) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.SplitSeq(a.body, "\n") {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var c openai.ChatCompletionStreamResponse
		if err := json.Unmarshal([]byte("{"+data), &c); err != nil {
			t.Fatalf("frame %q: %v", line, err)
		}
		for _, choice := range c.Choices {
			out.WriteString(choice.Delta.Content)
		}
	}
	return out.String()
}

// eventually polls a condition that becomes true in another goroutine.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(kerneltest.Patience)
	defer deadline.Stop()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}
