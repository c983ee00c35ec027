// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func writeSource(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func sample(t *testing.T) Spec {
	t.Helper()
	dir := t.TempDir()
	return Spec{
		Tag: "aalis.local/sample:1",
		Files: []File{
			{Source: writeSource(t, dir, "b", "program"), Target: "/usr/bin/program"},
			{Source: writeSource(t, dir, "a", "data"), Target: "/data/a.txt", Mode: 0o644},
		},
		Links:        []Link{{Path: "/usr/bin/alias", Target: "program"}},
		Entrypoint:   []string{"/usr/bin/program"},
		Cmd:          []string{"--help"},
		Env:          []string{"A=b"},
		Labels:       map[string]string{"x": "y"},
		Architecture: "amd64",
		CABundle:     writeSource(t, dir, "ca", "certificates"),
	}
}

func write(t *testing.T, spec Spec) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, spec); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWriteIsReproducible(t *testing.T) {
	spec := sample(t)
	first := write(t, spec)
	for _, f := range spec.Files {
		if err := os.Chtimes(f.Source, time.Now(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(f.Source, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	spec.Files[0], spec.Files[1] = spec.Files[1], spec.Files[0]
	if !bytes.Equal(first, write(t, spec)) {
		t.Error("times, modes or the order of the sources changed the archive")
	}
	if err := os.WriteFile(spec.Files[0].Source, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(first, write(t, spec)) {
		t.Error("other content gave the same archive")
	}
}

func TestWrittenImage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "image.tar")
	if err := WriteFile(file, sample(t)); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Architecture != "amd64" || config.OS != "linux" {
		t.Errorf("user %q, platform %s/%s", config.Config.User, config.OS, config.Architecture)
	}
	if diff := cmp.Diff([]string{defaultPath, "A=b"}, config.Config.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, error %v; want one", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"data/ 755", "data/a.txt 644 data",
		"etc/ 755", "etc/group 644 " + group, "etc/passwd 644 " + passwd,
		"etc/ssl/ 755", "etc/ssl/certs/ 755", "etc/ssl/certs/ca-certificates.crt 644 certificates",
		"tmp/ 1777",
		"usr/ 755", "usr/bin/ 755", "usr/bin/alias 777 -> program", "usr/bin/program 755 program",
	}
	if diff := cmp.Diff(want, list(t, content)); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
}

// list renders the members of a layer and checks what all have in common.
func list(t *testing.T, in io.Reader) []string {
	t.Helper()
	var out []string
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(epoch) || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s: time %s, owner %d:%d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		line := h.Name + " " + octal(h.Mode)
		if h.Linkname != "" {
			line += " -> " + h.Linkname
		}
		if len(body) > 0 {
			line += " " + string(body)
		}
		out = append(out, line)
	}
}

func octal(mode int64) string {
	const digits = "01234567"
	var out []byte
	for ; mode > 0; mode /= 8 {
		out = append([]byte{digits[mode%8]}, out...)
	}
	return string(out)
}

func TestWriteWithoutCACertificates(t *testing.T) {
	spec := sample(t)
	spec.CABundle = filepath.Join(t.TempDir(), "absent")
	if err := Write(io.Discard, spec); err != nil {
		t.Errorf("a machine without CA certificates: %v", err)
	}
}

func TestInvalidSpecs(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Spec)
		want   string
	}{
		{"no tag", func(s *Spec) { s.Tag = "name" }, `tag "name" has no tag`},
		{"bad tag", func(s *Spec) { s.Tag = "UPPER/x:1" }, "tag"},
		{"no architecture", func(s *Spec) { s.Architecture = "" }, "architecture is empty"},
		{"no entrypoint", func(s *Spec) { s.Entrypoint = nil }, "entrypoint is empty"},
		{"no files", func(s *Spec) { s.Files = nil }, "no file is named"},
		{"relative target", func(s *Spec) { s.Files[0].Target = "bin/x" }, `target "bin/x" is not an absolute`},
		{"target that climbs", func(s *Spec) { s.Files[0].Target = "/a/../b" }, `target "/a/../b" is not an absolute, clean`},
		{"own target", func(s *Spec) { s.Files[0].Target = "/etc/passwd" }, "written by the image builder"},
		{"target twice", func(s *Spec) { s.Files[0].Target = s.Files[1].Target }, "named twice"},
		{"source that is a folder", func(s *Spec) { s.Files[0].Source = "/" }, "not a regular file"},
		{"no source", func(s *Spec) { s.Files[0].Source = "/nowhere" }, "no such file"},
		{"empty link", func(s *Spec) { s.Links[0].Target = "" }, "points to nothing"},
		{"bad environment", func(s *Spec) { s.Env = []string{"=x"} }, `"=x" is not KEY=VALUE`},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec := sample(t)
			test.change(&spec)
			var out bytes.Buffer
			err := Write(&out, spec)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v; want %q", err, test.want)
			}
			if out.Len() > 0 {
				t.Error("something was written")
			}
		})
	}
}

func TestWriteFileLeavesNothingOnError(t *testing.T) {
	dir := t.TempDir()
	spec := sample(t)
	spec.Tag = "none"
	if err := WriteFile(filepath.Join(dir, "x.tar"), spec); err == nil {
		t.Fatal("no error")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left %v (error %v)", entries, err)
	}
}
