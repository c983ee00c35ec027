// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/aalis-dev/aalis-operator/hack/image/archive"
)

func TestWriteNamesImagesByContent(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "program")
	put := func(text string) archive.Spec {
		t.Helper()
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return archive.Spec{Files: []archive.File{{Source: source, Target: "/program"}}, Entrypoint: []string{"/program"}}
	}
	build := func(spec archive.Spec) Image {
		t.Helper()
		image, err := write(filepath.Join(dir, "images"), "x", spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tarball.ImageFromPath(image.File, nil); err != nil {
			t.Errorf("%s cannot be read: %v", image.File, err)
		}
		return image
	}
	first := build(put("one"))
	if !regexp.MustCompile(`^aalis\.local/x:[0-9a-f]{12}$`).MatchString(first.Ref) {
		t.Errorf("ref %q", first.Ref)
	}
	if again := build(put("one")); again != first {
		t.Errorf("the same content is %v and %v", first, again)
	}
	if other := build(put("two")); other.Ref == first.Ref {
		t.Error("other content has the same name")
	}
	linked := put("one")
	linked.Links = []archive.Link{{Path: "/p", Target: "program"}}
	if other := build(linked); other.Ref == first.Ref {
		t.Error("other links have the same name")
	}
}

func TestAppletsAreUnique(t *testing.T) {
	sorted := slices.Clone(applets)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(applets) {
		t.Errorf("an applet is named twice: %v", applets)
	}
	if !slices.Contains(applets, "sh") || !slices.Contains(applets, "mkdir") || !slices.Contains(applets, "rm") {
		t.Error("an applet is missing that the volume provisioner's scripts use")
	}
}
