package derive

import (
	"go/ast"
	"slices"

	"github.com/petrock/petrock/generators/typecheck"
)

// A keptPackage is what was found in a package, file by file. It holds for a package that has the same
// files, and maybe others that only add to it, and that imports the same.
type keptPackage struct {
	files []*typecheck.File
	deps  string
	found map[*typecheck.File]keptFile
}

// A keptFile is what was found in a file.
type keptFile struct {
	components []Component
	warnings   []typecheck.Diagnostic
	maker      maker
	completers []completer
	olders     []older
}

// known is what was found in the package before, if it still holds for these files.
func (f *finder) known(pass *typecheck.Pass, files []*typecheck.File) *keptPackage {
	if f.Kept == nil {
		return nil
	}
	kept := f.Kept.packages[f.place.Dir]
	if kept == nil {
		return nil
	}
	left := len(kept.files)
	for _, file := range files {
		if _, ok := kept.found[file]; ok {
			left--
		} else if !typecheck.AddsOnly(file) {
			return nil
		}
	}
	if left > 0 || kept.deps != pass.Deps(f.place.Dir, kept.files) {
		return nil
	}
	return kept
}

// declares finds what a declaration has of components.
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

// components finds those of each file, or knows them already.
func (f *finder) components(pass *typecheck.Pass, files []*typecheck.File) {
	known := f.known(pass, files)
	now := &keptPackage{files: files, found: make(map[*typecheck.File]keptFile, len(files))}
	for _, file := range files {
		if known != nil {
			if kept, ok := known.found[file]; ok {
				f.found.Components = append(f.found.Components, kept.components...)
				f.found.Warnings = append(f.found.Warnings, kept.warnings...)
				if kept.maker.known {
					f.found.maker = kept.maker
				}
				f.found.completers = append(f.found.completers, kept.completers...)
				f.found.olders = append(f.found.olders, kept.olders...)
				now.found[file] = kept
				continue
			}
		}
		components, warnings, problems := len(f.found.Components), len(f.found.Warnings), len(f.found.Problems)
		maker, completers, olders := f.found.maker, len(f.found.completers), len(f.found.olders)
		f.found.maker.known = false
		if file.Syntax.Name.Name == f.pkg.Name() { // or else it is a program beside it, with a constraint that keeps it out
			for _, decl := range file.Syntax.Decls {
				f.declares(file, decl)
			}
			if len(f.found.Problems) == problems {
				f.lostScopes(file, f.found.Components[components:])
			}
		}
		now.found[file] = keptFile{slices.Clone(f.found.Components[components:]), slices.Clone(f.found.Warnings[warnings:]), f.found.maker, slices.Clone(f.found.completers[completers:]), slices.Clone(f.found.olders[olders:])}
		if !f.found.maker.known {
			f.found.maker = maker
		}
	}
	if f.place.Kind == Feature {
		f.feature()
	}
	if f.Kept == nil {
		return
	}
	delete(f.Kept.packages, f.place.Dir)
	if len(f.found.Problems) == 0 && !f.passing {
		now.deps = pass.Deps(f.place.Dir, files)
		f.Kept.packages[f.place.Dir] = now
	}
}
