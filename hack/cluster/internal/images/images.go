// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images makes the images that the development cluster itself runs
// (the sandbox, DNS, the volume provisioner and its helper) and imports image
// tarballs into a node's containerd. It is called by hack/cluster only, and
// never pulls an image.
package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/render"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/tools"
	"github.com/aalis-dev/aalis-operator/hack/image/archive"
)

// Image is one image that is ready to be imported.
type Image struct {
	// Ref is its name and tag; the tag has a hash of the content, so that the
	// same name never means something else.
	Ref string
	// File is the tarball.
	File string
}

// Set holds the cluster's images.
type Set struct {
	Names render.Images
	All   []Image
}

// busybox is where Debian puts the static busybox.
const busybox = "/bin/busybox"

// applets are the commands of the helper image. Enough for the provisioner's
// scripts, and for looking around from inside a pod. There is no wget: the one
// of Debian's static busybox crashes.
var applets = []string{
	"sh", "cat", "chmod", "chown", "cp", "df", "du", "echo", "env", "false", "find", "grep", "head",
	"hostname", "id", "ip", "ls", "mkdir", "mv", "nc", "nslookup", "ping", "printenv", "ps", "pwd", "rm",
	"sed", "sleep", "sort", "stat", "sync", "tail", "tee", "test", "touch", "tr", "true", "wc", "whoami",
}

// Build makes the tarballs that are not in the cache yet.
func Build(ctx context.Context, l layout.Layout, paths tools.Paths) (Set, error) {
	pause, err := buildPause(ctx, l)
	if err != nil {
		return Set{}, err
	}
	var set Set
	for _, item := range []struct {
		ref  *string
		name string
		spec archive.Spec
	}{
		{&set.Names.Pause, "pause", archive.Spec{
			Files:      []archive.File{{Source: pause, Target: "/pause"}},
			Entrypoint: []string{"/pause"},
		}},
		{&set.Names.CoreDNS, "coredns", archive.Spec{
			Files:      []archive.File{{Source: paths["coredns"], Target: "/coredns"}},
			Entrypoint: []string{"/coredns"},
		}},
		{&set.Names.LocalPath, "local-path-provisioner", archive.Spec{
			Files:      []archive.File{{Source: paths["local-path-provisioner"], Target: "/local-path-provisioner"}},
			Entrypoint: []string{"/local-path-provisioner"},
		}},
		{&set.Names.Busybox, "busybox", archive.Spec{
			Files:      []archive.File{{Source: busybox, Target: "/bin/busybox"}},
			Links:      appletLinks(),
			Entrypoint: []string{"/bin/sh"},
		}},
	} {
		image, err := write(filepath.Join(l.Cache, "images"), item.name, item.spec)
		if err != nil {
			return Set{}, fmt.Errorf("making the image %s: %w", item.name, err)
		}
		*item.ref = image.Ref
		set.All = append(set.All, image)
	}
	return set, nil
}

func appletLinks() []archive.Link {
	links := make([]archive.Link, 0, len(applets))
	for _, name := range applets {
		links = append(links, archive.Link{Path: "/bin/" + name, Target: "busybox"})
	}
	return links
}

// write makes one tarball unless the cache has one of the same content.
func write(dir, name string, spec archive.Spec) (Image, error) {
	hash, err := contentHash(spec)
	if err != nil {
		return Image{}, err
	}
	image := Image{
		Ref:  "aalis.local/" + name + ":" + hash,
		File: filepath.Join(dir, name+"-"+hash+".tar"),
	}
	if _, err := os.Stat(image.File); err == nil {
		return image, nil
	}
	spec.Tag = image.Ref
	spec.Architecture = runtime.GOARCH
	return image, archive.WriteFile(image.File, spec)
}

// contentHash covers the files and everything else that a spec says.
func contentHash(spec archive.Spec) (string, error) {
	h := sha256.New()
	for _, f := range spec.Files {
		in, err := os.Open(f.Source)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "file %s %o\n", f.Target, f.Mode) // a hash never fails
		_, err = io.Copy(h, in)
		_ = in.Close()
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", f.Source, err)
		}
	}
	_, _ = fmt.Fprintf(h, "%q %q %s", spec.Links, spec.Entrypoint, runtime.GOARCH)
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// buildPause compiles the sandbox's program into the cache.
func buildPause(ctx context.Context, l layout.Layout) (string, error) {
	source, err := os.ReadFile(filepath.Join(l.Repo, "hack", "cluster", "pause", "main.go"))
	if err != nil {
		return "", fmt.Errorf("reading the sandbox's program: %w", err)
	}
	sum := sha256.Sum256(source)
	file := filepath.Join(l.Bin(), "pause-"+hex.EncodeToString(sum[:])[:12])
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	tmp := fmt.Sprintf("%s.tmp-%d", file, os.Getpid())
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", tmp, "./hack/cluster/pause")
	cmd.Dir = l.Repo
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the sandbox's program: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(tmp, file); err != nil {
		return "", fmt.Errorf("putting the sandbox's program in place: %w", err)
	}
	return file, nil
}

// Ctr talks to a node's containerd.
type Ctr struct {
	// Socket is containerd's socket.
	Socket string
}

// namespace is where the kubelet looks for images.
const namespace = "k8s.io"

func (c Ctr) run(ctx context.Context, args ...string) (string, error) {
	argv := append([]string{"--address", c.Socket, "--namespace", namespace}, args...)
	out, err := exec.CommandContext(ctx, "ctr", argv...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("ctr %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// Ready returns nil when containerd answers.
func (c Ctr) Ready(ctx context.Context) error {
	_, err := c.run(ctx, "version")
	return err
}

// Import imports a tarball.
func (c Ctr) Import(ctx context.Context, file string) error {
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("image tarball: %w", err)
	}
	_, err := c.run(ctx, "images", "import", file)
	return err
}

// Tag gives an image another name, which may have meant another image before.
func (c Ctr) Tag(ctx context.Context, ref, alias string) error {
	_, err := c.run(ctx, "images", "tag", "--force", ref, alias)
	return err
}

// ImportMissing imports those of the images that the node does not have.
func (c Ctr) ImportMissing(ctx context.Context, all []Image) error {
	list, err := c.run(ctx, "images", "list", "--quiet")
	if err != nil {
		return err
	}
	have := strings.Fields(list)
	for _, image := range all {
		if slices.Contains(have, image.Ref) {
			continue
		}
		if err := c.Import(ctx, image.File); err != nil {
			return err
		}
	}
	return nil
}
