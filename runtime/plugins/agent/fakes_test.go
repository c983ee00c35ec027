// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// scriptedModel answers by a script and keeps the requests.
type scriptedModel struct {
	info   llm.Info
	answer func(ctx context.Context, req llm.Request, onChunk func(llm.Chunk) error) error

	mu       sync.Mutex
	requests []llm.Request
}

func newModel(answer func(ctx context.Context, req llm.Request, onChunk func(llm.Chunk) error) error) *scriptedModel {
	return &scriptedModel{answer: answer, info: llm.Info{
		ID: "gpt", Provider: "llm:main", ContextLength: 1000,
		Capabilities: []llm.Capability{llm.CapChat, llm.CapStreaming},
	}}
}

// saying answers every request with these chunks.
func saying(chunks ...llm.Chunk) *scriptedModel {
	return newModel(func(_ context.Context, _ llm.Request, onChunk func(llm.Chunk) error) error {
		for _, c := range chunks {
			if err := onChunk(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// text is a whole reply in one chunk, with the usage of a provider that tells.
func text(s string) llm.Chunk {
	return llm.Chunk{ContentDelta: s, Done: true, Usage: &llm.Usage{PromptTokens: 10, CompletionTokens: 2, TotalTokens: 12}}
}

func (m *scriptedModel) Info() llm.Info { return m.info }

func (m *scriptedModel) note(req llm.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req)
}

func (m *scriptedModel) Chat(ctx context.Context, req llm.Request) (llm.Response, error) {
	m.note(req)
	var r llm.Response
	err := m.answer(ctx, req, func(c llm.Chunk) error {
		r.Content += c.ContentDelta
		r.ReasoningContent += c.ReasoningDelta
		r.Usage = c.Usage
		return nil
	})
	return r, err
}

func (m *scriptedModel) ChatStream(ctx context.Context, req llm.Request, onChunk func(llm.Chunk) error) error {
	m.note(req)
	return m.answer(ctx, req, onChunk)
}

// last is the newest request.
func (m *scriptedModel) last(t *testing.T) llm.Request {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.requests) == 0 {
		t.Fatal("the model was not asked")
	}
	return m.requests[len(m.requests)-1]
}

func provide(k *kernel.Context, m *scriptedModel) (off func()) {
	return llm.Service.Provide(k, llm.Model(m), kernel.WithEntryID(m.info.Entry()))
}

// fakeStore is memory and archive in one.
type fakeStore struct {
	memory.Backend
	archive.Archive
	err error
	now func() time.Time

	mu   sync.Mutex
	said map[string][]message.Message
}

func (s *fakeStore) add(session string, list ...message.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said == nil {
		s.said = map[string][]message.Message{}
	}
	s.said[session] = append(s.said[session], list...)
}

func (s *fakeStore) all(session string) []message.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]message.Message(nil), s.said[session]...)
}

func (s *fakeStore) History(_ context.Context, session string, limit int) ([]message.Message, error) {
	list := s.all(session)
	return list[max(0, len(list)-limit):], s.err
}

func (s *fakeStore) SaveMessage(ctx context.Context, session string, m message.Message) error {
	if err := errors.Join(s.err, ctx.Err()); err != nil {
		return err
	}
	s.add(session, m)
	return nil
}

func (s *fakeStore) SaveMessages(ctx context.Context, session string, list []message.Message) error {
	if err := errors.Join(s.err, ctx.Err()); err != nil {
		return err
	}
	s.add(session, list...)
	return nil
}

func (s *fakeStore) ArchiveIncoming(ctx context.Context, m message.Incoming) (message.Message, error) {
	out := message.Message{
		Role: message.RoleUser, Content: message.PrefixSender(m.Nickname, m.UserID, m.Content), Name: m.UserID,
		Timestamp: s.now().UnixMilli(),
	}
	if m.TriggerType == message.TriggerProactive {
		out.Role, out.Kind = message.RoleNotice, message.KindCrossSessionDelegation
	}
	return out, s.SaveMessage(ctx, m.SessionID, out)
}

type fakePersona struct {
	mu               sync.Mutex
	system, volatile string
	names            []string
	seen             persona.View
	options          persona.Options
	persona.Provider
}

