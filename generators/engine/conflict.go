package engine

import (
	"context"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/typecheck"
)

// A declaredName is a name that a new file declares although a file of its package already does.
type declaredName struct {
	name string
	file *typecheck.File
}

// conflictRemedy returns the alternative to another name: to rename the existing declarations if these are the
// only conflicts and no component, and otherwise to destroy the component.
func (e *Engine) conflictRemedy(ctx context.Context, p *plan) string {
	const destroy = "remove the existing component first with petrock destroy (over MCP: destroy_component)"
	if len(p.declared) < len(slices.Compact(slices.Clone(p.conflicts))) {
		return destroy
	}
	packages, err := e.deriver.Packages(ctx, e.before, e.existingPlaces())
	if err != nil {
		return destroy
	}
	var renames []string
	for _, d := range p.declared {
		for _, pkg := range packages {
			isComponent := func(c derive.Component) bool { return c.File == d.file.Path && c.Kind != derive.Feature }
			if slices.ContainsFunc(pkg.Components, isComponent) {
				return destroy
			}
		}
		renames = append(renames, fmt.Sprintf("the %s %s in %s", declarationKind(d.file.Syntax, d.name), d.name, d.file.Path))
	}
	return "rename " + strings.Join(renames, " and ")
}

// declarationKind returns func, type, const or var.
func declarationKind(file *ast.File, name string) string {
	for _, decl := range file.Decls {
		if group, ok := decl.(*ast.GenDecl); ok && slices.Contains(typecheck.DeclaredNames(&ast.File{Decls: []ast.Decl{group}}), name) {
			return group.Tok.String()
		}
	}
	return "func"
}
