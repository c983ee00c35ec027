// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

// Bounds of what a server may send, in bytes.
const (
	// MaxReply bounds a whole reply, streamed or not.
	MaxReply     = 64 << 20
	maxErrorBody = 64 << 10
)

// What an answer may be, for Endpoint.Post.
const (
	AcceptJSON   = "application/json"
	AcceptEvents = "text/event-stream"
	AcceptLines  = "application/x-ndjson"
)

// Endpoint is a server: where it is and how to talk to it, and the calls under way. Server.Open makes one. Its methods
// may be called concurrently.
type Endpoint struct {
	// Host and port of the server.
	Host string

	k         *kernel.Context
	calls     netx.InFlight
	vendor    string
	base      *url.URL
	client    *http.Client
	transport *http.Transport
	secret    string
}

// Begin counts a call in. Its context ends with the caller's, after a time unless that is 0, and when the plugin is
// torn down, which waits for done to be called.
func (e *Endpoint) Begin(parent context.Context, timeout time.Duration) (ctx context.Context, done context.CancelFunc) {
	e.calls.Enter()
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(e.k.Lifetime(), func() { cancel(errStopping) })
	if e.k.Lifetime().Err() != nil {
		// The function above may run too late: no connection is made behind the back of close.
		cancel(errStopping)
	}
	release := func() {}
	if timeout > 0 {
		ctx, release = context.WithTimeoutCause(ctx, timeout, errTimedOut)
	}
	return ctx, func() {
		release()
		stop()
		cancel(nil)
		e.calls.Leave()
	}
}

// drain waits for the calls under way. New ones are still taken: a turn that is under way may need several.
func (e *Endpoint) drain(ctx context.Context) { _ = e.calls.Wait(ctx) }

// close ends what teardown left behind. The calls under way have been cancelled by then.
func (e *Endpoint) close(ctx context.Context) error {
	err := e.calls.Wait(ctx)
	e.transport.CloseIdleConnections()
	return err
}

// Redact takes the key out of a text that a server wrote.
func (e *Endpoint) Redact(text string) string {
	if e.secret == "" {
		return text
	}
	return strings.ReplaceAll(text, e.secret, "[redacted]")
}

// Post sends a JSON document to a path below the base and gives the answer of a server that says success. Its body is
// bounded and must be closed. Every other answer is an error that keeps what matters of it.
func (e *Endpoint) Post(ctx context.Context, path string, body any, accept string) (*http.Response, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return e.send(ctx, http.MethodPost, path, raw, accept)
}

// GetJSON reads a JSON document from a path below the base.
func (e *Endpoint) GetJSON(ctx context.Context, path string, out any) error {
	resp, err := e.send(ctx, http.MethodGet, path, nil, AcceptJSON) //nolint:bodyclose // readJSON closes it
	if err != nil {
		return err
	}
	return readJSON(resp, out)
}

// PostJSON sends a JSON document and reads another one.
func (e *Endpoint) PostJSON(ctx context.Context, path string, body, out any) error {
	resp, err := e.Post(ctx, path, body, AcceptJSON) //nolint:bodyclose // readJSON closes it
	if err != nil {
		return err
	}
	return readJSON(resp, out)
}

func readJSON(resp *http.Response, out any) error {
	raw, err := ReadAll(resp)
	if err != nil {
		return err
	}
	return Unmarshal(raw, out)
}

// ReadAll reads the body of an answer and closes it.
func ReadAll(resp *http.Response) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, &transportError{cause: err}
	}
	return raw, nil
}

// IsJSON tells an answer that is one JSON document from a stream.
func IsJSON(resp *http.Response) bool {
	t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && t == AcceptJSON
}

func (e *Endpoint) send(ctx context.Context, method, path string, body []byte, accept string) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, e.base.JoinPath(path).String(), reader)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", AcceptJSON)
	}
	if e.secret != "" {
		req.Header.Set("Authorization", "Bearer "+e.secret)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, &transportError{cause: err}
	}
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
		defer func() { _ = resp.Body.Close() }()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return nil, &StatusError{
			Status: resp.StatusCode, Body: strings.TrimSpace(string(text)),
			vendor: e.vendor, retryAfter: resp.Header.Get("Retry-After"),
		}
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, MaxReply)
	return resp, nil
}

// StatusError is an answer other than success.
type StatusError struct {
	// Status of the answer; 0 for an error in the middle of a stream.
	Status int
	// Body of the answer, cut.
	Body string

	vendor     string
	retryAfter string // the header as it came
}

// Error is the form in which the log shows it; the body may be long.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s API 错误 (%d): %s", e.vendor, e.Status, e.Body)
}

// StreamError is an error that a server sent in the middle of a stream.
func (e *Endpoint) StreamError(body string) error { return &StatusError{Body: body, vendor: e.vendor} }

// transportError is a failure to get any answer.
type transportError struct{ cause error }

func (e *transportError) Error() string { return "reaching the server: " + e.cause.Error() }
func (e *transportError) Unwrap() error { return e.cause }
