// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden composes each testdata/golden/*.yaml and compares config, problems and references with the file beside it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			input, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in := load(t, string(input))
			in.Catalog = withBackends(t, in.Catalog)
			got := render(t, Compose(in))
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("run with -update if this is meant (-want +got):\n%s", d)
			}
		})
	}
}

// withBackends adds the memory backends that spec.storage may ask for, as they are shipped.
func withBackends(t *testing.T, c catalog.Catalog) catalog.Catalog {
	t.Helper()
	shipped, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	modules := slices.Clone(c.Modules)
	for _, name := range []string{"memory-sqlite", "memory-redis"} {
		m, err := shipped.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, m)
	}
	out, err := catalog.New(modules)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func render(t *testing.T, r Result) string {
	t.Helper()
	encoded, err := r.Config.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if r.Deployable() {
		if err := json.Indent(&b, encoded, "", "  "); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n\nrevision %s\n", r.Delivery.Revision)
	} else {
		fmt.Fprintln(&b, "not deployable")
	}
	for _, s := range r.Secrets {
		fmt.Fprintf(&b, "secret %s/%s\n", s.Name, s.Key)
	}
	for _, ref := range r.References {
		fmt.Fprintf(&b, "uses %s %s at %d\n", ref.Kind, ref.Name, ref.Generation)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%s %s: %s\n", p.Severity, p.Reason, p)
	}
	return b.String()
}
