// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command fakellm serves an OpenAI-compatible fake model for demos, tests and benchmarks. See README.md.
//
// It is run by make targets, by test clusters and by hand. It holds no logic: flags and wiring only; the server is the
// package fakellm next to it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
)

// Limits of the HTTP server. Bodies and writes have their own deadlines in the package.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr, func(net.Addr) {})
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakellm:", err)
		os.Exit(1)
	}
}

// config is what the flags say.
type config struct {
	listen string
	grace  time.Duration
	quiet  bool
	server fakellm.Options
}

// list is a flag of comma-separated values that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Set implements flag.Value.
func (l *list) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			return errors.New("a value between the commas is empty")
		}
		*l = append(*l, part)
	}
	return nil
}

func parseFlags(args []string, out io.Writer) (config, error) {
	var c config
	o := &c.server
	fs := flag.NewFlagSet("fakellm", flag.ContinueOnError)
	fs.SetOutput(out)
	fs.StringVar(&c.listen, "listen", ":8080", "`address` to listen on")
	fs.DurationVar(&c.grace, "grace", 5*time.Second, "`time` that running answers get to end after SIGTERM")
	fs.BoolVar(&c.quiet, "quiet", false, "log no requests")
	fs.Var((*list)(&o.APIKeys), "api-key", "accepted `key`s, comma-separated or repeated (default: all are accepted)")
	fs.Var((*list)(&o.Models), "models", "chat model `id`s (default "+strings.Join(fakellm.DefaultModels(), ",")+")")
	fs.Var((*list)(&o.EmbeddingModels), "embedding-models",
		"embedding model `id`s (default "+strings.Join(fakellm.DefaultEmbeddingModels(), ",")+")")
	fs.DurationVar(&o.ChunkDelay, "chunk-delay", 0, "`time` to wait before every streamed chunk")
	fs.IntVar(&o.Chunks, "chunks", 0, "`number` of pieces of an answer; 0 means one a word")
	if err := fs.Parse(args); err != nil {
		return c, fmt.Errorf("parsing the flags: %w", err)
	}
	switch {
	case fs.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q: only flags are allowed", fs.Arg(0))
	case o.ChunkDelay < 0:
		return c, fmt.Errorf("--chunk-delay is %s: it must not be negative", o.ChunkDelay)
	case o.Chunks < 0:
		return c, fmt.Errorf("--chunks is %d: it must not be negative", o.Chunks)
	case c.grace < 0:
		return c, fmt.Errorf("--grace is %s: it must not be negative", c.grace)
	}
	return c, nil
}

// run serves until ctx ends, then lets running answers end within the grace time. ready gets the address once it listens.
func run(ctx context.Context, args []string, out io.Writer, ready func(net.Addr)) error {
	c, err := parseFlags(args, out)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(out, nil))
	if !c.quiet {
		c.server.Logger = log
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", c.listen, err)
	}
	server := &http.Server{
		Handler:           fakellm.New(c.server),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Info("Started listening", "address", listener.Addr().String())
	ready(listener.Addr())
	select {
	case err := <-served:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	return shutDown(server, served, c.grace, log)
}

func shutDown(server *http.Server, served <-chan error, grace time.Duration, log *slog.Logger) error {
	// The caller's context has ended; the grace time is the bound from here.
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("Closed answers that were still running")
		err = server.Close()
	}
	if serveErr := <-served; err == nil && !errors.Is(serveErr, http.ErrServerClosed) {
		err = serveErr
	}
	if err != nil {
		return fmt.Errorf("shutting down: %w", err)
	}
	log.Info("Stopped")
	return nil
}
