// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// TestModules checks that the list is sorted, has nothing twice, and is the folders of runtime/plugins by their names.
func TestModules(t *testing.T) {
	var names, short []string
	for _, m := range Modules() {
		names = append(names, m.Name)
		short = append(short, catalog.ShortName(m.Name))
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("not sorted or not unique: %v", names)
	}
	entries, err := os.ReadDir("../plugins")
	must(t, err)
	var folders []string
	for _, e := range entries {
		sources, err := filepath.Glob(filepath.Join("../plugins", e.Name(), "plugin.go"))
		must(t, err)
		if len(sources) > 0 {
			folders = append(folders, e.Name())
		}
	}
	if d := cmp.Diff(folders, short); d != "" {
		t.Errorf("folders and modules differ (-folders +modules):\n%s", d)
	}
	for _, m := range Modules() {
		if m.Summary == "" || m.DisplayName == "" || m.Stability == "" || strings.Contains(m.Summary, "\n") {
			t.Errorf("%s: display name, summary (one line) and stability must be given", m.Name)
		}
	}
}

// TestCatalogIsFresh checks that the embedded catalog is the one of these modules. If not: go generate ./cmd/aalis
func TestCatalogIsFresh(t *testing.T) {
	made, err := Catalog(Modules())
	must(t, err)
	embedded, err := catalog.Default()
	must(t, err)
	want, err := made.Encode()
	must(t, err)
	got, err := embedded.Encode()
	must(t, err)
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("runtime/catalog/catalog.json is stale, run go generate ./cmd/aalis (-modules +embedded):\n%s", d)
	}
	hash, err := CatalogHash(Modules())
	if err != nil || len(hash) != 20 {
		t.Errorf("got %q, %v", hash, err)
	}
	if _, err := CatalogHash([]kernel.Module{{Name: "A B"}}); err == nil {
		t.Error("a module without a proper name is in a catalog")
	}
}

func TestParseLevel(t *testing.T) {
	for name, want := range map[string]string{"debug": "DEBUG", "warn": "WARN", "error": "ERROR", "info": "INFO", "": "INFO"} {
		if got := ParseLevel(name).String(); got != want {
			t.Errorf("%q: got %s", name, got)
		}
	}
	f, err := os.Open(os.DevNull)
	must(t, err)
	defer func() { _ = f.Close() }()
	if IsTerminal(f) {
		t.Error("the null device passes for a terminal")
	}
}
