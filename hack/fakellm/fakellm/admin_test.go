// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{LedgerEntries: 4})
	if r := f.do(http.MethodGet, "/admin/last", "", ""); r.status != 404 {
		t.Errorf("last of none: %d", r.status)
	}
	body := ask("fake-1", "#say hi", false)
	f.do(http.MethodPost, "/v1/chat/completions", "k1", body)
	f.do(http.MethodPost, "/v1/chat/completions", "k1", ask("gpt-4o", "#fault 429", false))
	f.do(http.MethodPost, "/v1/chat/completions", "k2", `{bad`)
	f.do(http.MethodGet, "/v1/models", "k1", "")
	ids := func(query string) []uint64 { return ledgerIDs(t, f, query, body) }
	for query, want := range map[string][]uint64{
		"": {1, 2, 3, 4}, "?after=2": {3, 4}, "?limit=1": {4}, "?api=models": {4}, "?model=gpt-4o": {2},
		"?keyHash=" + fakellm.HashKey("k2"): {3}, "?model=none": nil,
	} {
		if diff := cmp.Diff(want, ids(query)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", query, diff)
		}
	}
	for query, want := range map[string]string{"?after=x": "after", "?limit=0": "limit", "?body=x": "body"} {
		for _, path := range []string{"/admin/requests", "/admin/last"} {
			if r := f.do(http.MethodGet, path+query, "", ""); r.status != 400 || str(parseError(t, r).Param) != want {
				t.Errorf("%s%s: %d %s", path, query, r.status, r.body)
			}
		}
	}
	if r := f.do(http.MethodGet, "/admin/requests?body=false", "", ""); strings.Contains(r.body, `"body"`) {
		t.Errorf("bodies in %s", r.body)
	}
	if r := f.do(http.MethodGet, "/admin/last", "", ""); !strings.Contains(r.body, `"id":3,"time":"2027-01-15T08:00:00Z"`) {
		t.Errorf("last: %s", r.body)
	}
	f.chat(body)
	if diff := cmp.Diff([]uint64{2, 3, 4, 5}, ids("")); diff != "" {
		t.Errorf("bound (-want +got)\n%s", diff)
	}
	checkTotals(t, f)
	if r := f.do(http.MethodDelete, "/admin/requests", "", ""); r.status != 204 || len(f.Requests())+len(f.Usage()) != 0 {
		t.Errorf("reset: %d", r.status)
	}
	f.chat(body)
	if diff := cmp.Diff([]uint64{6}, ids("")); diff != "" {
		t.Errorf("after the reset (-want +got)\n%s", diff)
	}
}

// ledgerIDs returns the ids that a query finds. Entry 1 must have body, and entry 3 one that is not JSON.
func ledgerIDs(t *testing.T, f *fake, query, body string) (out []uint64) {
	t.Helper()
	r := f.do(http.MethodGet, "/admin/requests"+query, "", "")
	var list struct {
		Requests []struct {
			ID   uint64          `json:"id"`
			Body json.RawMessage `json:"body"`
		} `json:"requests"`
	}
	if err := json.Unmarshal([]byte(r.body), &list); err != nil || r.status != 200 {
		t.Fatalf("%s: %d %s", query, r.status, r.body)
	}
	for _, e := range list.Requests {
		out = append(out, e.ID)
		if e.ID == 1 && string(e.Body) != body {
			t.Errorf("body %s, want %s", e.Body, body)
		}
		if e.ID == 3 && string(e.Body) != `"{bad"` {
			t.Errorf("body %s", e.Body)
		}
	}
	return out
}

func checkTotals(t *testing.T, f *fake) {
	t.Helper()
	k1 := fakellm.HashKey("k1")
	// The prompt is "Be brief.\nAnd kind.", 4+5 tokens, and "#say hi", 4+2.
	bill := fakellm.Usage{PromptTokens: 15, CompletionTokens: 1}
	want := []fakellm.Totals{
		{Model: "fake-1", KeyHash: k1, Requests: 1, Usage: bill},
		{Model: "fake-1", KeyHash: "none", Requests: 1, Usage: bill},
		{Model: "gpt-4o", KeyHash: k1, Requests: 1, Errors: 1},
	}
	if k1 > "none" {
		want[0], want[1] = want[1], want[0]
	}
	if diff := cmp.Diff(want, f.Usage()); diff != "" {
		t.Errorf("totals (-want +got)\n%s", diff)
	}
	r := f.do(http.MethodGet, "/admin/usage", "", "")
	if !strings.Contains(r.body, `"total":{"requests":3,"errors":1,"promptTokens":30,"cachedTokens":0,"completionTokens":2,"reasoningTokens":0}`) {
		t.Errorf("usage: %s", r.body)
	}
}

// TestConcurrent is for the race detector, and checks that no request is lost.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{})
	const clients, each = 8, 20
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for i := range each {
				r := f.chat(ask("fake-1", "#repeat 5", i%2 == 0))
				if r.status != 200 || r.err != nil {
					t.Errorf("got %+v", r)
				}
				f.do(http.MethodGet, "/admin/requests?limit=3", "", "")
				f.do(http.MethodGet, "/admin/usage", "", "")
			}
		})
	}
	wg.Wait()
	usage := f.Usage()
	if len(usage) != 1 || usage[0].Requests != clients*each || usage[0].CompletionTokens != clients*each*4 {
		t.Errorf("got %+v", usage)
	}
}

// TestLog checks that a request is logged, and neither its body nor its key.
func TestLog(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var out bytes.Buffer
	f := start(t, fakellm.Options{Logger: slog.New(slog.NewTextHandler(lockedWriter{&mu, &out}, nil))})
	f.do(http.MethodPost, "/v1/chat/completions", "sk-canary", ask("fake-1", "canary", false))
	text := func() string {
		mu.Lock()
		defer mu.Unlock()
		return out.String()
	}
	eventually(t, "logged", func() bool { return strings.Contains(text(), "Served request") })
	if got := text(); strings.Contains(got, "canary") || !strings.Contains(got, "model=fake-1") || !strings.Contains(got, "status=200") {
		t.Errorf("got %s", got)
	}
}

type lockedWriter struct {
	mu  *sync.Mutex
	out *bytes.Buffer
}

func (w lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(b)
}
