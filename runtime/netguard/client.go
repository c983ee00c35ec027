// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

const (
	// DefaultTimeout bounds a fetch with all its redirects.
	DefaultTimeout = 15 * time.Second
	// DefaultMaxBytes bounds what is fetched.
	DefaultMaxBytes = 20 << 20

	maxRedirects   = 5
	dialTimeout    = 5 * time.Second
	maxHeaderBytes = 64 << 10
)

// Resolver finds the addresses of a name.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options of a Client.
type Options struct {
	// Policy in effect, asked anew at every step.
	Policy func() Policy
	// Resolver of names; nil is the system's.
	Resolver Resolver
	// Timeout and MaxBytes of a fetch; 0 is the default.
	Timeout  time.Duration
	MaxBytes int64
}

// Client fetches by the policy. It may be used concurrently.
type Client struct {
	opts      Options
	transport *http.Transport
}

// New makes a client. Its owner calls Close when done.
func New(o Options) *Client {
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	c := &Client{opts: o}
	c.transport = &http.Transport{
		// No proxy: it would connect for us to where we may not. No connection is kept: the next one is judged anew.
		DialContext: c.dial, DisableKeepAlives: true, TLSHandshakeTimeout: dialTimeout, MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return c
}

// Close ends what is open.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Result is what was fetched.
type Result struct {
	// URL that it came from in the end.
	URL *url.URL
	// Status and Header of the answer.
	Status int
	Header http.Header
	// Body, whole.
	Body []byte
}

// Fetch gets a URL, over at most five redirects. Headers such as Authorization and Cookie are not sent to another host than
// the first. Its errors do not show the URL, which may hold a token; those about the policy wrap ErrRefused.
func (c *Client) Fetch(ctx context.Context, raw string, header http.Header) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	u, err := c.opts.Policy().CheckURL(raw)
	if err != nil {
		return Result{}, err
	}
	header = header.Clone()
	for range maxRedirects + 1 {
		resp, err := c.get(ctx, u, header)
		if err != nil {
			return Result{}, err
		}
		next, err := c.redirect(u, resp)
		if err != nil {
			_ = resp.Body.Close()
			return Result{}, err
		}
		if next == nil {
			return c.read(u, resp)
		}
		_ = resp.Body.Close()
		if next.Scheme != u.Scheme || next.Host != u.Host {
			header = withoutCredentials(header)
		}
		u = next
	}
	return Result{}, fmt.Errorf("it redirects more than %d times", maxRedirects)
}

func (c *Client) get(ctx context.Context, u *url.URL, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, errNoURL
	}
	if header != nil {
		req.Header = header.Clone()
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("fetching it: %w", err)
	}
	return resp, nil
}

// redirect gives where a response sends us, judged like the first URL; nil if it does not.
func (c *Client) redirect(from *url.URL, resp *http.Response) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	location, err := from.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return nil, errors.New("it redirects to nowhere")
	}
	location.Fragment = ""
	next, err := c.opts.Policy().CheckURL(location.String())
	if err != nil {
		return nil, fmt.Errorf("following its redirect: %w", err)
	}
	return next, nil
}

// credentials are headers that are meant for one host.
var credentials = []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Www-Authenticate"}

func withoutCredentials(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range credentials {
		h.Del(name)
	}
	return h
}

func (c *Client) read(u *url.URL, resp *http.Response) (Result, error) {
	defer func() { _ = resp.Body.Close() }()
	if resp.ContentLength > c.opts.MaxBytes {
		return Result{}, c.tooLarge()
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.opts.MaxBytes+1))
	if err != nil {
		return Result{}, fmt.Errorf("fetching it: %w", err)
	}
	if int64(len(body)) > c.opts.MaxBytes {
		return Result{}, c.tooLarge()
	}
	return Result{URL: u, Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
}

// ErrTooLarge is wrapped by the error about something larger than the client takes.
var ErrTooLarge = errors.New("it is too large")

func (c *Client) tooLarge() error {
	return fmt.Errorf("%w: larger than %d bytes", ErrTooLarge, c.opts.MaxBytes)
}

// dial resolves a host once and connects to what it resolved to. A name of which one address may not be reached is refused as
// a whole: which of them answers would be up to whoever owns the name.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, refused("it is no address")
	}
	policy := c.opts.Policy()
	addrs, err := c.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if err := policy.CheckAddr(a); err != nil {
			return nil, err
		}
	}
	dialer := net.Dialer{Timeout: dialTimeout, ControlContext: func(_ context.Context, _, dialled string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(dialled)
		if err != nil {
			return refused("it is no address")
		}
		return policy.CheckAddr(ap.Addr())
	}}
	for _, a := range addrs {
		var conn net.Conn
		if conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (c *Client) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := c.opts.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) {
			return nil, errors.New("its host is not known") // the error names the host and the resolver
		}
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, errors.New("its host has no address")
	}
	return addrs, nil
}
