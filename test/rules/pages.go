// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// Constants gives the values of the string constants of a file whose names begin with a prefix, by name.
func Constants(f GoFile, prefix string) map[string]string {
	out := map[string]string{}
	for _, decl := range f.syntax.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			values, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for i, name := range values.Names {
				if !strings.HasPrefix(name.Name, prefix) || i >= len(values.Values) {
					continue
				}
				if literal, ok := values.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if text, err := strconv.Unquote(literal.Value); err == nil {
						out[name.Name] = text
					}
				}
			}
		}
	}
	return out
}

// Uses says whether a file mentions a name of another package.
func Uses(f GoFile, name string) bool {
	found := false
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == name {
			found = true
		}
		return !found
	})
	return found
}

var help = regexp.MustCompile(`(?m)^# HELP ([a-z_]+) `)

// MetricNames lists the metrics of an exposition in Prometheus' text format.
func MetricNames(exposition string) []string {
	var out []string
	for _, match := range help.FindAllStringSubmatch(exposition, -1) {
		out = append(out, match[1])
	}
	return out
}
