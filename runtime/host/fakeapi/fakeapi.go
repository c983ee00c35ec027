// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakeapi is a Kubernetes API server for the tests of the host: it lists and watches ConfigMaps by name and takes
// server-side applies of AgentReplica status. It speaks TLS and HTTP/2 and can be told to misbehave.
//
// It knows nothing of permissions, validation or storage, and is linked into tests only.
package fakeapi

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Token is the token that is accepted at first.
const Token = "token-1"

// Request is one request, as the server saw it.
type Request struct {
	Verb  string // list, watch or patch
	Path  string
	Query map[string][]string
	Type  string // of the content
	Body  []byte
	Code  int
}

// Server is the API server. Its methods may be called concurrently.
type Server struct {
	// URL of the server.
	URL string
	// Dir holds token and ca.crt, as a pod's service account directory does.
	Dir string
	// Requests receives every request that has been answered, a watch when it begins.
	Requests chan Request

	mu       sync.Mutex
	http     *httptest.Server
	version  int
	oldest   int
	object   json.RawMessage
	watchers map[chan string]struct{}
	down     bool
	token    string
	codes    []int
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{Requests: make(chan Request, 4096), version: 100, watchers: map[chan string]struct{}{}, token: Token, Dir: t.TempDir()}
	s.http = httptest.NewUnstartedServer(s)
	s.http.EnableHTTP2 = true
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.http.StartTLS()
	s.URL = s.http.URL
	t.Cleanup(s.close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	for name, data := range map[string][]byte{"ca.crt": ca, "token": []byte(Token + "\n")} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *Server) close() {
	s.Drop()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Set makes the ConfigMap say this and tells the watchers.
func (s *Server) Set(data map[string]string, binaryData map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "MODIFIED"
	if s.object == nil {
		kind = "ADDED"
	}
	s.version++
	s.object = s.encode(data, binaryData)
	s.broadcast(kind, s.object)
}

func (s *Server) encode(data map[string]string, binaryData map[string][]byte) json.RawMessage {
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "x", "resourceVersion": strconv.Itoa(s.version)},
		"data":     data, "binaryData": binaryData,
	})
	if err != nil {
		panic(err)
	}
	return raw
}

// Delete deletes the ConfigMap.
func (s *Server) Delete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	if s.object != nil {
		s.broadcast("DELETED", s.object)
	}
	s.object = nil
}

// Bookmark sends the watchers a bookmark of a new version.
func (s *Server) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.broadcast("BOOKMARK", s.encode(nil, nil))
}

// Send sends the watchers a raw line.
func (s *Server) Send(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		w <- line
	}
}

func (s *Server) broadcast(kind string, object json.RawMessage) {
	line := fmt.Sprintf("{\"type\":%q,\"object\":%s}\n", kind, object)
	for w := range s.watchers {
		w <- line
	}
}

// Expire makes all versions so far too old to watch from, and tells the watchers with an event if event is set.
func (s *Server) Expire(event bool) {
	s.mu.Lock()
	s.version++
	s.oldest = s.version
	s.mu.Unlock()
	if event {
		s.Send("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old resource version\"}}\n")
	}
}

// Drop ends all watches.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		close(w)
		delete(s.watchers, w)
	}
}

// SetDown makes every request fail without an answer, and ends all watches.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	if down {
		s.Drop()
	}
}

// SetToken changes the only token that is accepted.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// AnswerPatches makes the next patches answer with these codes.
func (s *Server) AnswerPatches(codes ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes = codes
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down, token := s.down, s.token
	s.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req := Request{Verb: verb(r), Path: r.URL.Path, Query: r.URL.Query(), Type: r.Header.Get("Content-Type"), Body: body, Code: http.StatusOK}
	switch {
	case r.Header.Get("Authorization") != "Bearer "+token:
		req.Code = http.StatusUnauthorized
	case req.Verb == "patch":
		req.Code = s.patchCode()
	case req.Verb == "watch" && s.expired(r.URL.Query().Get("resourceVersion")):
		req.Code = http.StatusGone
	}
	switch {
	case req.Code != http.StatusOK:
		w.WriteHeader(req.Code)
		_, _ = fmt.Fprintf(w, "{\"kind\":\"Status\",\"code\":%d,\"reason\":\"Test\",\"message\":\"told to answer %d\"}", req.Code, req.Code)
	case req.Verb == "list":
		s.list(w)
	case req.Verb == "patch":
		_, _ = io.WriteString(w, "{}")
	default:
		s.watch(w, r, req)
		return
	}
	s.Requests <- req
}

func verb(r *http.Request) string {
	switch {
	case r.Method == http.MethodPatch:
		return "patch"
	case r.URL.Query().Get("watch") == "true":
		return "watch"
	}
	return "list"
}

func (s *Server) patchCode() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.codes) == 0 {
		return http.StatusOK
	}
	code := s.codes[0]
	s.codes = s.codes[1:]
	return code
}

func (s *Server) expired(version string) bool {
	n, err := strconv.Atoi(version)
	s.mu.Lock()
	defer s.mu.Unlock()
	return err != nil || n < s.oldest
}

func (s *Server) list(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := ""
	if s.object != nil {
		items = string(s.object)
	}
	_, _ = fmt.Fprintf(w, "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"%d\"},\"items\":[%s]}", s.version, items)
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, req Request) {
	lines := make(chan string, 1024)
	s.mu.Lock()
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if s.object != nil && since < s.versionOf() {
		lines <- fmt.Sprintf("{\"type\":\"MODIFIED\",\"object\":%s}\n", s.object)
	}
	s.watchers[lines] = struct{}{}
	s.mu.Unlock()
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	s.Requests <- req
	for {
		select {
		case <-r.Context().Done():
			s.mu.Lock()
			delete(s.watchers, lines)
			s.mu.Unlock()
			return
		case line, ok := <-lines:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, line)
			w.(http.Flusher).Flush()
		}
	}
}

// versionOf is the version of the object.
func (s *Server) versionOf() int {
	var o struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if json.Unmarshal(s.object, &o) != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(o.Metadata.ResourceVersion))
	if err != nil {
		return 0
	}
	return n
}
