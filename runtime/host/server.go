// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The bounds of the host's own HTTP server.
const (
	httpHeaderTimeout = 5 * time.Second
	httpTimeout       = 30 * time.Second
	httpIdleTimeout   = 2 * time.Minute
	httpHeaderBytes   = 64 * 1024
	httpStopTimeout   = 2 * time.Second
)

// newHandler serves /livez, /readyz, /metrics and /usage.
func newHandler(ready func() (bool, string), metrics, usage http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ok, why := ready(); !ok {
			answer(w, http.StatusServiceUnavailable, "not ready: "+why)
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	mux.Handle("GET /metrics", metrics)
	mux.Handle("GET /usage", usage)
	return mux
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n")
}

// serve listens on an address and serves until the returned function is called.
func serve(addr string, h http.Handler, log *slog.Logger) (bound net.Addr, stop func(), err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("listening on %s: %w", addr, err)
	}
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: httpHeaderTimeout, ReadTimeout: httpTimeout, WriteTimeout: httpTimeout,
		IdleTimeout: httpIdleTimeout, MaxHeaderBytes: httpHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("The HTTP server ended", "error", err)
		}
	}()
	return l.Addr(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), httpStopTimeout)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
		<-done
	}, nil
}
