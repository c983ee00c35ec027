// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/netguard"
)

// names is a resolver that answers from a table, each name's answers one after the other.
type names struct {
	mu    sync.Mutex
	table map[string][][]netip.Addr
	asked map[string]int
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answers := n.table[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host}
	}
	if n.asked == nil {
		n.asked = map[string]int{}
	}
	i := min(n.asked[host], len(answers)-1)
	n.asked[host]++
	return answers[i], nil
}

func addrs(texts ...string) (out []netip.Addr) {
	for _, t := range texts {
		out = append(out, netip.MustParseAddr(t))
	}
	return out
}

func client(t *testing.T, p netguard.Policy, r netguard.Resolver) *netguard.Client {
	t.Helper()
	kerneltest.NoLeaks(t)
	c := netguard.New(netguard.Options{Policy: func() netguard.Policy { return p }, Resolver: r, MaxBytes: 1000})
	t.Cleanup(c.Close)
	return c
}

// targets may not be reached by anybody in a conversation: test 20 of the style guide.
var targets = []string{
	"http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.0.1/", "http://192.168.255.1:8080/",
	"http://127.0.0.1/", "http://127.1.2.3/", "http://127.255.255.254/", "http://0.0.0.0/", "http://0.1.2.3/", "http://100.64.0.1/", "http://100.127.255.255/",
	"http://169.254.169.254/latest/meta-data/", "http://169.254.0.1/", "http://100.100.100.200/", "http://168.63.129.16/", "http://192.0.0.192/",
	"http://198.18.0.1/", "http://198.19.255.255/", "http://192.0.2.1/", "http://198.51.100.1/", "http://203.0.113.1/", "http://224.0.0.1/",
	"http://240.0.0.1/", "http://255.255.255.255/", "http://192.88.99.1/",
	"http://[::]/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:10.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::ffff:a9fe:a9fe]/",
	"http://[::127.0.0.1]/", "http://[::ffff:0:127.0.0.1]/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fc00::1]/", "http://[fd00:ec2::254]/",
	"http://[fd20:ce::254]/", "http://[fec0::1]/", "http://[ff02::1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::10.0.0.1]/", "http://[64:ff9b:1::a00:1]/",
	"http://[2002:7f00:1::]/", "http://[2002:a00:1::]/", "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "http://[2001:db8::1]/", "http://[100::1]/",
	"http://2130706433/", "http://017700000001/", "http://0x7f000001/", "http://0x7f.1/", "http://127.1/", "http://127.0.0.1./", "http://0177.0.0.1/",
	"http://localhost/", "http://LOCALHOST:8080/", "http://localhost./", "http://a.localhost/", "http://printer.local/", "http://metadata.google.internal/",
	"http://kubernetes.default.svc/", "http://redis.databases.svc.cluster.local:6379/", "http://user:secret@example.org/", "http://example.org@127.0.0.1/",
	"http://[::1]@example.org/", "file:///etc/passwd", "gopher://example.org/", "ftp://example.org/", "http://rebound.example/", "http://mixed.example/",
	"http://inside.example/", "http://mapped.example/", "https://inside.example/", "http://example.org:0/",
}

func TestTargets(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9")
	r := &names{table: map[string][][]netip.Addr{
		"rebound.example": {addrs("127.0.0.1")}, "mixed.example": {addrs("93.184.216.34", "10.0.0.1")},
		"inside.example": {addrs("fd00::1")}, "mapped.example": {addrs("::ffff:169.254.169.254")},
	}}
	c := client(t, netguard.Policy{}, r)
	if len(targets) < 60 {
		t.Fatalf("%d targets", len(targets))
	}
	for _, target := range targets {
		r, err := c.Fetch(t.Context(), target, nil)
		if err == nil {
			t.Errorf("%s: got %+v", target, r)
			continue
		}
		if !errors.Is(err, netguard.ErrRefused) && !strings.Contains(err.Error(), "it is no URL") {
			t.Errorf("%s: %v", target, err)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows it: %v", target, err)
		}
	}
}

