// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wholebot runs a whole bot in a test's own process: every module that is on by default, a model behind it and the
// OpenAI-compatible platform before it, over loopback. It is linked into tests only.
package wholebot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/host"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

// Platform is the platform of everybody who talks to the bot over HTTP.
const Platform = "openai"

// Model is the chat model of the bot.
const Model = "gpt-4o-mini"

// Bot is a bot that runs until its test ends.
type Bot struct {
	*kerneltest.Harness
	tb   testing.TB
	addr string

	mu     sync.Mutex
	audits []access.Audit
}

// Start runs a bot for some people, with a model at a base URL and further modules.
func Start(tb testing.TB, modelURL string, people []string, more ...kernel.Module) *Bot {
	tb.Helper()
	b := &Bot{tb: tb, addr: freeAddr(tb)}
	_, text, err := net.SplitHostPort(b.addr)
	if err != nil {
		tb.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatal(err)
	}
	var tokens strings.Builder
	for _, p := range people {
		fmt.Fprintf(&tokens, "%s: %s\n", p, token(p))
	}
	opts := []kerneltest.Option{
		kerneltest.WithModules(host.Modules()...),
		kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
		kerneltest.WithOptions(func(o *kernel.Options) { o.Config.LogLevel, o.DevMode, o.Now = "info", false, time.Now }),
	}
	for _, m := range more {
		opts = append(opts, kerneltest.WithPlugin(m, "", nil))
	}
	for _, m := range host.Modules() {
		if m.OnByDefault {
			opts = append(opts, kerneltest.WithPlugin(m, "", nil))
		}
		switch m.Name {
		case "@aalis/plugin-llm-openai":
			opts = append(opts, kerneltest.WithPlugin(m, m.Name+":main", map[string]any{
				"baseUrl": modelURL, "customModels": Model, "providerCapabilities": "chat streaming tool_calling",
			}))
		case "@aalis/plugin-platform-openai":
			opts = append(opts, kerneltest.WithPlugin(m, "", map[string]any{"port": port, "tokens": tokens.String()}))
		}
	}
	b.Harness = kerneltest.New(tb, opts...)
	access.Decided.On(b.Root(), func(_ context.Context, a access.Audit) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.audits = append(b.audits, a)
		return nil
	})
	return b
}

func freeAddr(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func token(person string) string { return "token-of-" + person + "-0123456789" }

// Audits takes the decisions that were recorded since the last call.
func (b *Bot) Audits() []access.Audit {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.audits
	b.audits = nil
	return out
}

// Declare puts a policy into force.
func (b *Bot) Declare(a *kernelconfig.Authority) {
	b.tb.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		b.tb.Fatal(err)
	}
	b.Apply(func(c *kernel.Config) { c.Settings[access.Setting.Key()] = raw })
}

// Client is an OpenAI client of a person in a session.
func (b *Bot) Client(person, session string) *openai.Client {
	conf := openai.DefaultConfig(token(person))
	conf.BaseURL = "http://" + b.addr + "/v1"
	conf.HTTPClient = &http.Client{Transport: inSession(session)}
	return openai.NewClientWithConfig(conf)
}

type inSession string

func (s inSession) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-Aalis-Session", string(s))
	return http.DefaultTransport.RoundTrip(r)
}

// Request is a request that says one thing.
func Request(text string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{Model: "bot", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: text}}}
}

// Question is a part of every question for a confirmation, in English.
const Question = "must be confirmed"

// Say says something and gives the whole answer. As soon as the bot asks for a confirmation, asked is called, once.
func (b *Bot) Say(ctx context.Context, person, session string, req openai.ChatCompletionRequest, asked func()) string {
	b.tb.Helper()
	stream, err := b.Client(person, session).CreateChatCompletionStream(ctx, req)
	if err != nil {
		b.tb.Fatalf("%s: %v", person, err)
	}
	defer func() { _ = stream.Close() }()
	var text strings.Builder
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			b.tb.Fatalf("%s: %v after %q", person, err, text.String())
		}
		if len(part.Choices) > 0 {
			text.WriteString(part.Choices[0].Delta.Content)
		}
		if asked != nil && strings.Contains(text.String(), Question) {
			asked()
			asked = nil
		}
	}
}

// Answer says something in a request of its own that waits for no stream, as the answer to a question is.
func (b *Bot) Answer(ctx context.Context, person, session, text string) {
	b.tb.Helper()
	if _, err := b.Client(person, session).CreateChatCompletion(ctx, Request(text)); err != nil {
		b.tb.Fatalf("%s answers: %v", person, err)
	}
}
