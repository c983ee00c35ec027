// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func requests() []Request {
	return []Request{
		{Name: "server", Authority: "ca", User: "server", Usage: Server, Hosts: []string{"10.0.0.1", "name.example"}},
		{Name: "client", Authority: "ca", User: "system:node:n1", Groups: []string{"system:nodes"}, Usage: Client},
		{Name: "peer", Authority: "other-ca", User: "peer", Usage: Peer, Hosts: []string{"127.0.0.1"}},
	}
}

func ensure(t *testing.T, s Store, r []Request) {
	t.Helper()
	if err := s.Ensure([]string{"ca", "other-ca"}, r, []string{"tokens"}); err != nil {
		t.Fatal(err)
	}
}

// snapshot returns the content of all files.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

func changed(before, after map[string]string) map[string]bool {
	out := map[string]bool{}
	for name := range after {
		if before[name] != after[name] {
			out[name] = true
		}
	}
	return out
}

func verify(t *testing.T, s Store, authority, name, host string, usage x509.ExtKeyUsage) error {
	t.Helper()
	ca, err := os.ReadFile(s.Cert(authority))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	pair, err := tls.LoadX509KeyPair(s.Cert(name), s.Key(name))
	if err != nil {
		t.Fatal(err)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{
		Roots: pool, DNSName: host, CurrentTime: s.now(), KeyUsages: []x509.ExtKeyUsage{usage},
	})
	return err
}

func TestCertificatesVerify(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "pki"), Now: func() time.Time { return start }}
	ensure(t, s, requests())
	for _, test := range []struct {
		authority, name, host string
		usage                 x509.ExtKeyUsage
		good                  bool
	}{
		{"ca", "server", "10.0.0.1", x509.ExtKeyUsageServerAuth, true},
		{"ca", "server", "name.example", x509.ExtKeyUsageServerAuth, true},
		{"ca", "server", "other.example", x509.ExtKeyUsageServerAuth, false},
		{"ca", "server", "", x509.ExtKeyUsageClientAuth, false},
		{"ca", "client", "", x509.ExtKeyUsageClientAuth, true},
		{"ca", "client", "", x509.ExtKeyUsageServerAuth, false},
		{"other-ca", "peer", "127.0.0.1", x509.ExtKeyUsageServerAuth, true},
		{"other-ca", "peer", "", x509.ExtKeyUsageClientAuth, true},
		{"other-ca", "client", "", x509.ExtKeyUsageClientAuth, false},
		{"ca", "peer", "", x509.ExtKeyUsageClientAuth, false},
	} {
		err := verify(t, s, test.authority, test.name, test.host, test.usage)
		if (err == nil) != test.good {
			t.Errorf("%s by %s for %q: %v; want good=%v", test.name, test.authority, test.host, err, test.good)
		}
	}
	pair, err := tls.LoadX509KeyPair(s.Cert("client"), s.Key("client"))
	if err != nil {
		t.Fatal(err)
	}
	if subject := pair.Leaf.Subject; subject.CommonName != "system:node:n1" || len(subject.Organization) != 1 || subject.Organization[0] != "system:nodes" {
		t.Errorf("subject %s", subject)
	}
}

func TestKeysAreSecret(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "pki")}
	ensure(t, s, requests())
	for _, name := range []string{"ca", "other-ca", "server", "client", "peer", "tokens"} {
		info, err := os.Stat(s.Key(name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, error %v; want mode 0600", name, info.Mode(), err)
		}
	}
}

func TestRenewal(t *testing.T) {
	breakFile := func(name string) func(*testing.T, *Store, *[]Request) {
		return func(t *testing.T, s *Store, _ *[]Request) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(s.Dir, name), []byte("broken"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	later := func(d time.Duration) func(*testing.T, *Store, *[]Request) {
		return func(_ *testing.T, s *Store, _ *[]Request) { s.Now = func() time.Time { return start.Add(d) } }
	}
	for _, test := range []struct {
		name   string
		change func(*testing.T, *Store, *[]Request)
		want   []string // names whose certificates are new
	}{
		{"nothing changed", later(0), nil},
		{"half a year later", later(180 * 24 * time.Hour), nil},
		{"shortly before the end", later(certificateLife - 20*24*time.Hour), []string{"server", "client", "peer"}},
		{"clock set back", later(-48 * time.Hour), []string{"ca", "other-ca", "server", "client", "peer"}},
		{"another host", func(_ *testing.T, _ *Store, r *[]Request) { (*r)[0].Hosts = []string{"10.0.0.2"} }, []string{"server"}},
		{"another group", func(_ *testing.T, _ *Store, r *[]Request) { (*r)[1].Groups = nil }, []string{"client"}},
		{"broken certificate", breakFile("server.crt"), []string{"server"}},
		{"broken key", breakFile("client.key"), []string{"client"}},
		{"broken authority", breakFile("ca.key"), []string{"ca", "server", "client"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := Store{Dir: filepath.Join(t.TempDir(), "pki"), Now: func() time.Time { return start }}
			r := requests()
			ensure(t, s, r)
			before := snapshot(t, s.Dir)
			test.change(t, &s, &r)
			ensure(t, s, r)
			got := changed(before, snapshot(t, s.Dir))
			want := map[string]bool{}
			for _, name := range test.want {
				want[name+".crt"], want[name+".key"] = true, true
			}
			if len(got) != len(want) {
				t.Errorf("new: %v; want %v", got, want)
			}
			for name := range want {
				if !got[name] {
					t.Errorf("%s was kept", name)
				}
			}
		})
	}
}

func TestSigningKeyPair(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	if err := s.Ensure(nil, nil, []string{"tokens"}); err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(s.Public("tokens"))
	if err != nil || !bytes.HasPrefix(public, []byte("-----BEGIN PUBLIC KEY-----")) {
		t.Errorf("public key %q, error %v", public, err)
	}
	// Tokens that were given out must stay good: a broken key is for a human.
	if err := os.WriteFile(s.Key("tokens"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Ensure(nil, nil, []string{"tokens"}); err == nil {
		t.Error("a broken signing key was not noticed")
	}
}

func TestUnknownAuthority(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	if err := s.Ensure(nil, []Request{{Name: "x", Authority: "none"}}, nil); err == nil {
		t.Error("no error")
	}
}
