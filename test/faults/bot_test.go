// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/host"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

const (
	token   = "faults-token"
	userID  = "tester"
	session = "openai:" + userID + ":s"
	model   = "gpt-4o"

	agentPlugin  = "@aalis/plugin-agent"
	sqlitePlugin = "@aalis/plugin-memory-sqlite"
	redisPlugin  = "@aalis/plugin-memory-redis"
	provider     = "@aalis/plugin-llm-openai:main"
	door         = "@aalis/plugin-platform-openai"
)

// home is what a bot has besides its model: where it remembers and how it speaks.
type home struct {
	memory   string // module
	config   map[string]any
	language i18n.Language
}

func homes() map[string]home {
	return map[string]home{
		"in memory, English": {memory: "@aalis/plugin-memory-inmemory", language: i18n.English},
		"SQLite, Chinese":    {memory: sqlitePlugin, language: i18n.Chinese},
	}
}

// bot is a whole bot, the model that it asks, and a person who talks to it through its door.
type bot struct {
	*kerneltest.Harness
	t      *testing.T
	fake   *fakellm.Server
	addr   string // of the door
	client *http.Client
}

// recipe is what a test wants other than usual.
type recipe struct {
	home
	server   http.Handler              // instead of the fake model server
	configs  map[string]map[string]any // of plugins, over the usual ones
	omit     []string                  // plugins
	beside   bool                      // other bots run at the same time: who runs them looks for leaks
	options  []kerneltest.Option
	settings map[string]any
}

// start starts a bot. It and everything around it must be gone without a trace when the test ends.
func start(t *testing.T, r recipe) *bot {
	t.Helper()
	if !r.beside {
		kerneltest.NoLeaks(t)
	}
	b := &bot{t: t, fake: fakellm.New(fakellm.Options{})}
	handler := r.server
	if handler == nil {
		handler = b.fake
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	b.client = &http.Client{Transport: transport, Timeout: kerneltest.Patience}
	b.addr = freeAddr(t)
	b.Harness = kerneltest.New(t, b.options(r, server.URL)...)
	b.ready(r)
	return b
}

func (b *bot) options(r recipe, url string) []kerneltest.Option {
	_, port, _ := net.SplitHostPort(b.addr)
	configs := map[string]map[string]any{
		agentPlugin: nil, "@aalis/plugin-gateway": nil, "@aalis/plugin-tools": nil, "@aalis/plugin-commands": nil,
		"@aalis/plugin-message-archive": nil, "@aalis/plugin-memory-history": nil, "@aalis/plugin-persona": nil,
		"@aalis/plugin-session-manager": nil, "@aalis/plugin-prompt-budget": nil, r.memory: r.config,
		provider: {"baseUrl": url, "customModels": model},
		door:     {"port": json.Number(port), "tokens": userID + ": " + token, "maxBodyBytes": 8 << 20},
	}
	for id, more := range r.configs {
		merged := maps.Clone(configs[id])
		if merged == nil {
			merged = map[string]any{}
		}
		maps.Copy(merged, more)
		configs[id] = merged
	}
	for _, id := range r.omit {
		delete(configs, id)
	}
	dir := b.t.TempDir()
	out := []kerneltest.Option{
		kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
		kerneltest.WithSetting(i18n.Setting.Key(), r.language),
		kerneltest.WithSetting(store.IdentitySetting.Key(), store.Identity{Cluster: "c", Namespace: "n", UID: "faults"}),
		kerneltest.WithModules(host.Modules()...),
		kerneltest.WithOptions(func(o *kernel.Options) {
			o.Now, o.DevMode, o.DataDir, o.DrainTimeout = time.Now, false, dir, time.Second
			for id, cfg := range configs {
				name, _, _ := strings.Cut(id, ":")
				o.Config.Plugins[id] = kernel.PluginConfig{Module: name, Config: cfg}
			}
		}),
	}
	for key, value := range r.settings {
		out = append(out, kerneltest.WithSetting(key, value))
	}
	return append(out, r.options...)
}

// ready waits for the door. Another process may have taken its port meanwhile: then it gets another one.
func (b *bot) ready(r recipe) {
	b.t.Helper()
	for range 5 {
		b.Idle()
		if b.Plugin(door).State == recompute.Active {
			return
		}
		b.addr = freeAddr(b.t)
		_, port, _ := net.SplitHostPort(b.addr)
		b.Apply(func(cfg *kernel.Config) {
			cfg.Plugins = maps.Clone(cfg.Plugins)
			p := cfg.Plugins[door]
			p.Config = maps.Clone(p.Config)
			p.Config["port"] = json.Number(port)
			cfg.Plugins[door] = p
		})
	}
	b.t.Fatalf("the door does not open: %+v\n%s", b.Plugin(door), b.Logs)
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// heard is what a person gets to see of one answer.
type heard struct {
	status    int
	text      string
	reasoning string
	notice    bool // the bot's own machinery spoke first
	ended     bool // the answer came to its proper end
	took      time.Duration
}

// ask says something and listens to the end of the answer.
func (b *bot) ask(text string) heard {
	b.t.Helper()
	raw, err := json.Marshal(text)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.post(fmt.Sprintf(`{"model":"x","stream":true,"user":"s","messages":[{"role":"user","content":%s}]}`, raw))
}

func (b *bot) post(body string) heard {
	b.t.Helper()
	began := time.Now()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, "http://"+b.addr+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatalf("asking: %v\n%s", err, b.Logs)
	}
	defer func() { _ = resp.Body.Close() }()
	h := heard{status: resp.StatusCode, notice: resp.Header.Get("X-Aalis-Notice") != ""}
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			b.t.Fatal(err)
		}
		h.text, h.ended = string(text), true
	} else {
		h.listen(b.t, resp.Body)
	}
	h.took = time.Since(began)
	return h
}

