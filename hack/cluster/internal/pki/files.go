// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
)

// read returns a certificate and its key, or an error when either is missing,
// broken or does not fit the other.
func (s Store) read(name string) (*pair, error) {
	data, err := os.ReadFile(s.Cert(name))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("%s holds no certificate", s.Cert(name))
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.Cert(name), err)
	}
	key, err := s.readKey(name)
	if err != nil {
		return nil, err
	}
	if public, ok := cert.PublicKey.(*ecdsa.PublicKey); !ok || !public.Equal(key.Public()) {
		return nil, fmt.Errorf("%s and %s do not belong together", s.Cert(name), s.Key(name))
	}
	return &pair{cert: cert, key: key}, nil
}

func (s Store) readKey(name string) (*ecdsa.PrivateKey, error) {
	data, err := os.ReadFile(s.Key(name))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "EC PRIVATE KEY" {
		return nil, fmt.Errorf("%s holds no EC key", s.Key(name))
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.Key(name), err)
	}
	return key, nil
}

func (s Store) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding the key: %w", err)
	}
	return writeFile(s.Key(name), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// writeFile replaces a file as a whole, so that a killed run leaves none half
// written.
func writeFile(file string, data []byte, mode fs.FileMode) error {
	tmp := file + ".tmp"
	if err := os.WriteFile(tmp, data, mode); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := os.Rename(tmp, file); err != nil {
		return fmt.Errorf("putting %s in place: %w", file, err)
	}
	return nil
}
