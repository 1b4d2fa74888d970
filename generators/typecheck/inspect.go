package typecheck

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
)

// An InspectedPackage is a package with full type information.
type InspectedPackage struct {
	Files []*File
	Info  *types.Info // types, definitions, uses and selections; incomplete if the package does not compile
}

// Inspect type-checks the package in a folder, without its tests, with full type information. It
// returns nil if there is none.
func (p *Pass) Inspect(dir string) *InspectedPackage {
	pkg := p.pkg(dir)
	if pkg == nil || len(pkg.Files) == 0 {
		return nil
	}
	return p.inspect(p.checker.ImportPath(dir), pkg.Files, nil)
}

// InspectTests is Inspect for a package with its internal tests, and for its external tests.
func (p *Pass) InspectTests(dir string) []*InspectedPackage {
	pkg := p.pkg(dir)
	if pkg == nil {
		return nil
	}
	path := p.checker.ImportPath(dir)
	inside := slices.Concat(pkg.Files, pkg.Internal)
	var found []*InspectedPackage
	if len(inside) > 0 {
		found = append(found, p.inspect(path, inside, nil))
	}
	if len(pkg.External) > 0 {
		var v *variant
		if len(pkg.Internal) > 0 {
			v = &variant{path: path, pkg: p.check(path, inside, nil)}
		}
		found = append(found, p.inspect(path+"_test", pkg.External, v))
	}
	return found
}

// inspect type-checks files as one package.
func (p *Pass) inspect(path string, files []*File, v *variant) *InspectedPackage {
	p.loading = append(p.loading, path)
	defer func() { p.loading = p.loading[:len(p.loading)-1] }()
	made := &InspectedPackage{Files: files, Info: &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	var syntax []*ast.File
	for _, file := range files {
		syntax = append(syntax, file.Syntax)
	}
	var errs []error
	p.config(&imports{pass: p, variant: v}, &errs).Check(path, p.checker.fset, syntax, made.Info) // Verify reports type errors
	return made
}

// Importers returns a folder and those whose packages or tests import it, directly or not, sorted.
func (c *Checker) Importers(view *View, dir string) []string {
	return slices.Sorted(maps.Keys(c.targets(view, map[string]bool{dir + "/x.go": true})))
}

// Dir returns the folder of a package of the project, by its import path.
func (p *Pass) Dir(path string) (string, bool) { return p.inside(path) }
