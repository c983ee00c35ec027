// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// epoch is the modification time of every entry.
var epoch = time.Unix(0, 0).UTC()

const (
	passwd = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n"
	group  = "root:x:0:\nnonroot:x:65532:\n"
)

// entry is one member of the layer before it is written.
type entry struct {
	header tar.Header
	body   []byte
}

// layer returns the single layer of an image as an uncompressed tar.
func layer(spec Spec) ([]byte, error) {
	entries, err := entriesOf(spec)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range withParents(entries) {
		e.header.ModTime = epoch
		e.header.Size = int64(len(e.body))
		e.header.Format = tar.FormatPAX
		if err := w.WriteHeader(&e.header); err != nil {
			return nil, fmt.Errorf("writing the header of %s: %w", e.header.Name, err)
		}
		if _, err := w.Write(e.body); err != nil {
			return nil, fmt.Errorf("writing %s: %w", e.header.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("closing the layer: %w", err)
	}
	return out.Bytes(), nil
}

func entriesOf(spec Spec) ([]entry, error) {
	entries := []entry{
		regular("/etc/passwd", 0o644, []byte(passwd)),
		regular("/etc/group", 0o644, []byte(group)),
		directory("/tmp", 0o1777),
	}
	if spec.CABundle != "" {
		bundle, err := os.ReadFile(spec.CABundle)
		switch {
		case err == nil:
			entries = append(entries, regular(DefaultCABundle, 0o644, bundle))
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("reading the CA certificates: %w", err)
		}
	}
	for _, f := range spec.Files {
		body, err := os.ReadFile(f.Source)
		if err != nil {
			return nil, fmt.Errorf("reading the source of %s: %w", f.Target, err)
		}
		entries = append(entries, regular(f.Target, cmp.Or(f.Mode.Perm(), 0o755), body))
	}
	for _, l := range spec.Links {
		entries = append(entries, entry{header: tar.Header{
			Typeflag: tar.TypeSymlink, Name: member(l.Path), Linkname: l.Target, Mode: 0o777,
		}})
	}
	return entries, nil
}

func regular(target string, mode fs.FileMode, body []byte) entry {
	return entry{
		header: tar.Header{Typeflag: tar.TypeReg, Name: member(target), Mode: int64(mode)},
		body:   body,
	}
}

// directory takes the mode as the numeric tar mode, so that the sticky bit is
// written the way tar expects it.
func directory(target string, mode int64) entry {
	return entry{header: tar.Header{Typeflag: tar.TypeDir, Name: member(target) + "/", Mode: mode}}
}

func member(target string) string { return strings.TrimPrefix(target, "/") }

// withParents adds the directories that the entries need and sorts by name, so
// that every directory comes before what it holds.
func withParents(entries []entry) []entry {
	have := map[string]bool{}
	for _, e := range entries {
		have[strings.TrimSuffix(e.header.Name, "/")] = true
	}
	all := slices.Clone(entries)
	for _, e := range entries {
		for dir := path.Dir(strings.TrimSuffix(e.header.Name, "/")); dir != "."; dir = path.Dir(dir) {
			if !have[dir] {
				have[dir] = true
				all = append(all, directory("/"+dir, 0o755))
			}
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.header.Name, b.header.Name) })
	return all
}
