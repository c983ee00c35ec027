// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scaffold makes the files of a new plugin from templates.
//
// Command newplugin calls it. It writes one new folder and never touches what is there.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl
var templates embed.FS

// maxName bounds a short name, in characters: it becomes part of names in Kubernetes.
const maxName = 40

var shortName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// reserved are names that mean something to the go command or hide what every plugin imports.
var reserved = []string{"main", "internal", "vendor", "testdata", "runtime", "kernel", "message", "context", "atomic", "kerneltest", "testing", "doc"}

// Plugin is a plugin to be written.
type Plugin struct {
	// Name is the short name and the folder's.
	Name string
	// Package is the Go package's name: the short name without hyphens.
	Package string
	// Module is the module's full name.
	Module string
	// DisplayName is the short name in words.
	DisplayName string
}

// New checks a short name.
func New(name string) (Plugin, error) {
	if short, full := strings.CutPrefix(name, "@aalis/plugin-"); full {
		return Plugin{}, fmt.Errorf("the name must be the short one: %q, got %q", short, name)
	}
	if !shortName.MatchString(name) {
		return Plugin{}, fmt.Errorf("the name must be lower-case letters and digits in words with hyphens between them, and begin with a letter, "+
			"as message-archive; got %q", name)
	}
	if len(name) > maxName {
		return Plugin{}, fmt.Errorf("the name may not be longer than %d characters, got %d", maxName, len(name))
	}
	p := Plugin{Name: name, Package: strings.ReplaceAll(name, "-", ""), Module: "@aalis/plugin-" + name}
	if token.IsKeyword(p.Package) || slices.Contains(reserved, p.Package) {
		return Plugin{}, fmt.Errorf("the name may not be %q: the Go package %s would be reserved or hide another", name, p.Package)
	}
	words := strings.ReplaceAll(name, "-", " ")
	p.DisplayName = strings.ToUpper(words[:1]) + words[1:]
	return p, nil
}

// Files returns the contents by file name.
func (p Plugin) Files() (map[string][]byte, error) {
	all, err := template.ParseFS(templates, "templates/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("parsing templates: %w", err)
	}
	out := map[string][]byte{}
	for _, t := range all.Templates() {
		var b bytes.Buffer
		if err := t.Execute(&b, p); err != nil {
			return nil, fmt.Errorf("filling %s in: %w", t.Name(), err)
		}
		source, err := format.Source(b.Bytes())
		if err != nil {
			return nil, fmt.Errorf("formatting %s: %w", t.Name(), err)
		}
		name := strings.TrimSuffix(t.Name(), ".tmpl")
		if name == "test.go" {
			name = p.Package + "_test.go"
		}
		out[name] = source
	}
	return out, nil
}

// Write writes the plugin's folder below a directory. A folder of that name must not be there.
func (p Plugin) Write(plugins string) error {
	files, err := p.Files()
	if err != nil {
		return err
	}
	dir := filepath.Join(plugins, p.Name)
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("there is a plugin %s already: %s exists", p.Name, dir)
	} else if err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

// ImportLine and ListLine are what runtime/host/plugins.go needs.
func (p Plugin) ImportLine() string {
	line := fmt.Sprintf("%q", path.Join("github.com/aalis-dev/aalis-operator/runtime/plugins", p.Name))
	if p.Package != p.Name {
		line = p.Package + " " + line
	}
	return line
}

// ListLine is the plugin's line in the list of modules.
func (p Plugin) ListLine() string { return p.Package + ".Plugin," }

// Next says what else there is to do.
func (p Plugin) Next() string {
	return fmt.Sprintf(`Wrote runtime/plugins/%[1]s. It builds and passes the conformance run:

  go test ./runtime/plugins/%[1]s

Next:
1. Add it to runtime/host/plugins.go, in its place by name: the import

     %[2]s

   and in Modules the line

     %[3]s

2. Fill apply in, and say in the package comment what the plugin does, who calls it and what it never does.
3. make generate, which puts it into the catalog and the reference.
`, p.Name, p.ImportLine(), p.ListLine())
}
