// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysummary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	memoryinmemory "github.com/aalis-dev/aalis-operator/runtime/plugins/memory-inmemory"
)

var errDown = errors.New("out of order")

// fakeModel answers with what answer says. It streams in two pieces if it can.
type fakeModel struct {
	id     string
	window int
	caps   []llm.Capability
	answer func(n int, req llm.Request) (string, error)
	// breakOff makes a stream end after its first piece: with the error or, if that is nil, without one.
	breakOff bool
	err      error

	mu    sync.Mutex
	asked []llm.Request
}

func newModel(answer string, caps ...llm.Capability) *fakeModel {
	return &fakeModel{
		id: "m", window: 100_000, caps: append(caps, llm.CapChat),
		answer: func(int, llm.Request) (string, error) { return answer, nil },
	}
}

func (m *fakeModel) Info() llm.Info {
	return llm.Info{ID: m.id, Provider: "p", ContextLength: m.window, Capabilities: m.caps}
}

func (m *fakeModel) next(req llm.Request) (string, error) {
	m.mu.Lock()
	m.asked = append(m.asked, req)
	n := len(m.asked)
	m.mu.Unlock()
	return m.answer(n, req)
}

func (m *fakeModel) requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

func (m *fakeModel) Chat(_ context.Context, req llm.Request) (llm.Response, error) {
	text, err := m.next(req)
	return llm.Response{Content: text, Usage: &llm.Usage{PromptTokens: 6, CompletionTokens: 1, TotalTokens: 7}}, err
}

func (m *fakeModel) ChatStream(_ context.Context, req llm.Request, onChunk func(llm.Chunk) error) error {
	text, err := m.next(req)
	if err != nil {
		return err
	}
	if err := onChunk(llm.Chunk{ContentDelta: text[:len(text)/2]}); err != nil {
		return err
	}
	if m.breakOff {
		return m.err
	}
	return onChunk(llm.Chunk{ContentDelta: text[len(text)/2:], Done: true})
}

// fakeMemory is a backend of which parts fail.
type fakeMemory struct {
	memory.Backend
	noCommit, noArchive, noHistory, noMetadata, noSave bool
}

func (m *fakeMemory) CommitMetadata(ctx context.Context, ops []memory.Op) error {
	if m.noCommit {
		return errDown
	}
	return m.Backend.CommitMetadata(ctx, ops)
}

func (m *fakeMemory) ArchiveOldest(ctx context.Context, session string, n int) (int, error) {
	if m.noArchive {
		return 0, errDown
	}
	return m.Backend.ArchiveOldest(ctx, session, n)
}

func (m *fakeMemory) History(ctx context.Context, session string, limit int) ([]message.Message, error) {
	if m.noHistory {
		return nil, errDown
	}
	return m.Backend.History(ctx, session, limit)
}

func (m *fakeMemory) Metadata(ctx context.Context, ns, key string) (json.RawMessage, bool, error) {
	if !m.noMetadata {
		return m.Backend.Metadata(ctx, ns, key)
	}
	return nil, false, errDown
}

func (m *fakeMemory) SaveMessage(ctx context.Context, session string, msg message.Message) error {
	if m.noSave {
		return errDown
	}
	return m.Backend.SaveMessage(ctx, session, msg)
}

// bot is a bot with memory, a model and, apart from the plugin, a summarizer to call directly.
type bot struct {
	*kerneltest.Harness
	t   *testing.T
	mem memory.Backend
	s   *summarizer
}

func start(t *testing.T, m llm.Model, change func(*Config), opts ...kerneltest.Option) *bot {
	t.Helper()
	kerneltest.NoLeaks(t)
	b := &bot{t: t, Harness: kerneltest.New(t, append(opts, kerneltest.WithPlugin(memoryinmemory.Plugin, "", nil))...)}
	var ok bool
	if b.mem, ok = memory.Service.Get(b.Root()); !ok {
		t.Fatalf("no memory:\n%s", b.Logs)
	}
	if m != nil {
		llm.Service.Provide(b.Root(), m, kernel.WithEntryID("p/"+m.Info().ID))
	}
	b.Idle()
	cfg := Default()
	if change != nil {
		change(&cfg)
	}
	b.s = newSummarizer(b.Root(), cfg)
	return b
}

// say saves n messages, user and assistant in turn: word 0 to word n-1.
func (b *bot) say(session, word string, n int) {
	b.t.Helper()
	for i := range n {
		role := message.RoleUser
		if i%2 == 1 {
			role = message.RoleAssistant
		}
		b.save(session, message.Message{Role: role, Content: fmt.Sprintf("%s %d.", word, i)})
	}
}

func (b *bot) save(session string, m message.Message) {
	b.t.Helper()
	if err := b.mem.SaveMessage(b.t.Context(), session, m); err != nil {
		b.t.Fatal(err)
	}
}

// live are the messages that are not archived.
func (b *bot) live(session string) []message.Message {
	b.t.Helper()
	ms, err := b.mem.History(b.t.Context(), session, 10_000)
	if err != nil {
		b.t.Fatal(err)
	}
	return ms
}

func (b *bot) record(session string) record {
	b.t.Helper()
	r, err := b.s.load(b.t.Context(), b.mem, session)
	if err != nil {
		b.t.Fatal(err)
	}
	r.UpdatedAt = 0
	return r
}

func (b *bot) put(session string, r record) {
	b.t.Helper()
	if err := b.s.save(b.t.Context(), b.mem, session, r); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bot) work(session string, aloud bool) (bool, error) {
	return b.s.work(b.t.Context(), session, aloud)
}

// progress collects what is told of summarising.
func (b *bot) progress() <-chan memory.CompressProgress {
	out := make(chan memory.CompressProgress, 100)
	memory.Compressing.On(b.Root(), func(_ context.Context, p memory.CompressProgress) error {
		out <- p
		return nil
	})
	return out
}

func wait[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(kerneltest.Patience):
		t.Fatal("nothing came")
		panic("not reached")
	}
}

// calls collects what is told of calls of models.
func (b *bot) calls() *[]agent.CallDone {
	var out []agent.CallDone
	agent.LLMCall.On(b.Root(), func(_ context.Context, d agent.CallDone) error {
		out = append(out, d)
		return nil
	})
	return &out
}

// said tells which numbers of a word the requests hold.
func said(reqs []llm.Request, word string, n int) (missing []int) {
	var all strings.Builder
	for _, r := range reqs {
		all.WriteString(r.Messages[1].Content)
	}
	for i := range n {
		if !strings.Contains(all.String(), fmt.Sprintf(": %s %d.", word, i)) {
			missing = append(missing, i)
		}
	}
	return missing
}
