// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryredis

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// authority is the certificate authority that TestMain makes the only one that the process trusts.
var authority issuer

// TestMain has the process trust an authority of its own, as SSL_CERT_FILE does for a bot, before anything reads the
// system's.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "memory-redis")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if authority, err = newIssuer(); err == nil {
			file := filepath.Join(dir, "ca.pem")
			if err = os.WriteFile(file, authority.pem, 0o600); err == nil {
				err = os.Setenv("SSL_CERT_FILE", file)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// issuer is a certificate authority.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newIssuer() (issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return issuer{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return issuer{}, err
	}
	cert, err := x509.ParseCertificate(der)
	return issuer{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, err
}

// issue writes a certificate for a host name or an address, and its key.
func (i issuer) issue(tb testing.TB, host string) (certFile, keyFile string) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.cert, &key.PublicKey, i.key)
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return certFile, keyFile
}

// secureServer is a Redis server that also speaks TLS, at the returned address.
func secureServer(t *testing.T, by issuer, host string) (s *server, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(addr)
	cert, key := by.issue(t, host)
	return newServer(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no",
		"--tls-ca-cert-file", cert), addr
}

// TestTLS: what is said over TLS is kept, and the server's certificate is checked: its issuer and its name.
func TestTLS(t *testing.T) {
	s, addr := secureServer(t, authority, "127.0.0.1")
	for _, cfg := range []map[string]any{{"address": addr, "tls": true}, {"address": "rediss://" + addr}} {
		_, b := s.bot(t, identity(), cfg)
		if err := b.SaveMessage(t.Context(), "s", message.Message{Role: message.RoleUser, Content: "secret"}); err != nil {
			t.Fatal(err)
		}
		got, err := b.History(t.Context(), "s", 10)
		if err != nil || len(got) != 1 || got[0].Content != "secret" {
			t.Errorf("%v: got %+v, %v", cfg, got, err)
		}
	}
	stranger, err := newIssuer()
	if err != nil {
		t.Fatal(err)
	}
	_, unknown := secureServer(t, stranger, "127.0.0.1")
	_, misnamed := secureServer(t, authority, "redis.example")
	for name, tc := range map[string]struct {
		cfg  map[string]any
		says string
	}{
		"unknown issuer": {map[string]any{"address": unknown, "tls": true}, "unknown authority"},
		"another's name": {map[string]any{"address": misnamed, "tls": true}, "127.0.0.1"},
		"no TLS there":   {map[string]any{"address": s.addr, "tls": true}, "tls to"},
	} {
		h := kerneltest.New(t, kerneltest.WithSetting(store.IdentitySetting.Key(), identity()),
			kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}), kerneltest.WithPlugin(Plugin, "", tc.cfg))
		if b, ok := memory.Service.Get(h.Root()); ok {
			if err := b.SaveMessage(t.Context(), "s", message.Message{Role: message.RoleUser, Content: "x"}); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: got %v", name, err)
			}
			continue
		}
		if p := h.Plugin(Plugin.Name); p.State != recompute.Error || !strings.Contains(p.Error, tc.says) {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}
