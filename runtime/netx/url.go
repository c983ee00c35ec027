// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package netx

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURLLength bounds a declared URL, in bytes.
const maxURLLength = 2048

// CheckURL reads the URL of a declared endpoint and reports what is wrong with it: it must be http or https with a host,
// without credentials, query and fragment, and its host must be allowed by the policy. The error names no field; it never
// shows a URL that holds credentials.
func CheckURL(raw string, p Policy) (*url.URL, error) {
	if len(raw) > maxURLLength {
		return nil, fmt.Errorf("may not be longer than %d bytes, got %d", maxURLLength, len(raw))
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The error of url.Parse quotes the whole text, which may hold a password.
		return nil, errors.New("must be a URL such as https://llm.example/v1")
	}
	switch {
	case u.User != nil:
		return nil, errors.New("may not hold a user name or password; give the key in its own field")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("must begin with http:// or https://, got %s", show(raw))
	case u.Hostname() == "":
		return nil, fmt.Errorf("must name a host, got %s", show(raw))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("may not hold a query or a fragment")
	}
	if err := checkPort(u.Port()); err != nil {
		return nil, err
	}
	if err := p.checkHost(u.Hostname()); err != nil {
		return nil, fmt.Errorf("may not point to %s: %w", u.Hostname(), err)
	}
	return u, nil
}

// show quotes a text unless it may hold credentials that did not parse as such.
func show(raw string) string {
	if strings.Contains(raw, "@") {
		return "another text"
	}
	return strconv.Quote(raw)
}

func checkPort(port string) error {
	if port == "" {
		return nil
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("must have a port from 1 to 65535, got %q", port)
	}
	return nil
}

// checkHost decides what can be decided without resolving the name.
func (p Policy) checkHost(host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return p.CheckAddr(addr)
	}
	switch name := strings.ToLower(strings.TrimSuffix(host, ".")); {
	case name == "localhost", strings.HasSuffix(name, ".localhost"):
		return p.loopback(name)
	case name == "metadata.google.internal", name == "metadata.goog", name == "instance-data.ec2.internal":
		return refused(name + " is a metadata service")
	default:
		return nil
	}
}