func TestPublicAddressesPass(t *testing.T) {
	for _, a := range []string{"8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:2800:220:1::1", "64:ff9b::808:808", "1.1.1.1"} {
		err := netguard.Policy{}.CheckAddr(netip.MustParseAddr(a))
		if strings.HasPrefix(a, "64:ff9b") == (err == nil) {
			t.Errorf("%s: %v", a, err)
		}
	}
	for _, u := range []string{"http://example.org", "https://example.org:8443/a?b=c#d", " https://例え.jp/ ", "https://123.example.org/"} {
		if _, err := (netguard.Policy{}).CheckURL(u); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
}

// TestRebinding: the address that is judged is the one that is connected to. The name is resolved once for each connection.
func TestRebinding(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	r := &names{table: map[string][][]netip.Addr{"twice.example": {addrs("192.0.2.9"), addrs("127.0.0.1")}}}
	c := client(t, netguard.Policy{AllowPrivate: true, Deny: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, r)
	for i, want := range []bool{false, true} {
		got, err := c.Fetch(t.Context(), "http://twice.example:"+port, nil)
		if (err == nil) != want || (want && string(got.Body) != "inside") {
			t.Errorf("fetch %d: %q, %v", i, got.Body, err)
		}
		if r.asked["twice.example"] != i+1 {
			t.Errorf("fetch %d: resolved %d times", i, r.asked["twice.example"])
		}
	}
}

func TestRedirects(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]http.Header{}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Host] = r.Header.Clone()
		mu.Unlock()
		status := http.StatusFound
		if s := r.URL.Query().Get("status"); s != "" {
			if n, err := strconv.Atoi(s); err == nil {
				status = n
			}
		}
		w.Header().Set("Location", r.URL.Query().Get("url"))
		w.WriteHeader(status)
	})
	mux.HandleFunc("/end", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Host] = r.Header.Clone()
		mu.Unlock()
		fmt.Fprint(w, "end")
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1001)) })
	mux.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
		for range 20 {
			fmt.Fprint(w, strings.Repeat("x", 100))
			w.(http.Flusher).Flush()
		}
	})
	r := &names{table: map[string][][]netip.Addr{"one.example": {addrs("127.0.0.1")}, "two.example": {addrs("127.0.0.1")}, "denied.example": {addrs("10.1.2.3")}}}
	c := client(t, netguard.Policy{AllowPrivate: true, Deny: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, r)
	one := "http://one.example:" + port
	for _, status := range []int{301, 302, 303, 307, 308} {
		got, err := c.Fetch(t.Context(), fmt.Sprintf("%s/to?status=%d&url=/end", one, status), nil)
		if err != nil || string(got.Body) != "end" || got.URL.Path != "/end" {
			t.Errorf("%d: %q, %v", status, got.Body, err)
		}
	}
	for _, target := range []string{"http://10.0.0.1/", "http://denied.example/", "http://169.254.169.254/", "file:///etc/passwd", "http://a:b@two.example/", "//denied.example/"} {
		if got, err := c.Fetch(t.Context(), one+"/to?url="+target, nil); !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("a redirect to %s: %q, %v", target, got.Body, err)
		}
	}
	h := http.Header{"Authorization": {"Bearer x"}, "Cookie": {"c=1"}, "X-Other": {"o"}}
	if _, err := c.Fetch(t.Context(), one+"/to?url=http://two.example:"+port+"/end", h); err != nil {
		t.Fatal(err)
	}
	first, second := seen["one.example:"+port], seen["two.example:"+port]
	if first.Get("Authorization") == "" || second.Get("Authorization") != "" || second.Get("Cookie") != "" || second.Get("X-Other") != "o" {
		t.Errorf("sent %v, then %v", first, second)
	}
	for path, want := range map[string]string{
		"/loop": "redirects more than 5 times", "/large": "too large", "/stream": "too large", "/to?url=": "redirects to nowhere",
	} {
		if _, err := c.Fetch(t.Context(), one+path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := c.Fetch(t.Context(), "http://unknown.example/", nil); err == nil || strings.Contains(err.Error(), "unknown.example") {
		t.Errorf("an unknown host: %v", err)
	}
}

func TestRules(t *testing.T) {
	p, err := netguard.FromRules(&kernelconfig.NetworkRules{AllowPrivate: true, DenyCIDRs: []string{"10.96.0.1/12"}, AllowedPorts: []int32{443, 8080}})
	if err != nil {
		t.Fatal(err)
	}
	for u, want := range map[string]bool{
		"https://example.org": true, "http://example.org": false, "http://example.org:8080": true, "https://10.100.0.1": false,
		"https://10.0.0.1": true, "https://169.254.169.254": false, "https://127.0.0.1": true, "https://a.local": true,
	} {
		if _, err := p.CheckURL(u); (err == nil) != want {
			t.Errorf("%s: %v", u, err)
		}
	}
	none, err := netguard.FromRules(&kernelconfig.NetworkRules{AllowedPorts: []int32{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.CheckURL("https://example.org"); !errors.Is(err, netguard.ErrRefused) {
		t.Errorf("with no port at all: %v", err)
	}
	for name, r := range map[string]kernelconfig.NetworkRules{"network": {DenyCIDRs: []string{"10.0.0.0"}}, "port": {AllowedPorts: []int32{70000}}} {
		if _, err := netguard.FromRules(&r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestTighteningNeverOpens: one more denied network, fewer ports, or private addresses refused never let anything more pass.
func TestTighteningNeverOpens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "v6")
		a := netip.AddrFrom16([16]byte(raw))
		if rapid.Bool().Draw(t, "is v4") {
			a = netip.AddrFrom4([4]byte(raw[:4]))
		}
		loose := netguard.Policy{AllowPrivate: rapid.Bool().Draw(t, "private")}
		tight := netguard.Policy{Deny: []netip.Prefix{netip.PrefixFrom(a, rapid.IntRange(0, a.BitLen()).Draw(t, "bits")).Masked()}}
		if tight.CheckAddr(a) == nil {
			t.Fatalf("%s passes although its network is denied", a)
		}
		if loose.CheckAddr(a) != nil && (netguard.Policy{}).CheckAddr(a) == nil {
			t.Fatalf("%s passes only where private addresses do not", a)
		}
	})
}

func FuzzCheckURL(f *testing.F) {
	for _, u := range targets {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := netguard.Policy{}.CheckURL(raw)
		if err != nil {
			return
		}
		if u.User != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
			t.Errorf("%q passes as %s", raw, u)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast()) {
			t.Errorf("%q passes as %s", raw, a)
		}
	})
}

// TestGuardRecords: what is refused is logged and told, by its host alone.
func TestGuardRecords(t *testing.T) {
	h := kerneltest.New(t, kerneltest.WithSetting(access.Setting.Key(), kernelconfig.Authority{Network: &kernelconfig.NetworkRules{DenyCIDRs: []string{"93.184.0.0/16"}}}))
	var told []access.Audit
	access.Decided.On(h.Root(), func(_ context.Context, a access.Audit) error {
		told = append(told, a)
		return nil
	})
	g := netguard.For(h.Root(), netguard.Options{Resolver: &names{table: map[string][][]netip.Addr{"ok.example": {addrs("93.184.216.34")}}}})
	who := netguard.Caller{Platform: "p", UserID: "u", SessionID: "s"}
	for _, u := range []string{"http://169.254.169.254/token?canary-1", "http://ok.example/canary-2"} {
		if _, err := g.Fetch(t.Context(), who, u, nil); !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("%s: %v", u, err)
		}
	}
	if len(told) != 2 || told[0].Kind != "network" || told[0].Outcome != "deny" || told[0].Detail != "169.254.169.254" || told[0].UserID != "u" {
		t.Errorf("told %+v", told)
	}
	if strings.Contains(h.Logs.String(), "canary") || len(h.Logs.Find("WARN", "Refused to fetch")) != 2 {
		t.Errorf("logged:\n%s", h.Logs)
	}
	if _, err := g.Fetch(t.Context(), who, "http://nowhere.example/", nil); err == nil || len(told) != 2 {
		t.Errorf("a failure that is no refusal: %v, told %d times", err, len(told))
	}
	bad := kerneltest.New(t, kerneltest.WithSetting(access.Setting.Key(), map[string]any{"network": map[string]any{"denyCidrs": []string{"x"}}}))
	if _, err := netguard.PolicyOf(bad.Root()).CheckURL("https://example.org"); !errors.Is(err, netguard.ErrRefused) {
		t.Errorf("with rules that cannot be read: %v", err)
	}
}
