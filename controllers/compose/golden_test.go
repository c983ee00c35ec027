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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
			got := render(t, Compose(load(t, string(input))))
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
