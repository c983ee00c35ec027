// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netguard keeps a bot from being sent where it may not go: it fetches what a model or a chat user names by URL, and
// connects only to addresses that the policy allows. The address is judged when it is dialled, after the name was resolved
// and again after every redirect, so that a name that resolves to something else the second time gains nothing.
//
// It is for URLs that somebody in a conversation chose. Endpoints that are declared in a config are the business of the
// package netx.
package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

// ErrRefused is wrapped by every error about a URL or an address that the policy does not allow.
var ErrRefused = errors.New("the address may not be reached")

var errNoURL = errors.New("it is no URL such as https://example.org/page")

// maxURL bounds a URL, in bytes.
const maxURL = 8192

// Policy says which addresses may be reached. The zero Policy allows public addresses on every port.
type Policy struct {
	// AllowPrivate lifts the refusal of addresses that are not on the public internet; those of metadata services stay
	// refused.
	AllowPrivate bool
	// Deny are networks that are never reached.
	Deny []netip.Prefix
	// Ports are the only ports; nil is every port.
	Ports []uint16
}

// FromRules reads declared rules; nil is the zero Policy.
func FromRules(r *kernelconfig.NetworkRules) (Policy, error) {
	if r == nil {
		return Policy{}, nil
	}
	p := Policy{AllowPrivate: r.AllowPrivate}
	for _, c := range r.DenyCIDRs {
		prefix, err := netip.ParsePrefix(c)
		if err != nil {
			return Policy{}, fmt.Errorf("denyCidrs: %q is no network such as 10.96.0.0/12", c)
		}
		p.Deny = append(p.Deny, prefix.Masked())
	}
	if r.AllowedPorts != nil {
		p.Ports = []uint16{}
		for _, n := range r.AllowedPorts {
			if n < 1 || n > 65535 {
				return Policy{}, fmt.Errorf("allowedPorts: %d is no port", n)
			}
			p.Ports = append(p.Ports, uint16(n))
		}
	}
	return p, nil
}

// PolicyOf reads the policy in effect. One that cannot be read allows nothing, since what it denies is not known.
func PolicyOf(k *kernel.Context) Policy {
	a, present, err := access.Setting.Get(k)
	if err == nil && !present {
		return Policy{}
	}
	p := Policy{}
	if err == nil {
		p, err = FromRules(a.Network)
	}
	if err != nil {
		k.Logger().Error("The network rules cannot be read, so that nothing is fetched", "error", err)
		return Policy{Ports: []uint16{}}
	}
	return p
}

// notPublic are the ranges that are no use on the public internet, also those behind which other addresses may hide.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"::/96", "::ffff:0:0:0/96", "64:ff9b::/32", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// CheckAddr says why an address may not be reached, or nil. An IPv4 address in an IPv6 one is judged as itself too.
func (p Policy) CheckAddr(addr netip.Addr) error {
	if !addr.IsValid() {
		return refused("it is no address")
	}
	given := addr.WithZone("").Unmap()
	for _, a := range []netip.Addr{given, netx.Plain(addr)} {
		switch {
		case netx.IsMetadata(a):
			return refused("it is that of a metadata service")
		case within(p.Deny, a):
			return refused("a policy denies its network")
		case !p.AllowPrivate && within(notPublic, a):
			return refused("it is not public")
		}
	}
	return nil
}

func within(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

func refused(why string) error { return fmt.Errorf("%w: %s", ErrRefused, why) }

// CheckURL reads a URL and says what is wrong with it, as far as that can be told without resolving its host.
func (p Policy) CheckURL(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, fmt.Errorf("a URL may not be longer than %d bytes", maxURL)
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case err != nil || u.Scheme == "":
		return nil, errNoURL
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refused("only http and https are fetched")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errNoURL
	}
	if u.User != nil {
		return nil, refused("a URL may not hold a user name or password")
	}
	port, err := portOf(u)
	if err != nil {
		return nil, err
	}
	if p.Ports != nil && !slices.Contains(p.Ports, port) {
		return nil, refused(fmt.Sprintf("port %d is not among those allowed", port))
	}
	return u, p.checkHost(u.Hostname())
}

func portOf(u *url.URL) (uint16, error) {
	switch {
	case u.Port() != "":
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || n == 0 {
			return 0, refused("its port is none")
		}
		return uint16(n), nil
	case u.Scheme == "https":
		return 443, nil
	}
	return 80, nil
}

// localNames are names of the machine itself or its surroundings.
var localNames = []string{"localhost", "local", "internal", "localdomain", "svc", "cluster.local", "home.arpa", "intranet", "lan"}

// checkHost judges a host without resolving it. Numbers that are no address in its usual form are refused: some resolvers take
// 2130706433 and 0x7f.1 for 127.0.0.1.
func (p Policy) checkHost(host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return p.CheckAddr(addr)
	}
	name := strings.ToLower(strings.TrimRight(host, "."))
	labels := strings.Split(name, ".")
	if numeric(labels[len(labels)-1]) {
		return refused("it is no address in its usual form")
	}
	if p.AllowPrivate {
		return nil
	}
	for _, l := range localNames {
		if name == l || strings.HasSuffix(name, "."+l) {
			return refused("its name is a local one")
		}
	}
	return nil
}

// numeric tells whether the last label of a host is a number, decimal, octal or hexadecimal, as no top-level domain is.
func numeric(label string) bool {
	if label == "" {
		return true
	}
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
