// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads the YAML in which bots are declared from files: many documents in one or more files, the kinds
// of aalis.dev/v1alpha1 and core Secrets. The command-line tools use it; what it reads means the same as in a cluster.
//
// It is strict where the API server is lenient by default: an unknown or repeated field is an error, and every error names
// the file, the document and the line. It checks form only; package compose checks what the objects say. It never writes
// a file and never puts a Secret's value into an error.
package manifest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
)

// The bounds of what is read.
const (
	maxFileBytes = 16 << 20
	maxDocuments = 10000
	maxErrors    = 20
)

// Set is what was read.
type Set struct {
	Instances          []aalisv1alpha1.AgentInstance
	Plugins            []aalisv1alpha1.Plugin
	Personas           []aalisv1alpha1.Persona
	ServicePreferences []aalisv1alpha1.ServicePreference
	AuthorityPolicies  []aalisv1alpha1.AuthorityPolicy
	TenantPolicies     []aalisv1alpha1.TenantPolicy
	// Secrets are the values of the Secret documents, by namespace.
	Secrets map[string]secrets.Map
	// Notes tell of documents that were left out, in words for people.
	Notes []string

	docs map[string]document // by kind and name
}

// Locate finds where a field of an object stands, or the nearest thing around it. Object is a kind and a name, as
// "Plugin main"; path is as spec.config.temperature, with [index] or [name] for items of lists.
func (s Set) Locate(object, path string) (Place, bool) {
	d, ok := s.docs[object]
	if !ok {
		return Place{}, false
	}
	return d.at(path), true
}

// Stdin is the path that stands for the standard input, where LoadFrom is given one.
const Stdin = "-"

// Load reads files and, in directories, the files that end in .yaml, .yml or .json, in the order of their names. Its
// error joins everything that is wrong, each with its place.
func Load(paths []string) (Set, error) { return LoadFrom(nil, paths) }

// LoadFrom is Load with a text to read where a path is Stdin; nil makes that an ordinary path.
func LoadFrom(stdin io.Reader, paths []string) (Set, error) {
	files, err := list(paths, stdin != nil)
	if err != nil {
		return Set{}, err
	}
	r := reader{seen: map[string]Place{}, set: Set{Secrets: map[string]secrets.Map{}, docs: map[string]document{}}}
	for _, file := range files {
		data, err := read(file, stdin)
		if err != nil {
			r.errs = append(r.errs, err)
			continue
		}
		r.file(file, data)
	}
	return r.set, joined(r.errs)
}

// Dirs lists the directories to watch for changes of what Load reads.
func Dirs(paths []string) []string {
	var dirs []string
	for _, p := range paths {
		dir := filepath.Dir(p)
		if info, err := os.Stat(p); err == nil && info.IsDir() {
			dir = filepath.Clean(p)
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func joined(errs []error) error {
	if len(errs) > maxErrors {
		more := len(errs) - maxErrors
		errs = append(slices.Clone(errs[:maxErrors]), fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

func list(paths []string, stdin bool) ([]string, error) {
	var files []string
	for _, p := range paths {
		if stdin && p == Stdin {
			files = append(files, p)
			continue
		}
		info, err := os.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, reason(err))
		}
		if !info.IsDir() {
			files = append(files, p)
			continue
		}
		found, err := listDir(p)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// listDir does not go into subdirectories, as kubectl apply -f does not.
func listDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, reason(err))
	}
	var files []string
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name(), ".")
		if !e.IsDir() && !hidden && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: the directory holds no .yaml, .yml or .json file", dir)
	}
	return files, nil
}

func read(path string, stdin io.Reader) ([]byte, error) {
	if stdin != nil && path == Stdin {
		return readAll(path, stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, reason(err))
	}
	defer func() { _ = f.Close() }()
	return readAll(path, f)
}

func readAll(path string, f io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, reason(err))
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s: may not be longer than %d bytes", path, maxFileBytes)
	}
	return data, nil
}

// reason leaves out the path, which stands in front already.
func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
