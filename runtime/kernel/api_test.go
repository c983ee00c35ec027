// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/api.txt anew")

// TestExportedSurface is 8.3.19: what plugins and hosts can use of the kernel is what testdata/api.txt says. A change of it is
// a decision, made by running the test with -update.
func TestExportedSurface(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must(t, err)
	var lines []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		must(t, err)
		ast.FileExports(file)
		for _, d := range file.Decls {
			lines = append(lines, surface(t, fset, d)...)
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	golden := filepath.Join("testdata", "api.txt")
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("8.3.19 the exported surface changed (-want +got); if that is meant, run the test with -update:\n%s", diff)
	}
}

// hidden matches methods of types that are not exported.
var hidden = regexp.MustCompile(`^func \(\w* ?\*?[a-z]`)

// surface gives the exported part of a declaration as lines.
func surface(t *testing.T, fset *token.FileSet, d ast.Decl) (lines []string) {
	t.Helper()
	show := func(prefix string, node any) string {
		var b bytes.Buffer
		must(t, printer.Fprint(&b, fset, node))
		return prefix + strings.Join(strings.Fields(b.String()), " ")
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		d.Body = nil
		if line := show("", d); !hidden.MatchString(line) {
			lines = append(lines, line)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				lines = append(lines, show("type ", s))
			case *ast.ValueSpec:
				s.Values = nil
				lines = append(lines, show(d.Tok.String()+" ", s))
			}
		}
	}
	return lines
}
