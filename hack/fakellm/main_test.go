// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output is a buffer that the server's goroutines and the test share.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func TestRun(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text  string
		grace string
		done  bool   // the stream ends whole
		log   string // at the end
	}{
		"answers end":  {text: "#say hi", grace: "1m", done: true, log: "Stopped"},
		"answer stuck": {text: "#fault stall", grace: "1ms", log: "Closed answers that were still running"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out output
			ready := make(chan net.Addr, 1)
			ended := make(chan error, 1)
			args := []string{"--listen", "127.0.0.1:0", "--grace", tt.grace, "--models", "m1, m2", "--api-key", "k"}
			go func() { ended <- run(ctx, args, &out, func(a net.Addr) { ready <- a }) }()
			var address net.Addr
			select {
			case address = <-ready:
			case err := <-ended:
				t.Fatal(err)
			}
			body := `{"model":"m2","stream":true,"messages":[{"role":"user","content":"` + tt.text + `"}]}`
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address.String()+"/v1/chat/completions", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer k")
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			resp, err := (&http.Client{Transport: transport}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			cancel()
			b, _ := io.ReadAll(resp.Body)
			if got := strings.Contains(string(b), "[DONE]"); got != tt.done {
				t.Errorf("got %s", b)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if !strings.Contains(out.String(), tt.log) || strings.Contains(out.String(), tt.text) {
				t.Errorf("log:\n%s", out.String())
			}
		})
	}
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		want string
	}{
		"argument":       {[]string{"x"}, `unexpected argument "x"`},
		"unknown":        {[]string{"--nope"}, "flag provided but not defined"},
		"negative delay": {[]string{"--chunk-delay", "-1s"}, "--chunk-delay is -1s"},
		"negative parts": {[]string{"--chunks", "-1"}, "--chunks is -1"},
		"negative grace": {[]string{"--grace", "-1s"}, "--grace is -1s"},
		"empty model":    {[]string{"--models", "a,,b"}, "a value between the commas is empty"},
		"address":        {[]string{"--listen", "256.0.0.1:x"}, "listening on 256.0.0.1:x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), tt.args, io.Discard, func(net.Addr) {})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	var help bytes.Buffer
	if err := run(t.Context(), []string{"--help"}, &help, func(net.Addr) {}); !errors.Is(err, flag.ErrHelp) ||
		!strings.Contains(help.String(), "gpt-4o-mini") {
		t.Errorf("help: %v\n%s", err, help.String())
	}
}
