// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"go/ast"
	"go/token"
)

// Documented finds exported declarations and methods without a comment. The comment of a group counts for all that is
// in it.
func Documented(files []GoFile) []Finding {
	var out []Finding
	for _, f := range files {
		if f.Test() || f.Generated() {
			continue
		}
		for _, decl := range f.syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				out = append(out, undocumentedFunc(f, d)...)
			case *ast.GenDecl:
				out = append(out, undocumentedGroup(f, d)...)
			}
		}
	}
	return out
}

func undocumentedFunc(f GoFile, d *ast.FuncDecl) []Finding {
	if !d.Name.IsExported() || d.Doc.Text() != "" {
		return nil
	}
	if d.Recv != nil && !ast.IsExported(receiver(d.Recv.List[0].Type)) {
		return nil
	}
	return []Finding{f.finding(d.Pos(), "%s must have a comment", d.Name.Name)}
}

// receiver is the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	default:
		return ""
	}
}

func undocumentedGroup(f GoFile, d *ast.GenDecl) []Finding {
	if d.Tok == token.IMPORT || d.Doc.Text() != "" {
		return nil
	}
	var out []Finding
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc.Text() == "" && s.Comment.Text() == "" {
				out = append(out, f.finding(s.Pos(), "%s must have a comment", s.Name.Name))
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && s.Doc.Text() == "" && s.Comment.Text() == "" {
					out = append(out, f.finding(name.Pos(), "%s must have a comment", name.Name))
				}
			}
		}
	}
	return out
}
