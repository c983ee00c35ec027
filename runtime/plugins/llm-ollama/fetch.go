// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmollama

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

const (
	// maxDownload bounds a fetched picture or sound, in bytes.
	maxDownload  = 20 << 20
	fetchTimeout = 30 * time.Second
	maxRedirects = 3
)

var errTooLarge = fmt.Errorf("it is larger than %d MiB", maxDownload>>20)

// checkAddr says why an address may not be connected to, or nil.
type checkAddr func(netip.Addr) error

// publicOnly lets through what is on the public internet. The addresses come from chat users, who may not reach into the
// cluster by them.
func publicOnly(addr netip.Addr) error {
	if err := (netx.Policy{}).CheckAddr(addr); err != nil {
		return err
	}
	addr = addr.Unmap()
	for _, p := range notPublic {
		if p.Contains(addr) {
			return fmt.Errorf("%w: it is not public", netx.ErrAddressRefused)
		}
	}
	return nil
}

// notPublic are the address ranges that are no use on the public internet, NAT64 and 6to4 included, behind which others
// may hide.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("fc00::/7"),
	netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("64:ff9b::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("::/96"),
}

// fetcher gets pictures and sounds from addresses that chat users chose.
type fetcher struct {
	client    *http.Client
	transport *http.Transport
}

// newFetcher makes a fetcher that connects only to what check lets through, after name resolution, redirects included.
func newFetcher(check checkAddr) *fetcher {
	transport := netx.NewTransport(func() netx.Policy { return netx.Policy{} })
	transport.DialContext = (&net.Dialer{
		Timeout: fetchTimeout,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%w: it is no address", netx.ErrAddressRefused)
			}
			return check(ap.Addr())
		},
	}).DialContext
	return &fetcher{transport: transport, client: &http.Client{
		Transport: transport,
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("it redirects too often")
			}
			return nil
		},
	}}
}

func (f *fetcher) close() { f.transport.CloseIdleConnections() }

// get fetches a picture or sound. Errors do not show the address, which may hold a token.
func (f *fetcher) get(ctx context.Context, source string) (medium, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return medium{}, errors.New("the address is none")
	}
	resp, err := f.client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return medium{}, fmt.Errorf("fetching it: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode != http.StatusOK:
		return medium{}, fmt.Errorf("fetching it: the server answered %d", resp.StatusCode)
	case resp.ContentLength > maxDownload:
		return medium{}, errTooLarge
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxDownload+1))
	switch {
	case err != nil:
		return medium{}, fmt.Errorf("fetching it: %w", err)
	case len(raw) > maxDownload:
		return medium{}, errTooLarge
	case len(raw) == 0:
		return medium{}, errors.New("it is empty")
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return medium{base64: base64.StdEncoding.EncodeToString(raw), mime: kind}, nil
}
