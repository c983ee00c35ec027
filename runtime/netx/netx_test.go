// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package netx

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCheckAddr(t *testing.T) {
	allowed := []string{
		"8.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "2001:db8::1", "fd00::1", "64:ff9b::808:808",
		"2002:808:808::1", "::ffff:10.0.0.1",
	}
	loopback := []string{"127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"}
	refused := []string{
		"169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200",
		"168.63.129.16", "192.0.0.192", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "ff0e::1", "255.255.255.255",
		"::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::169.254.169.254",
	}
	strict, lax := Policy{}, Policy{AllowLoopback: true}
	check := func(list []string, p Policy, ok bool) {
		t.Helper()
		for _, text := range list {
			err := p.CheckAddr(netip.MustParseAddr(text))
			if (err == nil) != ok || err != nil && !errors.Is(err, ErrAddressRefused) {
				t.Errorf("%s with %+v: %v", text, p, err)
			}
		}
	}
	check(allowed, strict, true)
	check(loopback, strict, false)
	check(loopback, lax, true)
	check(refused, strict, false)
	check(refused, lax, false)
	if err := lax.CheckAddr(netip.Addr{}); !errors.Is(err, ErrAddressRefused) {
		t.Errorf("the zero address: %v", err)
	}
}

func TestCheckURL(t *testing.T) {
	tests := []struct {
		name, url, err string
		lax            bool
	}{
		{"public", "https://api.openai.com", "", false},
		{"in the cluster, with a path", "http://llm.models.svc:8000/v1/", "", false},
		{"private", "http://192.168.1.20:11434", "", false},
		{"IPv6", "http://[fd00::5]:80/v1", "", false},
		{"localhost", "http://localhost:8080", "may not point to localhost: address is not allowed: localhost is loopback", false},
		{"localhost in disguise", "http://a.LocalHost.:8080", "a.localhost is loopback", false},
		{"allowed localhost", "http://localhost:8080", "", true},
		{"loopback", "http://[::1]:8080", "::1 is loopback", false},
		{"metadata", "http://169.254.169.254/latest", "169.254.169.254 is a metadata address", true},
		{"metadata by name", "http://metadata.google.internal", "metadata.google.internal is a metadata service", true},
		{"link-local", "http://[fe80::1]/", "fe80::1 is link-local", true},
		{"scheme", "ftp://x", `must begin with http:// or https://, got "ftp://x"`, false},
		{"none", "", `must begin with http:// or https://, got ""`, false},
		{"no host", "http:///v1", "must name a host", false},
		{"only a port", "http://:80", "must name a host", false},
		{"credentials", "https://me:hunter2@llm.example", "may not hold a user name or password", false},
		{"credentials without a scheme", "me:hunter2@llm.example", "must begin with http:// or https://, got another text", false},
		{"credentials that do not parse", "https://me:hunter2%zz@llm.example", "must be a URL such as", false},
		{"query", "https://llm.example/?key=hunter2", "may not hold a query or a fragment", false},
		{"empty query", "https://llm.example/?", "may not hold a query or a fragment", false},
		{"fragment", "https://llm.example/#x", "may not hold a query or a fragment", false},
		{"port", "http://llm.example:70000", "must have a port from 1 to 65535", false},
		{"port zero", "http://llm.example:0", "must have a port from 1 to 65535", false},
		{"long", "http://" + strings.Repeat("x", 3000), "may not be longer than 2048 bytes", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := CheckURL(tt.url, Policy{AllowLoopback: tt.lax})
			switch {
			case tt.err == "" && (err != nil || u.String() != tt.url):
				t.Errorf("got %v, %v", u, err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error is %v, want %q", err, tt.err)
			case err != nil && strings.Contains(err.Error(), "hunter2"):
				t.Errorf("error %v shows a password", err)
			}
		})
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{"http://x", "https://[::1]:1/a?b#c", "http://a:b@c", "http://127.1", "http://0x7f.1", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := CheckURL(raw, Policy{})
		if err == nil && (u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https") {
			t.Errorf("%q was accepted", raw)
		}
	})
}

func TestTransportChecksWhatItDials(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
	defer server.Close()
	policy := Policy{}
	transport := NewTransport(func() Policy { return policy })
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: NoRedirects}
	get := func(url string) (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, resp.Body.Close()
	}
	named := strings.Replace(server.URL, "127.0.0.1", "localhost", 1) // a name that resolves to what is forbidden
	for _, url := range []string{server.URL, named} {
		if _, err := get(url); !errors.Is(err, ErrAddressRefused) {
			t.Errorf("%s: %v", url, err)
		}
	}
	policy.AllowLoopback = true
	for _, url := range []string{server.URL, named} {
		if status, err := get(url); status != http.StatusFound || err != nil {
			t.Errorf("%s: %d, %v: want the redirect itself", url, status, err)
		}
	}
	if transport.Proxy != nil || !transport.DisableCompression {
		t.Error("the transport takes a proxy from somewhere or asks for compression")
	}
	if err := checkDial(Policy{}, "nowhere"); !errors.Is(err, ErrAddressRefused) {
		t.Errorf("got %v", err)
	}
}

func TestPolicyOf(t *testing.T) {
	tests := []struct {
		name    string
		setting any
		want    Policy
	}{
		{"absent", nil, Policy{}},
		{"given", Policy{AllowLoopback: true}, Policy{AllowLoopback: true}},
		{"nonsense", "yes", Policy{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := kerneltest.New(t, kerneltest.WithSetting(Setting.Key(), tt.setting))
			if got := PolicyOf(h.Root()); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestInFlight(t *testing.T) {
	var f InFlight
	if err := f.Wait(t.Context()); err != nil {
		t.Errorf("nothing is under way: %v", err)
	}
	f.Enter()
	if !f.TryEnter(2) || f.TryEnter(2) || f.Count() != 2 {
		t.Errorf("%d are under way", f.Count())
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := f.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	waiting := make(chan error, 2)
	for range 2 {
		go func() { waiting <- f.Wait(context.Background()) }()
	}
	f.Leave()
	f.Leave()
	for range 2 {
		if err := <-waiting; err != nil {
			t.Errorf("got %v", err)
		}
	}
	if d := time.Until(Deadline(time.Hour)); d < 59*time.Minute || d > time.Hour {
		t.Errorf("the deadline is in %s", d)
	}
}
