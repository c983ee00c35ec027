// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llm_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestPrepare(t *testing.T) {
	tests := map[string]struct{ in, want message.Message }{
		"plain":            {message.Message{Role: "user", Content: "hi"}, message.Message{Role: "user", Content: "hi"}},
		"unknown role":     {message.Message{Role: "narrator", Content: "hi"}, message.Message{Role: "system", Content: "hi"}},
		"notice":           {message.Message{Role: "notice", Content: "poked"}, message.Message{Role: "system", Content: "[系统通知] poked"}},
		"notice, tagged":   {message.Message{Role: "notice", Content: "[系统通知] poked"}, message.Message{Role: "system", Content: "[系统通知] poked"}},
		"empty notice":     {message.Message{Role: "notice"}, message.Message{Role: "system"}},
		"delegation":       {message.Message{Role: "notice", Kind: message.KindCrossSessionDelegation, Content: "do"}, message.Message{Role: "system", Kind: message.KindCrossSessionDelegation, Content: "[跨会话委派] do"}},
		"not UTF-8":        {message.Message{Role: "user", Content: "a\xffb"}, message.Message{Role: "user", Content: "a\uFFFDb"}},
		"a lone surrogate": {message.Message{Role: "user", Content: "a\xed\xa0\x80b"}, message.Message{Role: "user", Content: "a\uFFFDb"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := []message.Message{tc.in}
			got := llm.Prepare(in)
			if d := cmp.Diff([]message.Message{tc.want}, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff([]message.Message{tc.in}, in); d != "" {
				t.Errorf("the input was changed:\n%s", d)
			}
			if d := cmp.Diff(got, llm.Prepare(got)); name != "unknown role" && d != "" {
				t.Errorf("a second time changes it:\n%s", d)
			}
		})
	}
}

type model struct{ info llm.Info }

func (m model) Info() llm.Info { return m.info }
func (model) Chat(context.Context, llm.Request) (llm.Response, error) {
	return llm.Response{}, nil
}
func (model) ChatStream(context.Context, llm.Request, func(llm.Chunk) error) error { return nil }

func TestResolve(t *testing.T) {
	app := kerneltest.New(t)
	k := app.Root()
	add := func(provider, id string, caps ...llm.Capability) {
		m := model{llm.Info{Provider: provider, ID: id, Capabilities: caps}}
		llm.Service.Provide(k, m, kernelEntry(m.info))
	}
	add("p:a", "embed")
	add("p:a", "org/small:7b", llm.CapChat)
	add("p:b", "big", llm.CapChat, llm.CapVision)
	tests := map[string]struct {
		ref  llm.Ref
		caps []llm.Capability
		want string
	}{
		"the first that can chat":  {caps: []llm.Capability{llm.CapChat}, want: "p:a/org/small:7b"},
		"the first that can see":   {caps: []llm.Capability{llm.CapChat, llm.CapVision}, want: "p:b/big"},
		"by provider":              {ref: llm.Ref{Provider: "p:b"}, want: "p:b/big"},
		"by id, with a slash":      {ref: llm.Ref{ID: "org/small:7b"}, want: "p:a/org/small:7b"},
		"by both":                  {ref: llm.Ref{Provider: "p:a", ID: "org/small:7b"}, want: "p:a/org/small:7b"},
		"not there":                {ref: llm.Ref{Provider: "p:b", ID: "small"}},
		"there, but cannot do it":  {ref: llm.Ref{Provider: "p:a", ID: "embed"}, caps: []llm.Capability{llm.CapChat}},
		"a provider's name prefix": {ref: llm.Ref{Provider: "p"}},
	}
	check := func(t *testing.T) {
		t.Helper()
		for name, tc := range tests {
			m, ok := llm.Resolve(k, tc.ref, tc.caps...)
			got := ""
			if ok {
				got = m.Info().Entry()
			}
			if got != tc.want {
				t.Errorf("%s: want %q, got %q", name, tc.want, got)
			}
		}
	}
	check(t)
	k.Prefer("llm", "p:a/embed") // it cannot chat, so who asks for that does not get it
	check(t)
	k.Prefer("llm", "p:b/big")
	if m, _ := llm.Resolve(k, llm.Ref{}, llm.CapChat); m.Info().Entry() != "p:b/big" {
		t.Errorf("the preferred model must win, got %s", m.Info().Entry())
	}
}

func kernelEntry(i llm.Info) kernel.ProvideOption { return kernel.WithEntryID(i.Entry()) }
