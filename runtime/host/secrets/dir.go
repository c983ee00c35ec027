// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Dir is a Source of files <dir>/<Secret name>/<key>, as the kubelet mounts them.
type Dir string

// Lookup implements Source. A name or key that would lead out of the directory is absent.
func (d Dir) Lookup(k Key) (string, error) {
	if !plain(k.Name) || !plain(k.Key) {
		return "", ErrAbsent
	}
	return readFile(filepath.Join(string(d), k.Name, k.Key))
}

// plain tells whether a name is one path element; the kubelet's own files, which begin with two dots, are none.
func plain(name string) bool {
	return name != "" && name != "." && !strings.HasPrefix(name, "..") && !strings.ContainsAny(name, "/\\\x00")
}

// readFile reads a file of at most MaxBytes, plus one byte by which the reader sees that there is more.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", ErrAbsent
	}
	if err != nil {
		return "", fmt.Errorf("opening it: %w", withoutPath(err))
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return "", fmt.Errorf("reading it: %w", withoutPath(err))
	}
	return string(data), nil
}

// withoutPath leaves out the path, which is long and says nothing that the Secret's name does not.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

var _ Source = Dir("")
