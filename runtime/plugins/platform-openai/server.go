// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

// Limits of the HTTP server.
const (
	headerTimeout  = 10 * time.Second
	bodyTimeout    = 30 * time.Second
	writeTimeout   = 30 * time.Second // of one write, to a client that does not read
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
	heartbeatEvery = 15 * time.Second
	// noticeGrace is how long a request waits for more after the bot has said something for itself. Not every such notice
	// is followed by the end of a phase or turn: a message that is refused never enters one.
	noticeGrace = time.Second
	// stopGrace is how long a stop waits for requests to notice it before it cuts their connections.
	stopGrace = time.Second
)

// server is the HTTP server and what its requests share.
type server struct {
	k       *kernel.Context
	ln      net.Listener
	http    *http.Server
	set     atomic.Pointer[settings]
	turns   *turns
	started int64 // seconds since the epoch

	requests connections
	chats    netx.InFlight // what counts for maxConcurrent
	closing  atomic.Bool

	heartbeat, grace time.Duration // replaced by tests
}

func newServer(k *kernel.Context, ln net.Listener, set *settings) *server {
	s := &server{
		k: k, ln: ln, turns: newTurns(), started: k.Now().Unix(), heartbeat: heartbeatEvery, grace: noticeGrace,
	}
	s.set.Store(set)
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/chat/completions", s.route(http.MethodPost, s.chat))
	mux.HandleFunc("/v1/models", s.route(http.MethodGet, s.models))
	mux.HandleFunc("/v1/models/{id}", s.route(http.MethodGet, s.model))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		(&apiError{
			status: http.StatusNotFound, kind: kindInvalid, code: "unknown_url", message: "there is nothing at this address",
		}).write(w)
	})
	s.http = &http.Server{
		Handler:           s.guard(mux),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return k.Lifetime() },
		ConnState:         s.requests.state,
		ErrorLog:          slog.NewLogLogger(k.Logger().Handler(), slog.LevelDebug),
	}
	return s
}

// serve answers connections until the listener is closed.
func (s *server) serve(context.Context) {
	err := s.http.Serve(s.ln)
	if !s.closing.Load() && !errors.Is(err, http.ErrServerClosed) {
		s.k.Logger().Error("Server ended", "error", err)
	}
}

// drain takes no new connections and requests and waits for the running ones.
func (s *server) drain(ctx context.Context) {
	s.closing.Store(true)
	_ = s.ln.Close()
	s.http.SetKeepAlivesEnabled(false)
	_ = s.requests.Wait(ctx)
}

// stop ends what is left. The requests' contexts have ended by then.
func (s *server) stop(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	s.drain(short)
	err := s.http.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil // the listener
	}
	return errors.Join(err, s.requests.Wait(ctx))
}

// connections counts the connections with a request under way, up to the moment when its answer has been sent to the last
// byte. A handler returns before that, too early for a stop that is about to close connections.
type connections struct {
	netx.InFlight
	mu     sync.Mutex
	active map[net.Conn]bool
}

// state is for http.Server.ConnState.
func (c *connections) state(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch was := c.active[conn]; {
	case state == http.StateActive && !was:
		if c.active == nil {
			c.active = map[net.Conn]bool{}
		}
		c.active[conn] = true
		c.Enter()
	case state != http.StateActive && was:
		delete(c.active, conn)
		c.Leave()
	}
}

// guard refuses requests while the plugin stops, and turns a panic into an answer.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.closing.Load() || s.k.Disposed() {
			w.Header().Set("Connection", "close")
			errStopping.write(w)
			return
		}
		defer func() {
			if p := recover(); p != nil {
				s.k.Logger().Error("Request failed", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				errInternal.write(w)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// route checks method and token.
func (s *server) route(method string, handle func(w http.ResponseWriter, r *http.Request, userID string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method {
			w.Header().Set("Allow", method)
			(&apiError{
				status: http.StatusMethodNotAllowed, kind: kindInvalid, code: "method_not_allowed", message: "use " + method,
			}).write(w)
			return
		}
		userID, bad := s.authenticate(r)
		if bad != nil {
			bad.write(w)
			return
		}
		handle(w, r, userID)
	}
}

func (s *server) authenticate(r *http.Request) (string, *apiError) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", unauthorized("no token was given: send it as Authorization: Bearer TOKEN")
	}
	userID, ok := s.set.Load().users.lookup(token)
	if !ok {
		return "", unauthorized("the token is not one of this bot's")
	}
	return userID, nil
}

// modelObject describes the bot as a model.
type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (s *server) self() modelObject {
	return modelObject{ID: s.k.AppName(), Object: "model", Created: s.started, OwnedBy: "aalis"}
}

func (s *server) models(w http.ResponseWriter, _ *http.Request, _ string) {
	s.answer(w, map[string]any{"object": "list", "data": []modelObject{s.self()}})
}

func (s *server) model(w http.ResponseWriter, r *http.Request, _ string) {
	if r.PathValue("id") != s.k.AppName() {
		(&apiError{
			status: http.StatusNotFound, kind: kindInvalid, code: "model_not_found", param: "model",
			message: "the only model is " + s.k.AppName(),
		}).write(w)
		return
	}
	s.answer(w, s.self())
}

func (s *server) answer(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.k.Logger().Error("Failed to encode an answer", "error", err)
		errInternal.write(w)
		return
	}
	writeJSON(w, http.StatusOK, body)
}
