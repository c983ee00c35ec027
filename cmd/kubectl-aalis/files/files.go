// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package files reads declared objects from files for the commands of kubectl aalis that work on them. Values of Secrets
// that stand in the files go no further than this package.
package files

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/runtime/host/manifest"
)

// Source says what to read.
type Source struct {
	// Paths are files and directories; "-" is In.
	Paths []string
	// Recursive goes into directories below those that are named.
	Recursive bool
	// Namespace of the objects that name none; empty is "default".
	Namespace string
	// In is the standard input; it can be read once.
	In io.Reader
}

// Set is what was read.
type Set struct {
	cluster.Objects
	// Notes tell of documents that were left out.
	Notes []string

	read manifest.Set
}

// Place says where a field of an object stands, as "bot.yaml: document 2, line 14"; empty if it stands in no file.
func (s Set) Place(object, path string) string {
	place, ok := s.read.Locate(object, path)
	if !ok {
		return ""
	}
	return place.String()
}

// Namespaces lists the namespaces of all objects, sorted.
func (s Set) Namespaces() []string {
	var out []string
	for _, m := range metas(&s.Objects) {
		out = append(out, m.GetNamespace())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Load reads the objects and fills in the namespace of those that name none.
func Load(src Source) (Set, error) {
	paths := src.Paths
	if src.Recursive {
		var err error
		if paths, err = expand(paths); err != nil {
			return Set{}, err
		}
	}
	read, err := manifest.LoadFrom(src.In, paths)
	if err != nil {
		return Set{}, err
	}
	s := Set{Notes: read.Notes, read: read, Objects: cluster.Objects{
		Instances: read.Instances, Plugins: read.Plugins, Personas: read.Personas,
		ServicePreferences: read.ServicePreferences, AuthorityPolicies: read.AuthorityPolicies, TenantPolicies: read.TenantPolicies,
	}}
	for _, m := range metas(&s.Objects) {
		m.SetNamespace(cmp.Or(m.GetNamespace(), src.Namespace, metav1.NamespaceDefault))
	}
	return s, nil
}

// metas gives access to the metadata of each object.
func metas(o *cluster.Objects) []metav1.Object {
	var out []metav1.Object
	for i := range o.Instances {
		out = append(out, &o.Instances[i])
	}
	for i := range o.Plugins {
		out = append(out, &o.Plugins[i])
	}
	for i := range o.Personas {
		out = append(out, &o.Personas[i])
	}
	for i := range o.ServicePreferences {
		out = append(out, &o.ServicePreferences[i])
	}
	for i := range o.AuthorityPolicies {
		out = append(out, &o.AuthorityPolicies[i])
	}
	for i := range o.TenantPolicies {
		out = append(out, &o.TenantPolicies[i])
	}
	return out
}

// expand replaces directories by the files to read in them and below them. What is hidden is left out.
func expand(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if p == manifest.Stdin || err != nil || !info.IsDir() {
			out = append(out, p)
			continue
		}
		before := len(out)
		err = filepath.WalkDir(p, func(path string, e fs.DirEntry, err error) error {
			hidden := path != p && strings.HasPrefix(e.Name(), ".")
			switch {
			case err != nil:
				return err
			case e.IsDir() && hidden:
				return filepath.SkipDir
			case e.IsDir() || hidden || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)):
				return nil
			}
			out = append(out, path)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", p, err)
		}
		if len(out) == before {
			return nil, fmt.Errorf("%s: no .yaml, .yml or .json file is there or below", p)
		}
	}
	return out, nil
}
