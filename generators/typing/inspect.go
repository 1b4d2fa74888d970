package typing

import (
	"go/ast"
	"go/types"

	"github.com/petrock/petrock/generators/source"
)

// An Inspected is a package that was looked into whole, with what each name in it means.
type Inspected struct {
	Files []*source.File
	Info  *types.Info // types, uses and selections; what does not compile is missing
}

// Inspect looks into the functions of the package in a folder, without its tests. It is nil if there is none.
func (p *Pass) Inspect(dir string) *Inspected {
	pkg := p.pkg(dir)
	if pkg == nil || len(pkg.Files) == 0 {
		return nil
	}
	path := p.checker.ImportPath(dir)
	p.loading = append(p.loading, path)
	defer func() { p.loading = p.loading[:len(p.loading)-1] }()
	made := &Inspected{Files: pkg.Files, Info: &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	var syntax []*ast.File
	for _, file := range pkg.Files {
		syntax = append(syntax, file.Syntax)
	}
	var errs []error
	p.config(&imports{pass: p}, &errs).Check(path, p.checker.fset, syntax, made.Info) // what is wrong is others' to say
	return made
}

// Dir is the folder of a package of the project, by its import path.
func (p *Pass) Dir(path string) (string, bool) { return p.inside(path) }
