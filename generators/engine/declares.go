package engine

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// declares is what the file declares that holds a body that was sent, without the body: the names that
// whoever wrote it has to go by. It is empty if what was found is not about that file.
func (p *plan) declares(found []typecheck.Diagnostic) string {
	if p.bodyFile == "" || !slices.ContainsFunc(found, func(d typecheck.Diagnostic) bool { return d.File == p.bodyFile }) {
		return ""
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, p.bodyFile, p.texts[p.bodyFile], parser.SkipObjectResolution)
	if err != nil {
		return ""
	}
	var parts []string
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			decl.Body = nil
		case *ast.GenDecl:
			if decl.Tok == token.IMPORT {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if field, ok := n.(*ast.Field); ok {
					field.Tag = nil
				}
				return true
			})
		}
		var out bytes.Buffer
		if printer.Fprint(&out, fset, decl) == nil {
			parts = append(parts, out.String())
		}
	}
	return strings.Join(parts, "\n")
}
