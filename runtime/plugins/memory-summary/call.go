// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysummary

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	spending "github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tracing"
)

// reply is what came of one call so far.
type reply struct {
	text  strings.Builder
	usage *llm.Usage
	first time.Duration
	done  bool
}

// call asks one model, as a stream if it can, and tells of the call. A reply that broke off is an error.
func (s *summarizer) call(ctx context.Context, m llm.Model, req llm.Request) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	info := m.Info()
	grant, err := spending.Reserve(ctx, s.k, spending.Call{Model: info, PromptTokens: s.promptTokens(info, req), MaxCompletion: longest(info, req)})
	if err != nil {
		return "", err
	}
	if grant.MaxCompletion < longest(info, req) {
		req.MaxTokens = grant.MaxCompletion
	}
	ctx, end := tracing.Chat(ctx, s.k, info, string(agent.PurposeSummary))
	begun := s.k.Now()
	var r reply
	streaming := slices.Contains(info.Capabilities, llm.CapStreaming)
	err = s.ask(ctx, m, req, streaming, &r)
	done := agent.CallDone{
		Purpose: agent.PurposeSummary, Price: info.Price,
		Provider: info.Provider, Model: info.ID, Streaming: streaming, Duration: s.k.Now().Sub(begun), FirstToken: r.first, Err: err,
	}
	if done.Usage, done.Frame = info.Judge(r.usage); done.Usage == (llm.Usage{}) {
		done.Usage, done.Estimated = s.estimate(info, req, r.text.String()), true
	}
	if err != nil && r.usage == nil && r.text.Len() == 0 {
		done.Frame = ""
	}
	grant.Settle(done.Usage)
	end(done.Usage, err)
	agent.LLMCall.Emit(context.WithoutCancel(ctx), s.k, done)
	if err != nil {
		return "", err
	}
	return r.text.String(), nil
}

func (s *summarizer) ask(ctx context.Context, m llm.Model, req llm.Request, streaming bool, r *reply) error {
	if !streaming {
		resp, err := m.Chat(ctx, req)
		r.text.WriteString(resp.Content)
		r.usage = resp.Usage
		return err
	}
	begun := s.k.Now()
	err := m.ChatStream(ctx, req, func(c llm.Chunk) error {
		if r.text.Len() == 0 && c.ContentDelta != "" {
			r.first = s.k.Now().Sub(begun)
		}
		r.text.WriteString(c.ContentDelta)
		if c.Usage != nil {
			r.usage = c.Usage
		}
		r.done = r.done || c.Done
		return nil
	})
	if err == nil && !r.done {
		return errBroken
	}
	return err
}

// estimate counts a call whose provider does not. One that ended before its first piece is taken to have cost nothing.
func (s *summarizer) estimate(info llm.Info, req llm.Request, text string) llm.Usage {
	if text == "" {
		return llm.Usage{}
	}
	u := llm.Usage{PromptTokens: s.promptTokens(info, req)}
	u.CompletionTokens = tokens.For(s.k, info.Provider, info.ID).Count(text)
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// promptTokens is our count of what is asked.
func (s *summarizer) promptTokens(info llm.Info, req llm.Request) int {
	counter := tokens.For(s.k, info.Provider, info.ID)
	n := 0
	for _, m := range req.Messages {
		n += counter.Count(m.Content)
	}
	return n
}

// longest is the longest reply that a request can have, in tokens.
func longest(info llm.Info, req llm.Request) int {
	if req.MaxTokens > 0 {
		return req.MaxTokens
	}
	return spending.Longest(info)
}
