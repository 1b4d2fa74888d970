package derive

import (
	"go/ast"

	"github.com/petrock/petrock/generators/typecheck"
)

// components finds the components of each file.
func (f *finder) components(files []*typecheck.File) {
	for _, file := range files {
		if file.Syntax.Name.Name != f.pkg.Name() {
			continue // a program in the same folder, which a build constraint excludes
		}
		components, problems := len(f.found.Components), len(f.found.Problems)
		for _, decl := range file.Syntax.Decls {
			f.declares(file, decl)
		}
		if len(f.found.Problems) == problems {
			f.lostScopes(file, f.found.Components[components:])
		}
	}
	if f.place.Kind == Feature {
		f.feature()
	}
}

// declares finds the components that a declaration makes.
func (f *finder) declares(file *typecheck.File, decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if f.place.Kind != Feature {
			f.function(file, decl)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok && f.place.Kind == Feature {
				f.part(file, spec)
			}
		}
	}
}
