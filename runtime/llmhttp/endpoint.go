// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

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

// CheckBase reads the fields baseUrl and apiKey of a config. Its errors name them and never show the key. A key must be
// given for the hosts of needKey.
func CheckBase(raw, key string, policy netx.Policy, needKey ...string) (*url.URL, error) {
	u, err := netx.CheckURL(raw, policy)
	if err != nil {
		return nil, fmt.Errorf("config.baseUrl: %w", err)
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return nil, errors.New("config.apiKey: may hold only visible ASCII characters, without blanks and line breaks")
		}
	}
	for _, host := range needKey {
		if key == "" && u.Hostname() == host {
			return nil, fmt.Errorf("config.apiKey: must be given from a Secret, because config.baseUrl is %s", host)
		}
	}
	return u, nil
}

// Endpoint is a server: where it is and how to talk to it. Its methods may be called concurrently.
type Endpoint struct {
	// Host and port of the server.
	Host string

	vendor    string
	base      *url.URL
	client    *http.Client
	transport *http.Transport
	secret    string
}

// NewEndpoint makes an endpoint at an address from CheckBase, without a query. The vendor's name is for the log. The owner
// must call Close.
func NewEndpoint(k *kernel.Context, vendor string, base *url.URL, key string) *Endpoint {
	transport := netx.NewTransport(func() netx.Policy { return netx.PolicyOf(k) })
	return &Endpoint{
		Host: base.Host, vendor: vendor, base: base, transport: transport, secret: key,
		client: &http.Client{Transport: transport, CheckRedirect: netx.NoRedirects},
	}
}

// Close ends the connections that nobody uses.
func (e *Endpoint) Close() { e.transport.CloseIdleConnections() }

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
	if err := json.Unmarshal(raw, out); err != nil {
		// A field of another type than expected is as good as absent: everything else has been read.
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
			return ErrNonsense
		}
	}
	return nil
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
