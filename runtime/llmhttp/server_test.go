// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestServerOpen(t *testing.T) {
	tests := map[string]struct {
		server Server
		want   string // part of the error; empty if there is none
	}{
		"no key wanted":          {Server{BaseURL: "https://llm.example"}, ""},
		"key for this host":      {Server{BaseURL: "https://llm.example", KeyHost: "llm.example"}, "because config.baseUrl is llm.example"},
		"key for another host":   {Server{BaseURL: "https://llm.example", KeyHost: "api.example"}, ""},
		"key for every host":     {Server{BaseURL: "https://llm.example", KeyHost: AnyHost}, "config.apiKey: must be given from a Secret"},
		"key given":              {Server{BaseURL: "https://llm.example", KeyHost: AnyHost, Key: "k"}, ""},
		"key with a line break":  {Server{BaseURL: "https://llm.example", Key: "sesame\n"}, "config.apiKey: may hold only"},
		"no address":             {Server{BaseURL: "sesame"}, "config.baseUrl: "},
		"address of cloud hosts": {Server{BaseURL: "http://169.254.169.254"}, "config.baseUrl: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ep, err := tt.server.Open(kerneltest.New(t).Root())
			switch {
			case tt.want == "" && (err != nil || ep == nil):
				t.Errorf("error is %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error is %v, want %q", err, tt.want)
			case err != nil && tt.server.Key != "" && strings.Contains(err.Error(), "sesame"):
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

// TestBegin: a call ends with its caller, after its time, and with the plugin, each with its own cause.
func TestBegin(t *testing.T) {
	open := func(t *testing.T) (ep *Endpoint, teardown func()) {
		t.Helper()
		k := kerneltest.New(t).Root()
		ep, err := Server{BaseURL: "https://llm.example"}.Open(k)
		if err != nil {
			t.Fatal(err)
		}
		return ep, func() { go func() { _ = k.Dispose(context.Background()) }() }
	}
	ended := func(t *testing.T, ctx context.Context, want error) {
		t.Helper()
		select {
		case <-ctx.Done():
			if got := context.Cause(ctx); !errors.Is(got, want) {
				t.Errorf("cause is %v, want %v", got, want)
			}
		case <-time.After(kerneltest.Patience):
			t.Error("the call goes on")
		}
	}
	t.Run("caller", func(t *testing.T) {
		ep, _ := open(t)
		parent, cancel := context.WithCancel(t.Context())
		ctx, done := ep.Begin(parent, 0)
		defer done()
		cancel()
		ended(t, ctx, context.Canceled)
	})
	t.Run("time", func(t *testing.T) {
		ep, _ := open(t)
		ctx, done := ep.Begin(t.Context(), time.Millisecond)
		defer done()
		ended(t, ctx, errTimedOut)
	})
	t.Run("teardown", func(t *testing.T) {
		ep, teardown := open(t)
		ctx, done := ep.Begin(t.Context(), time.Hour)
		defer done()
		teardown()
		ended(t, ctx, errStopping)
	})
	t.Run("done", func(t *testing.T) {
		ep, _ := open(t)
		_, done := ep.Begin(t.Context(), 0)
		if ep.calls.Count() != 1 {
			t.Error("the call is not counted")
		}
		if done(); ep.calls.Count() != 0 {
			t.Error("the call is still counted")
		}
	})
}

func TestUnmarshal(t *testing.T) {
	var out struct {
		A string `json:"a"`
		B int    `json:"b"`
	}
	if err := Unmarshal([]byte(`{"a":7,"b":8}`), &out); err != nil || out.A != "" || out.B != 8 {
		t.Errorf("a field of another type: %+v, %v", out, err)
	}
	for _, text := range []string{"", "{", "<html>"} {
		if err := Unmarshal([]byte(text), &out); !errors.Is(err, ErrNonsense) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