func (p *fakePersona) Card(o persona.Options) persona.Card {
	if o.Persona != "" {
		return persona.Card{Source: o.Persona}
	}
	return persona.Card{Source: "owl", Name: "Owl"}
}
func (p *fakePersona) Names() []string { return p.names }
func (p *fakePersona) SystemPrompt(o persona.Options) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.options = o
	return p.system
}
func (p *fakePersona) VolatilePrompt(v persona.View, _ persona.Options) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = v
	return p.volatile
}

// fakeGateway sends straight to the event, and counts.
type fakeGateway struct {
	k *kernel.Context
}

func (g *fakeGateway) IngressMessage(context.Context, message.Incoming) {}
func (g *fakeGateway) DispatchOutbound(ctx context.Context, m message.Outgoing) {
	message.Outbound.Emit(ctx, g.k, m)
}

// bot is an agent with all around it, and what came out of it.
type bot struct {
	*kerneltest.Harness
	t     *testing.T
	agent agent.Agent
	store *fakeStore
	off   func() // takes the model away

	mu     sync.Mutex
	out    []message.Outgoing
	stream []message.StreamChunk
	calls  []agent.CallDone
	turns  []agent.TurnData
	order  []string // what happened, in order
}

// newBot starts an agent with a model (may be nil), memory and archive.
func newBot(t *testing.T, model *scriptedModel, opts ...kerneltest.Option) *bot {
	t.Helper()
	b := &bot{t: t, store: &fakeStore{}}
	b.Harness = kerneltest.New(t, append([]kerneltest.Option{kerneltest.WithPlugin(Plugin, "", nil)}, opts...)...)
	b.store.now = b.Clock.Now
	k := b.Root()
	if model != nil {
		b.off = provide(k, model)
	}
	memory.Service.Provide(k, memory.Backend(b.store))
	archive.Service.Provide(k, archive.Archive(b.store))
	gateway.Service.Provide(k, gateway.Gateway(&fakeGateway{k}))
	a, ok := agent.Service.Get(k)
	if !ok {
		t.Fatalf("there is no agent:\n%s", b.Logs)
	}
	b.agent = a
	b.listen(k)
	return b
}

func (b *bot) listen(k *kernel.Context) {
	note := func(what string, add func()) {
		b.mu.Lock()
		defer b.mu.Unlock()
		add()
		b.order = append(b.order, what)
	}
	message.Outbound.On(k, func(_ context.Context, m message.Outgoing) error {
		note("out "+m.Content, func() { b.out = append(b.out, m) })
		return nil
	})
	message.Stream.On(k, func(_ context.Context, c message.StreamChunk) error {
		what := "stream " + c.ContentDelta + c.ReasoningDelta
		if c.Done {
			what = "done"
		}
		note(what, func() { b.stream = append(b.stream, c) })
		return nil
	})
	agent.LLMCall.On(k, func(_ context.Context, c agent.CallDone) error {
		note("call", func() { b.calls = append(b.calls, c) })
		return nil
	})
	agent.TurnAfter.Use(k, func(ctx context.Context, d *agent.TurnData, next kernel.Next) error {
		note("turn "+string(d.Outcome), func() { b.turns = append(b.turns, *d) })
		return next(ctx)
	})
}

// trace is what happened so far, in order.
func (b *bot) trace() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.order...)
}

func (b *bot) handle(m message.Incoming) {
	b.t.Helper()
	b.agent.HandleMessage(b.t.Context(), m)
}

func hello() message.Incoming {
	return message.Incoming{
		Content: "hello", SessionID: "s", Platform: "test", UserID: "1", Nickname: "Ann", TurnID: "t1",
		SessionType: message.SessionPrivate,
	}
}

func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(kerneltest.Patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// wait waits for goroutines to end.
func wait(t *testing.T, wg *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		wg.Wait()
	}()
	receive(t, done)
}

// eventually polls a condition that other goroutines bring about and that nothing announces.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(kerneltest.Patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the condition never came true")
		}
	}
}

type messageChunk = llm.Chunk

// newBotForBench is an agent with a model and nothing that collects.
func newBotForBench(b *testing.B, model *scriptedModel) agent.Agent {
	b.Helper()
	h := kerneltest.New(b, kerneltest.WithPlugin(Plugin, "", nil), kerneltest.WithOptions(func(o *kernel.Options) { o.Config.LogLevel = "error" }))
	provide(h.Root(), model)
	a, ok := agent.Service.Get(h.Root())
	if !ok {
		b.Fatal("there is no agent")
	}
	return a
}
