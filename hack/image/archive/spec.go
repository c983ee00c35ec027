// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// NonRootID is the user and group that images run as unless told otherwise.
const NonRootID = 65532

// DefaultCABundle is where Debian keeps the CA certificates that go into an image.
const DefaultCABundle = "/etc/ssl/certs/ca-certificates.crt"

// File is one regular file of an image.
type File struct {
	// Source is the file's path on this machine. It must exist.
	Source string
	// Target is the absolute, clean path inside the image.
	Target string
	// Mode holds the permission bits inside the image; 0 means 0755.
	Mode fs.FileMode
}

// Link is a symbolic link of an image.
type Link struct {
	// Path is the absolute path of the link inside the image.
	Path string
	// Target is what the link points to; it is not checked.
	Target string
}

// Spec says what an image consists of.
type Spec struct {
	// Tag is the image's name and tag, for example "aalis.local/operator:dev".
	Tag string
	// Files are the regular files; at least one.
	Files []File
	// Links are symbolic links, made after the files.
	Links []Link
	// Entrypoint is the command that the image runs; required.
	Entrypoint []string
	// Cmd holds the default arguments of the entrypoint.
	Cmd []string
	// Env holds KEY=VALUE pairs; PATH is set by Write.
	Env []string
	// Labels are OCI labels of the image's configuration.
	Labels map[string]string
	// User is the numeric user of the image's processes; empty means 65532:65532.
	User string
	// Architecture is a Go architecture name such as amd64; required.
	Architecture string
	// CABundle is the file with CA certificates that is put at DefaultCABundle
	// inside the image; empty, or a file that does not exist, leaves it out.
	CABundle string
}

// validate says what is wrong with a Spec, naming every field at fault.
func (s Spec) validate() error {
	var errs []error
	if !strings.Contains(s.Tag, ":") {
		errs = append(errs, fmt.Errorf("tag %q has no tag after a colon; want NAME:TAG", s.Tag))
	}
	if s.Architecture == "" {
		errs = append(errs, errors.New("architecture is empty; want a name such as amd64"))
	}
	if len(s.Entrypoint) == 0 || s.Entrypoint[0] == "" {
		errs = append(errs, errors.New("entrypoint is empty; want a path inside the image"))
	}
	if len(s.Files) == 0 {
		errs = append(errs, errors.New("no file is named; want at least one SOURCE=/TARGET"))
	}
	seen := map[string]bool{}
	for _, f := range s.Files {
		errs = append(errs, checkTarget(f.Target, seen))
		info, err := os.Stat(f.Source)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("source of %s: %w", f.Target, err))
		case !info.Mode().IsRegular():
			errs = append(errs, fmt.Errorf("source %s of %s is not a regular file", f.Source, f.Target))
		}
	}
	for _, l := range s.Links {
		errs = append(errs, checkTarget(l.Path, seen))
		if l.Target == "" {
			errs = append(errs, fmt.Errorf("link %s points to nothing", l.Path))
		}
	}
	for _, kv := range s.Env {
		if key, _, ok := strings.Cut(kv, "="); !ok || key == "" {
			errs = append(errs, fmt.Errorf("environment entry %q is not KEY=VALUE", kv))
		}
	}
	return errors.Join(errs...)
}

func checkTarget(target string, seen map[string]bool) error {
	switch {
	case !path.IsAbs(target) || path.Clean(target) != target || target == "/":
		return fmt.Errorf("target %q is not an absolute, clean path of a file", target)
	case slices.Contains([]string{"/etc/passwd", "/etc/group", DefaultCABundle}, target):
		return fmt.Errorf("target %s is written by the image builder itself", target)
	case seen[target]:
		return fmt.Errorf("target %s is named twice", target)
	}
	seen[target] = true
	return nil
}
