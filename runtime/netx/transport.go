// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package netx

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Limits of the connections to declared endpoints.
const (
	dialTimeout      = 10 * time.Second
	keepAlive        = 30 * time.Second
	tlsTimeout       = 10 * time.Second
	idleTimeout      = 90 * time.Second
	maxIdle          = 64
	maxIdlePerHost   = 16
	maxHeaderBytes   = 64 << 10
	http2PingTimeout = 15 * time.Second
)

// NewTransport makes a transport that dials only what the policy allows at that moment, uses no proxy and asks for no
// compression (a compressed event stream may be held back). It sets no limit on the time until an answer: that is the
// request's context's. The owner must call CloseIdleConnections when done.
func NewTransport(policy func() Policy) *http.Transport {
	return &http.Transport{
		DialContext:            NewDialer(policy),
		TLSHandshakeTimeout:    tlsTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: keepAlive, PingTimeout: http2PingTimeout},
	}
}

// checkDial judges the address that is about to be connected to, after name resolution.
func checkDial(p Policy, address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is no address", ErrAddressRefused, address)
	}
	return p.CheckAddr(ap.Addr())
}

// NoRedirects is for http.Client.CheckRedirect: an endpoint is where it was declared, and a key is never sent elsewhere.
// The redirecting response is handed to the caller.
func NoRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Deadline is the moment d from now, for the deadlines of connections. They need the process's own clock, which plugins
// do not read otherwise.
func Deadline(d time.Duration) time.Time { return time.Now().Add(d) }

// NewDialer makes the dialing function for protocols other than HTTP: it dials only what the policy allows at that
// moment.
func NewDialer(policy func() Policy) func(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{
		Timeout:   dialTimeout,
		KeepAlive: keepAlive,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return checkDial(policy(), address)
		},
	}
	return dialer.DialContext
}
