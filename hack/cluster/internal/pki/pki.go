// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the keys and certificates of the development cluster with
// crypto/x509: two authorities (one for the API, one for etcd, so that no
// client of the API is a client of etcd), one certificate for each component,
// and the key that signs service account tokens.
//
// hack/cluster calls it on every start. Keys that exist and are good for a
// while longer are kept, so that a restart does not invalidate kubeconfigs. It
// never writes outside the folder it is given.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 365 * 24 * time.Hour
	// renewBefore is how long a certificate must still be good to be kept.
	renewBefore = 30 * 24 * time.Hour
	// backdate makes room for clocks that differ.
	backdate = time.Hour
)

// Usage says what a certificate is for.
type Usage int

// The uses of a certificate.
const (
	Client Usage = iota + 1
	Server
	Peer // both
)

// Request describes one certificate.
type Request struct {
	// Name is the base name of its files, NAME.crt and NAME.key.
	Name string
	// Authority is the base name of the authority that signs it.
	Authority string
	// User and Groups become the common name and the organizations, which the
	// API server reads as the user's name and groups.
	User   string
	Groups []string
	Usage  Usage
	// Hosts are DNS names and IP addresses of a server.
	Hosts []string
}

// Store is a folder of keys and certificates.
type Store struct {
	// Dir is the folder; it is made with mode 0700.
	Dir string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Cert returns the certificate file of a name.
func (s Store) Cert(name string) string { return filepath.Join(s.Dir, name+".crt") }

// Key returns the key file of a name.
func (s Store) Key(name string) string { return filepath.Join(s.Dir, name+".key") }

// Public returns the public key file of a name.
func (s Store) Public(name string) string { return filepath.Join(s.Dir, name+".pub") }

func (s Store) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Ensure makes the authorities, the certificates and the signing keys that are
// missing, no longer fit, or about to expire. When an authority is new, all
// that it signs is made anew.
func (s Store) Ensure(authorities []string, requests []Request, signingKeys []string) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of keys: %w", err)
	}
	signers := map[string]*pair{}
	for _, name := range authorities {
		p, err := s.ensureAuthority(name)
		if err != nil {
			return fmt.Errorf("authority %s: %w", name, err)
		}
		signers[name] = p
	}
	for _, r := range requests {
		signer, ok := signers[r.Authority]
		if !ok {
			return fmt.Errorf("certificate %s: no authority %q", r.Name, r.Authority)
		}
		if err := s.ensureCertificate(r, signer); err != nil {
			return fmt.Errorf("certificate %s: %w", r.Name, err)
		}
	}
	for _, name := range signingKeys {
		if err := s.ensureSigningKey(name); err != nil {
			return fmt.Errorf("signing key %s: %w", name, err)
		}
	}
	return nil
}

// pair is a certificate with its key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (s Store) ensureAuthority(name string) (*pair, error) {
	if p, err := s.read(name); err == nil && p.cert.IsCA && s.fresh(p.cert) {
		return p, nil
	}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "aalis-" + name},
		NotBefore:             s.now().Add(-backdate),
		NotAfter:              s.now().Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	return s.issue(name, template, key, &pair{cert: template, key: key})
}

func (s Store) ensureCertificate(r Request, signer *pair) error {
	template := template(r)
	template.NotBefore = s.now().Add(-backdate)
	template.NotAfter = s.now().Add(certificateLife)
	if p, err := s.read(r.Name); err == nil && s.fresh(p.cert) && same(p.cert, template) &&
		p.cert.CheckSignatureFrom(signer.cert) == nil {
		return nil
	}
	key, err := newKey()
	if err != nil {
		return err
	}
	_, err = s.issue(r.Name, template, key, signer)
	return err
}

func template(r Request) *x509.Certificate {
	t := &x509.Certificate{
		Subject:               pkix.Name{CommonName: r.User, Organization: r.Groups},
		KeyUsage:              x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
	}
	if r.Usage == Client || r.Usage == Peer {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	if r.Usage == Server || r.Usage == Peer {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, h := range r.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
			continue
		}
		t.DNSNames = append(t.DNSNames, h)
	}
	return t
}

// same tells whether an existing certificate says what the template asks for.
func same(have, want *x509.Certificate) bool {
	return have.Subject.String() == want.Subject.String() &&
		fmt.Sprint(have.DNSNames, have.IPAddresses, have.ExtKeyUsage) ==
			fmt.Sprint(want.DNSNames, want.IPAddresses, want.ExtKeyUsage)
}

func (s Store) fresh(c *x509.Certificate) bool {
	return !s.now().Before(c.NotBefore) && s.now().Add(renewBefore).Before(c.NotAfter)
}

func (s Store) issue(name string, template *x509.Certificate, key *ecdsa.PrivateKey, signer *pair) (*pair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("drawing a serial number: %w", err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading back what was signed: %w", err)
	}
	if err := s.writeKey(name, key); err != nil {
		return nil, err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := writeFile(s.Cert(name), block, 0o644); err != nil {
		return nil, err
	}
	return &pair{cert: cert, key: key}, nil
}

func (s Store) ensureSigningKey(name string) error {
	if _, err := os.Stat(s.Public(name)); err == nil {
		_, err := s.readKey(name)
		return err
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := newKey()
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encoding the public key: %w", err)
	}
	if err := s.writeKey(name, key); err != nil {
		return err
	}
	return writeFile(s.Public(name), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return key, nil
}