// listen reads a stream to its end.
func (h *heard) listen(t *testing.T, body io.Reader) {
	t.Helper()
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: ")); ok {
			h.frame(t, data)
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("reading the answer: %v", err)
		}
	}
}

func (h *heard) frame(t *testing.T, data []byte) {
	t.Helper()
	if string(data) == "[DONE]" {
		h.ended = true
		return
	}
	var chunk struct {
		Choices []struct {
			Delta struct {
				Content   string `json:"content"`
				Reasoning string `json:"reasoning_content"`
			} `json:"delta"`
		} `json:"choices"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &chunk); err != nil || chunk.Error != nil {
		t.Fatalf("frame %s: %v", data, err)
	}
	for _, c := range chunk.Choices {
		h.text += c.Delta.Content
		h.reasoning += c.Delta.Reasoning
	}
}

// backend is the memory of the bot.
func (b *bot) backend() memory.Backend {
	b.t.Helper()
	m, ok := memory.Service.Get(b.Root())
	if !ok {
		b.t.Fatalf("there is no memory\n%s", b.Logs)
	}
	return m
}

// history is everything that the bot remembers of the conversation.
func (b *bot) history() []message.Message {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), kerneltest.Patience)
	defer cancel()
	list, err := b.backend().FullHistory(ctx, session, 10_000)
	if err != nil {
		b.t.Fatalf("reading the history: %v", err)
	}
	return list
}

// calls is how many times the model was asked.
func (b *bot) calls() int {
	n := 0
	for _, e := range b.fake.Requests() {
		if e.API == "chat" {
			n++
		}
	}
	return n
}

// whole checks that nothing is half saved: each question is there exactly once and in order, each group of tool calls has
// all its results behind it, and no assistant message is empty.
func whole(t *testing.T, list []message.Message, questions ...string) {
	t.Helper()
	open, next := []string(nil), 0
	for i, m := range list {
		if len(open) > 0 && (m.Role != message.RoleTool || m.ToolCallID != open[0]) {
			t.Errorf("message %d: the calls %v have no results", i, open)
			open = nil
		}
		switch m.Role {
		case message.RoleUser:
			if next >= len(questions) || m.Content != questions[next] {
				t.Errorf("message %d: nobody said %.80q here", i, m.Content)
			}
			next++
		case message.RoleAssistant:
			if strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 {
				t.Errorf("message %d: an empty reply was saved", i)
			}
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
		case message.RoleTool:
			if len(open) == 0 {
				t.Errorf("message %d: a result without its call", i)
				continue
			}
			open = open[1:]
		default:
			t.Errorf("message %d has the role %s", i, m.Role)
		}
	}
	if len(open) > 0 {
		t.Errorf("the calls %v have no results", open)
	}
	if next != len(questions) {
		t.Errorf("%d of %d questions are remembered", next, len(questions))
	}
}

// replies are the assistant's messages that are not tool calls.
func replies(list []message.Message) []string {
	var out []string
	for _, m := range list {
		if m.Role == message.RoleAssistant && len(m.ToolCalls) == 0 {
			out = append(out, m.Content)
		}
	}
	return out
}
