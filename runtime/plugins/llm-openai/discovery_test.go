// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// lister answers the list of models with what it was last set to; "" is a failure.
type lister struct {
	mu  sync.Mutex
	ids string
}

func (l *lister) set(ids string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = ids
}

func (l *lister) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == "" {
		http.Error(w, "down, "+testKey+" is of no use", http.StatusBadGateway)
		return
	}
	var items []string
	for id := range strings.FieldsSeq(l.ids) {
		items = append(items, fmt.Sprintf(`{"id":%q,"object":"model"}`, id))
	}
	_, _ = w.Write([]byte(`{"object":"list","data":[` + strings.Join(items, ",") + `]}`))
}

func TestDiscoveryHeals(t *testing.T) {
	l := &lister{}
	r := serve(t, l, nil)
	r.WantState(instance, recompute.Active)
	next := func() {
		t.Helper()
		n := len(r.rested())
		r.tick <- struct{}{}
		eventually(t, "the next discovery", func() bool { return len(r.rested()) > n })
	}
	eventually(t, "the first discovery", func() bool { return len(r.rested()) == 1 })
	wantModels := func(want ...string) {
		t.Helper()
		eventually(t, "models "+fmt.Sprint(want), func() bool { return cmp.Equal(want, r.entries()) })
	}
	wantModels()
	for range 3 {
		next()
	}
	l.set("a b")
	next()
	wantModels("a", "b")
	l.set("b c text-embedding-3-small whisper-1 bad\u200bid")
	next()
	wantModels("b", "c")
	l.set("") // down again: what is known stays
	next()
	wantModels("b", "c")
	want := []time.Duration{
		time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Minute, 15 * time.Minute, time.Second,
	}
	if d := cmp.Diff(want, r.rested()); d != "" {
		t.Error(d)
	}
	if warned := r.Logs.AtLeast(slog.LevelWarn); len(warned) != 1 || !strings.Contains(warned[0].String(), "[redacted] is of no use") {
		t.Errorf("warnings are %v, want one, without the key", warned)
	}
	if len(r.Logs.Find("Server answers again")) != 1 {
		t.Errorf("the recovery is not in the log:\n%s", r.Logs)
	}
}

func TestServerWithoutModelsIsNoError(t *testing.T) {
	l := &lister{}
	l.set("text-embedding-3-small")
	r := serve(t, l, nil)
	r.WantState(instance, recompute.Active)
	eventually(t, "the log of the empty list", func() bool { return len(r.Logs.Find("lists no chat model")) == 1 })
	if len(r.entries()) != 0 {
		t.Errorf("entries %v; log:\n%s", r.entries(), r.Logs)
	}
}

func TestHangingServerDoesNotHoldUpTheStart(t *testing.T) {
	gone := make(chan struct{})
	r := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		<-q.Context().Done()
		close(gone)
	}), nil)
	r.WantState(instance, recompute.Active)
	r.Stop()
	<-gone
}
