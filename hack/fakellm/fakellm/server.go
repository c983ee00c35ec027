// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Server is a fake model server. It implements http.Handler; make one with New. It is safe for concurrent use.
type Server struct {
	opts   Options
	routes map[string]map[string]http.HandlerFunc // path, then method
	ledger *ledger
	faults *faultBook
	prefix *prefixCache
}

// New returns a Server with o, whose unset fields take their defaults. It starts nothing and needs no closing.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		opts:   o,
		ledger: newLedger(o.LedgerEntries, o.LedgerBytes),
		faults: newFaultBook(),
		prefix: newPrefixCache(o.PrefixEntries),
	}
	s.routes = map[string]map[string]http.HandlerFunc{
		"/models":           {http.MethodGet: s.api(apiModels, (*exchange).models)},
		"/chat/completions": {http.MethodPost: s.api(apiChat, (*exchange).chat)},
		"/embeddings":       {http.MethodPost: s.api(apiEmbeddings, (*exchange).embeddings)},
		"/healthz":          {http.MethodGet: s.healthz},
		"/admin/faults": {
			http.MethodGet: s.adminListFaults, http.MethodPost: s.adminAddFaults, http.MethodDelete: s.adminDeleteFaults,
		},
		"/admin/requests": {http.MethodGet: s.adminRequests, http.MethodDelete: s.adminReset},
		"/admin/last":     {http.MethodGet: s.adminLast},
		"/admin/usage":    {http.MethodGet: s.adminUsage},
		"/admin/cache":    {http.MethodDelete: s.adminClearCache},
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, "/v1/"); ok && !strings.HasPrefix(rest, "admin/") && rest != "healthz" {
		path = "/" + rest
	}
	methods, ok := s.routes[path]
	if !ok {
		writeError(w, &apiError{
			status: http.StatusNotFound, kind: typeInvalid, code: "unknown_url",
			message: fmt.Sprintf("there is nothing at %s %s", r.Method, r.URL.Path),
		})
		return
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handler, ok := methods[method]
	if !ok {
		allowed := make([]string, 0, len(methods))
		for m := range methods {
			allowed = append(allowed, m)
		}
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		writeError(w, &apiError{
			status: http.StatusMethodNotAllowed, kind: typeInvalid, code: "method_not_allowed",
			message: fmt.Sprintf("%s is not allowed on %s: use %s", r.Method, r.URL.Path, strings.Join(allowed, " or ")),
		})
		return
	}
	handler(w, r)
}

// api wraps a model endpoint: it opens the ledger entry, checks the key and closes the entry.
func (s *Server) api(name string, handle func(*exchange)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := s.begin(w, r, name)
		defer x.end()
		if err := s.authorise(r); err != nil {
			x.fail(err)
			return
		}
		handle(x)
	}
}

func (s *Server) authorise(r *http.Request) *apiError {
	if len(s.opts.APIKeys) == 0 {
		return nil
	}
	key := bearer(r)
	if slices.Contains(s.opts.APIKeys, key) {
		return nil
	}
	e := &apiError{
		status: http.StatusUnauthorized, kind: typeInvalid, code: "invalid_api_key",
		message: "the API key is not one of this server's",
	}
	if key == "" {
		e.message = "no API key was given: send it as Authorization: Bearer KEY"
	}
	return e
}

func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// HashKey returns what the ledger shows instead of a key: the first 12 hexadecimal digits of its SHA-256, or "none" for
// an empty key.
func HashKey(key string) string {
	if key == "" {
		return "none"
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}

// readBody reads at most Options.MaxBody bytes within a deadline.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *apiError) {
	// A deadline on the connection cannot be set on every kind of writer; then the caller's own limits hold.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(defaultBodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxBody))
	_ = rc.SetReadDeadline(time.Time{})
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, &apiError{
			status: http.StatusRequestEntityTooLarge, kind: typeInvalid, code: "request_too_large",
			message: fmt.Sprintf("the body is longer than the %d bytes allowed", tooLong.Limit),
		}
	case err != nil:
		return nil, badRequest("", "body_unreadable", "the body could not be read to its end")
	}
	return body, nil
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

// AddFault adds a fault as POST /admin/faults does, and returns it with its id and defaults.
func (s *Server) AddFault(f Fault) (Fault, error) {
	f, err := f.normalise()
	if err != nil {
		return Fault{}, fmt.Errorf("adding a fault: %w", err)
	}
	out, ok := s.faults.add([]Fault{f})
	if !ok {
		return Fault{}, fmt.Errorf("adding a fault: there are %d already, the most allowed", maxFaults)
	}
	return out[0], nil
}

// Faults returns the faults added by AddFault or the admin API, oldest first.
func (s *Server) Faults() []FaultState { return s.faults.list() }

// ClearFaults deletes all faults and forgets the counters of those in model ids and texts.
func (s *Server) ClearFaults() { s.faults.clear() }

// Requests returns the remembered requests, oldest first. Bodies are shared and must not be changed.
func (s *Server) Requests() []Entry {
	return s.ledger.list(func(*Entry) bool { return true })
}

// Last returns the last chat request, if there is one.
func (s *Server) Last() (Entry, bool) {
	chats := s.ledger.list(func(e *Entry) bool { return e.API == apiChat })
	if len(chats) == 0 {
		return Entry{}, false
	}
	return chats[len(chats)-1], true
}

// Usage returns what was billed since the last reset, a model and key each, sorted.
func (s *Server) Usage() []Totals { return s.ledger.sums() }

// ResetRequests forgets the requests and the totals.
func (s *Server) ResetRequests() { s.ledger.reset() }

// ClearCache forgets the prompt prefixes.
func (s *Server) ClearCache() { s.prefix.clear() }

var _ http.Handler = (*Server)(nil)
