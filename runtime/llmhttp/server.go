// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

// AnyHost as a Server's KeyHost stands for every host.
const AnyHost = "*"

// Server is what a config says of a server: where it is and who we are there.
type Server struct {
	// Vendor is the name for the log, for errors in it, and for the labels of models.
	Vendor string
	// BaseURL and Key are the fields baseUrl and apiKey of the config. The key may be empty.
	BaseURL, Key string
	// KeyHost is the host that surely wants a key; AnyHost if they all do, empty if none.
	KeyHost string
	// Versioned tells that paths begin behind the API's version, which a base URL need not name. Otherwise they bring
	// it along.
	Versioned bool
}

// Open makes the endpoint, which lives until the plugin's context is torn down. Errors name the field of the config and
// never show the key.
func (s Server) Open(k *kernel.Context) (*Endpoint, error) {
	base, err := netx.CheckURL(s.BaseURL, netx.PolicyOf(k))
	if err != nil {
		return nil, fmt.Errorf("config.baseUrl: %w", err)
	}
	for i := range len(s.Key) {
		if s.Key[i] <= ' ' || s.Key[i] > '~' {
			return nil, errors.New("config.apiKey: may hold only visible ASCII characters, without blanks and line breaks")
		}
	}
	switch {
	case s.Key != "":
	case s.KeyHost == AnyHost:
		return nil, errors.New("config.apiKey: must be given from a Secret")
	case s.KeyHost == base.Hostname():
		return nil, fmt.Errorf("config.apiKey: must be given from a Secret, because config.baseUrl is %s", s.KeyHost)
	}
	if s.Versioned {
		base = WithVersion(base)
	} else {
		base = WithoutVersion(base)
	}
	transport := netx.NewTransport(func() netx.Policy { return netx.PolicyOf(k) })
	e := &Endpoint{
		Host: base.Host, k: k, vendor: s.Vendor, base: base, transport: transport, secret: s.Key,
		client: &http.Client{Transport: transport, CheckRedirect: netx.NoRedirects},
	}
	k.OnDispose("connections", e.close)
	k.OnDrain("calls", e.drain)
	return e, nil
}
