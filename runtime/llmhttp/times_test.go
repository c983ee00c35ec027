// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]time.Duration{
		"": 0, "3": 3 * time.Second, " 1.5 ": 1500 * time.Millisecond, "-1": 0, "1e12": 0, "NaN": 0, "soon": 0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	}
	for header, want := range tests {
		if got := parseRetryAfter(header, now); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
	p := &Provider{tools: Tools{Jitter: func() float64 { return 1 }}}
	for _, tt := range []struct {
		tries int
		after time.Duration
		want  time.Duration
	}{
		{1, 0, 750 * time.Millisecond}, {2, 0, 1500 * time.Millisecond},
		{1, 4 * time.Second, 4500 * time.Millisecond}, {1, maxWaiting, maxWaiting}, {1, time.Minute, time.Minute + 500*time.Millisecond},
	} {
		if got := p.retryWait(tt.tries, tt.after); got != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}

func TestDiscoveryWait(t *testing.T) {
	refused := &StatusError{Status: http.StatusUnauthorized}
	busy := &StatusError{Status: http.StatusTooManyRequests}
	tests := []struct {
		failures int
		err      error
		want     time.Duration
	}{
		{1, errors.New("x"), time.Second},
		{4, errors.New("x"), 8 * time.Second},
		{7, errors.New("x"), time.Minute},
		{1000, errors.New("x"), time.Minute},
		{7, busy, time.Minute},
		{8, refused, 128 * time.Second},
		{100, refused, 5 * time.Minute},
	}
	for _, tt := range tests {
		if got := discoveryWait(tt.failures, tt.err); got != tt.want {
			t.Errorf("after %d failures with %v: got %s, want %s", tt.failures, tt.err, got, tt.want)
		}
	}
	p := &Provider{tools: Tools{Jitter: func() float64 { return 0.5 }}}
	if got := p.spread(8 * time.Second); got != 7*time.Second {
		t.Errorf("got %s, want 7s", got)
	}
}

func TestLanguagesHaveTheSameTexts(t *testing.T) {
	for kind := range english {
		if chinese[kind] == "" || english[kind] == "" {
			t.Errorf("%s has no text in a language", kind)
		}
	}
	if len(english) != len(chinese) {
		t.Error("the languages have different texts")
	}
}
