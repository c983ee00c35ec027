// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPurity is 8.3.19: the kernel does no I/O, reads no clock and no environment, and one place writes a plugin's state.
func TestPurity(t *testing.T) {
	allowed := []string{
		"bytes", "cmp", "context", "encoding/json", "errors", "fmt", "log/slog", "maps", "reflect", "runtime/debug", "slices",
		"sort", "strconv", "strings", "sync", "sync/atomic", "time",
		"github.com/aalis-dev/aalis-operator/runtime/recompute", "github.com/aalis-dev/aalis-operator/runtime/schema",
	}
	files, err := os.ReadDir(".")
	must(t, err)
	writers := map[string]bool{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		must(t, err)
		for _, i := range file.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); !slices.Contains(allowed, path) {
				t.Errorf("8.3.19 %s imports %s", f.Name(), path)
			}
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" && (n.Sel.Name == "Now" || n.Sel.Name == "Sleep") {
						t.Errorf("8.3.19 %s: %s uses time.%s", f.Name(), fn.Name.Name, n.Sel.Name)
					}
				case *ast.AssignStmt:
					for _, l := range n.Lhs {
						if s, ok := l.(*ast.SelectorExpr); ok && s.Sel.Name == "state" {
							writers[fn.Name.Name] = true
						}
					}
				}
				return true
			})
		}
	}
	if len(writers) != 1 || !writers["setLocked"] {
		t.Errorf("8.3.19 a plugin's state is written in %v, want setLocked only", writers)
	}
}
