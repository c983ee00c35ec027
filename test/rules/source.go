// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// The most lines that a hand-written file may have.
const (
	MaxLines     = 600
	MaxTestLines = 900
)

// licence is what every Go file begins with, after a build constraint if it has one.
const licence = "// Copyright The Aalis Operator Authors.\n// SPDX-License-Identifier: Apache-2.0\n"

// Licence finds Go files without the licence header.
func Licence(files []GoFile) []Finding {
	var out []Finding
	for _, f := range files {
		source := f.Source
		for bytes.HasPrefix(source, []byte("//go:build ")) || bytes.HasPrefix(source, []byte("\n")) {
			_, source, _ = bytes.Cut(source, []byte("\n"))
		}
		if !bytes.HasPrefix(source, []byte(licence)) {
			out = append(out, Finding{Path: f.Path, Line: 1, Message: "must begin with the licence header of hack/boilerplate.go.txt"})
		}
	}
	return out
}

// Length finds hand-written files that are too long.
func Length(files []GoFile) []Finding {
	var out []Finding
	for _, f := range files {
		most := MaxLines
		if f.Test() {
			most = MaxTestLines
		}
		if lines := f.set.File(f.syntax.FileStart).LineCount(); lines > most && !f.Generated() {
			out = append(out, f.finding(f.syntax.FileEnd, "must have at most %d lines, has %d", most, lines))
		}
	}
	return out
}

// PackageNames finds packages called runtime: the name hides the runtime packages of Go and of apimachinery.
func PackageNames(files []GoFile) []Finding {
	var out []Finding
	for _, f := range files {
		if strings.TrimSuffix(f.syntax.Name.Name, "_test") == "runtime" {
			out = append(out, f.finding(f.syntax.Name.Pos(), "a package may not be called runtime"))
		}
	}
	return out
}

// PackageComments finds packages of which no file says what they are: "Package x ..." or, for a program, "Command x ...".
func PackageComments(files []GoFile) []Finding {
	commented := map[string]bool{}
	for _, f := range files {
		if f.Test() {
			continue
		}
		folder := path.Dir(f.Path)
		want := "Package " + f.syntax.Name.Name + " "
		if f.syntax.Name.Name == "main" {
			want = "Command "
		}
		commented[folder] = commented[folder] || strings.HasPrefix(f.syntax.Doc.Text(), want)
	}
	var out []Finding
	for _, folder := range slices.Sorted(maps.Keys(commented)) {
		if !commented[folder] {
			out = append(out, Finding{Path: folder, Message: "the package must have a comment that begins with Package or Command and its name"})
		}
	}
	return out
}

// BareGo finds go statements in plugins. A plugin starts goroutines with Context.Go, so that the kernel recovers from
// their panics and waits for them. Tests may use go.
func BareGo(files []GoFile) []Finding {
	var out []Finding
	for _, f := range files {
		if !f.Under("runtime/plugins") || f.Test() {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if statement, ok := n.(*ast.GoStmt); ok {
				out = append(out, f.finding(statement.Pos(), "a plugin must start goroutines with Context.Go"))
			}
			return true
		})
	}
	return out
}

// PluginTests finds plugins without a test.
func PluginTests(files []GoFile) []Finding {
	tested := map[string]bool{}
	for _, f := range files {
		rest, ok := strings.CutPrefix(f.Path, "runtime/plugins/")
		if !ok || !strings.Contains(rest, "/") {
			continue
		}
		name, _, _ := strings.Cut(rest, "/")
		folder := "runtime/plugins/" + name
		tested[folder] = tested[folder] || f.Test()
	}
	var out []Finding
	for _, folder := range slices.Sorted(maps.Keys(tested)) {
		if !tested[folder] {
			out = append(out, Finding{Path: folder, Message: "a plugin must have a test"})
		}
	}
	return out
}

// Replace finds replace directives in a go.mod file: with one, the module cannot be used from elsewhere.
func Replace(name, text string) []Finding {
	var out []Finding
	number := 0
	for line := range strings.Lines(text) {
		number++
		if fields := strings.Fields(line); len(fields) > 0 && (fields[0] == "replace" || strings.HasPrefix(fields[0], "replace(")) {
			out = append(out, Finding{Path: name, Line: number, Message: "go.mod may not have a replace directive"})
		}
	}
	return out
}
