// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Writes counts requests by what they do, for example "apply configmaps" or "patch agentinstances/status". Reads are
// counted apart, as one number.
type Writes struct {
	mu        sync.Mutex
	counts    map[string]int
	forbidden []string
	reads     int
	last      time.Time
}

func newWrites() *Writes { return &Writes{counts: map[string]int{}, last: time.Now()} }

// Counts gives the counts since the last Reset.
func (w *Writes) Counts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.counts)
}

// Total gives the number of writes since the last Reset, Events left out.
func (w *Writes) Total() int {
	total := 0
	for what, n := range w.Counts() {
		if !strings.HasSuffix(what, " events") {
			total += n
		}
	}
	return total
}

// Forbidden lists the requests that the role did not allow.
func (w *Writes) Forbidden() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.forbidden)
}

// Reset starts the counts anew.
func (w *Writes) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts, w.reads = map[string]int{}, 0
}

// idleFor tells how long ago the last write was.
func (w *Writes) idleFor(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return now.Sub(w.last)
}

// String lists the counts, sorted.
func (w *Writes) String() string {
	counts := w.Counts()
	lines := make([]string, 0, len(counts))
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%d %s", counts[what], what))
	}
	return strings.Join(lines, ", ")
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (w *Writes) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		w.count(req, resp)
		return resp, err
	})
}

func (w *Writes) count(req *http.Request, resp *http.Response) {
	what := verb(req) + " " + resource(req.URL.Path)
	w.mu.Lock()
	defer w.mu.Unlock()
	if resp != nil && resp.StatusCode == http.StatusForbidden {
		w.forbidden = append(w.forbidden, what)
	}
	if req.Method == http.MethodGet {
		w.reads++
		return
	}
	w.counts[what]++
	w.last = time.Now()
}

func verb(req *http.Request) string {
	if req.Method == http.MethodPatch && strings.Contains(req.Header.Get("Content-Type"), "apply-patch") {
		return "apply"
	}
	switch req.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	}
	return strings.ToLower(req.Method)
}

// resource reads the resource and the subresource from the path of a namespaced object.
func resource(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	i := slices.Index(parts, "namespaces")
	if i < 0 || i+2 >= len(parts) {
		return path
	}
	rest := parts[i+2:] // resource, name, subresource
	if len(rest) >= 3 {
		return rest[0] + "/" + rest[2]
	}
	return rest[0]
}
