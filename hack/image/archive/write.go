// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// defaultPath is the PATH of an image's processes.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// WriteFile writes the image to a file in the docker-archive format, which
// "ctr images import" and "kind load image-archive" read. The file appears
// whole or not at all.
func WriteFile(file string, spec Spec) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("making the folder of the image archive: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".image-*")
	if err != nil {
		return fmt.Errorf("creating the image archive: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // fails after the rename, as it should
	if err := Write(tmp, spec); err != nil {
		_ = tmp.Close()
		return err
	}
	if err := tmp.Chmod(0o644); err != nil {
		_ = tmp.Close()
		return fmt.Errorf("setting the mode of the image archive: %w", err)
	}
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("closing the image archive: %w", err)
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return fmt.Errorf("putting the image archive in place: %w", err)
	}
	return nil
}

// Write writes the image in the docker-archive format. An invalid Spec is an
// error that names the fields at fault, before anything is written.
func Write(w io.Writer, spec Spec) error {
	if err := spec.validate(); err != nil {
		return fmt.Errorf("invalid image: %w", err)
	}
	tag, err := name.NewTag(spec.Tag)
	if err != nil {
		return fmt.Errorf("invalid image: tag: %w", err)
	}
	img, err := image(spec)
	if err != nil {
		return err
	}
	if err := tarball.Write(tag, img, w); err != nil {
		return fmt.Errorf("writing the image archive: %w", err)
	}
	return nil
}

func image(spec Spec) (v1.Image, error) {
	content, err := layer(spec)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	l, err := tarball.LayerFromOpener(open,
		tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("reading the layer: %w", err)
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   l,
		History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "hack/image"},
	})
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	img, err = mutate.ConfigFile(img, configOf(spec, img))
	if err != nil {
		return nil, fmt.Errorf("setting the image configuration: %w", err)
	}
	return img, nil
}

func configOf(spec Spec, img v1.Image) *v1.ConfigFile {
	config := &v1.ConfigFile{}
	if current, err := img.ConfigFile(); err == nil {
		config = current.DeepCopy()
	}
	user := spec.User
	if user == "" {
		user = fmt.Sprintf("%d:%d", NonRootID, NonRootID)
	}
	config.Architecture = spec.Architecture
	config.OS = "linux"
	config.Created = v1.Time{Time: epoch}
	config.Config = v1.Config{
		User:       user,
		Entrypoint: spec.Entrypoint,
		Cmd:        spec.Cmd,
		Env:        append([]string{defaultPath}, slices.Clone(spec.Env)...),
		Labels:     spec.Labels,
		WorkingDir: "/",
	}
	return config
}
