// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// ServiceAccountDir is where a pod finds its credentials.
const ServiceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// The bounds of a connection.
const (
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	headerTimeout    = 30 * time.Second
	idleTimeout      = 90 * time.Second
	// pingAfter and pingTimeout find a connection that died without a word.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
	// tokenAge is how long a token is used before its file is read again; the kubelet renews it at 80 % of its life.
	tokenAge = time.Minute
	// maxErrorBody bounds what is read of an error.
	maxErrorBody = 64 * 1024
)

// Config says where the API is and how to get in.
type Config struct {
	// URL of the API server.
	URL string
	// TokenFile holds the bearer token; it is read again as it is renewed.
	TokenFile string
	// CAFile holds the certificates that the server's is signed with.
	CAFile string
	// UserAgent names the client.
	UserAgent string
	// Now is the clock for the token's age.
	Now func() time.Time
}

// InCluster is the Config of a pod whose credentials are in dir. Env is os.Getenv.
func InCluster(dir string, env func(string) string) (Config, error) {
	host, port := env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return Config{}, errors.New("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set, as they are in a pod")
	}
	return Config{
		URL:       "https://" + net.JoinHostPort(host, port),
		TokenFile: filepath.Join(dir, "token"),
		CAFile:    filepath.Join(dir, "ca.crt"),
		Now:       time.Now,
	}, nil
}

// Client makes requests. Its methods may be called concurrently.
type Client struct {
	base      *url.URL
	userAgent string
	http      *http.Client
	token     tokenFile
}

// NewClient makes a Client. It reads the CA file at once and makes no request.
func NewClient(c Config) (*Client, error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("the address of the API server %q: must be a URL", c.URL)
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading the API server's CA: %s holds no certificate", c.CAFile)
	}
	now := c.Now
	if now == nil {
		now = time.Now
	}
	return &Client{
		base: base, userAgent: c.UserAgent,
		http: &http.Client{
			Transport: newTransport(pool),
			// The API server sends nobody elsewhere, and the token is for it alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		token: tokenFile{path: c.TokenFile, now: now},
	}, nil
}

func newTransport(pool *x509.CertPool) *http.Transport {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: pingAfter}
	return &http.Transport{
		DialContext:           dialer.DialContext,
		TLSClientConfig:       &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   handshakeTimeout,
		ResponseHeaderTimeout: headerTimeout,
		IdleConnTimeout:       idleTimeout,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is an answer of the API server that is no success.
type StatusError struct {
	// Code of the answer.
	Code int
	// Reason and Message as the server gives them.
	Reason, Message string
}

// Error implements error.
func (e *StatusError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the API server answered %d %s", e.Code, http.StatusText(e.Code))
	}
	return fmt.Sprintf("the API server answered %d: %s", e.Code, e.Message)
}

// hasCode tells whether an error is an answer of that code.
func hasCode(err error, code int) bool {
	var s *StatusError
	return errors.As(err, &s) && s.Code == code
}

// request is one call.
type request struct {
	method      string
	path        string
	query       url.Values
	contentType string
	body        []byte
}

// do makes a call. The caller closes the body of a success; anything else is a *StatusError.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	target := *c.base
	target.Path = strings.TrimSuffix(target.Path, "/") + r.path
	target.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), strings.NewReader(string(r.body)))
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	token, err := c.token.read()
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	if c.userAgent != "" {
		req.Header.Set("User-Agent", c.userAgent)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusUnauthorized {
		c.token.forget()
	}
	return nil, statusError(resp)
}

func statusError(resp *http.Response) error {
	out := &StatusError{Code: resp.StatusCode}
	var status struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	// An answer that is no Status, such as a proxy's page, leaves only the code to tell.
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err == nil && json.Unmarshal(data, &status) == nil {
		out.Reason, out.Message = status.Reason, status.Message
	}
	return out
}

// tokenFile is a bearer token that is renewed in its file.
type tokenFile struct {
	path string
	now  func() time.Time

	mu    sync.Mutex
	token string
	at    time.Time
}

func (t *tokenFile) read() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if t.token != "" && now.Sub(t.at) < tokenAge {
		return t.token, nil
	}
	data, err := os.ReadFile(t.path)
	token := strings.TrimSpace(string(data))
	switch {
	case err == nil && token != "":
		t.token, t.at = token, now
		return token, nil
	case t.token != "":
		return t.token, nil // the old one may still do
	case err == nil:
		err = errors.New("it is empty")
	}
	return "", fmt.Errorf("reading the token: %w", err)
}

// forget makes the next read look at the file.
func (t *tokenFile) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = time.Time{}
}
