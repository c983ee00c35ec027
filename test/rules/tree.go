// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Finding is one breach of a rule.
type Finding struct {
	// Path of the file or folder, with slashes, from the root of the repository.
	Path string
	// Line in the file, from 1; 0 when the breach has no line.
	Line int
	// Message says what must be so.
	Message string
}

// String is the finding in the form that editors can follow.
func (f Finding) String() string {
	if f.Line == 0 {
		return f.Path + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Message)
}

// GoFile is one parsed Go file.
type GoFile struct {
	// Path of the file, with slashes, from the root of the repository.
	Path string
	// Source is its text.
	Source []byte

	set    *token.FileSet
	syntax *ast.File
}

// ParseGo parses a Go file with its comments.
func ParseGo(name string, source []byte) (GoFile, error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return GoFile{}, fmt.Errorf("parsing %s: %w", name, err)
	}
	return GoFile{Path: name, Source: source, set: set, syntax: syntax}, nil
}

// Test says whether the file is compiled only into tests.
func (f GoFile) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// Generated says whether the file says of itself that a tool wrote it.
func (f GoFile) Generated() bool { return ast.IsGenerated(f.syntax) }

// Under says whether the file is in a folder or below it.
func (f GoFile) Under(folder string) bool { return strings.HasPrefix(f.Path, folder+"/") }

func (f GoFile) finding(pos token.Pos, format string, args ...any) Finding {
	return Finding{Path: f.Path, Line: f.set.Position(pos).Line, Message: fmt.Sprintf(format, args...)}
}

// Tree is what the rules look at.
type Tree struct {
	// Go files, sorted by path.
	Go []GoFile
	// Text holds Markdown files and go.mod files by path.
	Text map[string]string
	// Paths holds every file and folder, so that links can be followed.
	Paths map[string]bool
}

// ReadTree reads a repository. Hidden folders other than .ci, build output and test data of tools are left out.
func ReadTree(root fs.FS) (Tree, error) {
	t := Tree{Text: map[string]string{}, Paths: map[string]bool{}}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skipped(name) {
			return fs.SkipDir
		}
		t.Paths[name] = true
		if !d.Type().IsRegular() {
			return nil
		}
		return t.read(root, name)
	})
	if err != nil {
		return Tree{}, fmt.Errorf("reading the tree: %w", err)
	}
	slices.SortFunc(t.Go, func(a, b GoFile) int { return strings.Compare(a.Path, b.Path) })
	return t, nil
}

func skipped(folder string) bool {
	base := path.Base(folder)
	if folder == "." || base == ".ci" {
		return false
	}
	return strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" || folder == "out"
}

func (t *Tree) read(root fs.FS, name string) error {
	isGo := strings.HasSuffix(name, ".go")
	if !isGo && !strings.HasSuffix(name, ".md") && path.Base(name) != "go.mod" {
		return nil
	}
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	if !isGo {
		t.Text[name] = string(data)
		return nil
	}
	file, err := ParseGo(name, data)
	if err != nil {
		return err
	}
	t.Go = append(t.Go, file)
	return nil
}
