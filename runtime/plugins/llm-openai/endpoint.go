// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

// Bounds of what a server may send, in bytes.
const (
	maxReply     = 64 << 20
	maxErrorBody = 64 << 10
)

// version finds the segment of a base URL that names the API's version.
var version = regexp.MustCompile(`^v\d+[a-z0-9]*$`)

// apiURL appends /v1 unless the path names a version already.
func apiURL(u *url.URL) *url.URL {
	out := *u
	path := strings.TrimRight(u.Path, "/")
	if !slices.ContainsFunc(strings.Split(path, "/"), version.MatchString) {
		path += "/v1"
	}
	out.Path, out.RawPath = path, ""
	return &out
}

// endpoint is the server: where it is and how to talk to it.
type endpoint struct {
	client    *openai.Client
	transport *http.Transport
	host      string
	secret    string
}

func newEndpoint(k *kernel.Context, cfg Config) (*endpoint, error) {
	u, err := cfg.checkEndpoint(netx.PolicyOf(k))
	if err != nil {
		return nil, err
	}
	ep := &endpoint{
		transport: netx.NewTransport(func() netx.Policy { return netx.PolicyOf(k) }),
		host:      u.Host,
		secret:    cfg.APIKey,
	}
	conf := openai.DefaultConfig(cfg.APIKey)
	conf.BaseURL = u.String()
	conf.HTTPClient = &doer{client: &http.Client{Transport: ep.transport, CheckRedirect: netx.NoRedirects}}
	ep.client = openai.NewClientWithConfig(conf)
	return ep, nil
}

// redact takes the key out of a text that a server wrote.
func (e *endpoint) redact(text string) string {
	if e.secret == "" {
		return text
	}
	return strings.ReplaceAll(text, e.secret, "[redacted]")
}

// models asks which models the server offers.
func (e *endpoint) models(ctx context.Context) ([]string, error) {
	list, err := e.client.ListModels(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range list.Models {
		if checkModelID(m.ID) == nil && chats(m.ID) && len(out) < maxModels {
			out = append(out, m.ID)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the server lists no chat model")
	}
	return out, nil
}

// statusError is an answer other than success.
type statusError struct {
	status     int
	retryAfter string // the header as it came
	body       string
}

// Error is the form in which the log shows it; the body may be long.
func (e *statusError) Error() string {
	return fmt.Sprintf("OpenAI API 错误 (%d): %s", e.status, e.body)
}

// transportError is a failure to get any answer.
type transportError struct{ cause error }

func (e *transportError) Error() string { return "reaching the server: " + e.cause.Error() }
func (e *transportError) Unwrap() error { return e.cause }

// wholeReply is the answer of a server that was asked for a stream and sent one JSON document.
type wholeReply struct{ body []byte }

func (*wholeReply) Error() string { return "the server sent no stream" }

// doer sends the requests of the client library. It turns every answer but success into an error that keeps what the
// library drops, and bounds what is read.
type doer struct{ client *http.Client }

// Do implements openai.HTTPDoer.
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, &transportError{cause: err}
	}
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return nil, &statusError{
			status: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After"), body: strings.TrimSpace(string(body)),
		}
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxReply)
	if req.Header.Get("Accept") == "text/event-stream" && isJSON(resp.Header.Get("Content-Type")) {
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, &transportError{cause: err}
		}
		return nil, &wholeReply{body: body}
	}
	takeBody(req.Context(), resp)
	return resp, nil
}

func isJSON(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && t == "application/json"
}

var _ openai.HTTPDoer = (*doer)(nil)
