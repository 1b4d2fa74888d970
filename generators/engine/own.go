package engine

import (
	"context"
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// Components of the project's own generators are files that match the generator's directive makes,
// so they are found in every clone, and also if they were written by hand.

// OwnGenerators returns the project's own generators, without Make, which is known only to the
// compiled program. The diagnostics are the errors of their package.
func (e *Engine) OwnGenerators(ctx context.Context) ([]gen.Generator, []typecheck.Diagnostic, error) {
	if err := e.read(ctx); err != nil {
		return nil, nil, err
	}
	own, err := e.ownGenerators(ctx)
	var all []gen.Generator
	for _, c := range own.Components {
		all = append(all, gen.Generator{Name: c.Name, Description: c.Description, InputSchema: c.Input})
	}
	return all, own.Problems, err
}

// ownGenerators returns the package of the project's own generators. It is empty if there are none.
func (e *Engine) ownGenerators(ctx context.Context) (*derive.Package, error) {
	place, _ := derive.PlaceOf(derive.Generator)
	if len(e.before.Files(place.Dir)) == 0 {
		return &derive.Package{}, nil
	}
	packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
	if err != nil {
		return &derive.Package{}, err
	}
	return packages[0], nil
}

// madePackages returns the packages with components of own generators. Those in petrock's folders
// are not among them: they have petrock's kinds.
func (e *Engine) madePackages(ctx context.Context) ([]*derive.Package, error) {
	own, err := e.ownGenerators(ctx)
	if err != nil {
		return nil, err
	}
	var packages []*derive.Package
	for _, g := range own.Components {
		if !hasOwnKind(g) {
			continue
		}
		pkg := &derive.Package{Place: derive.Place{Dir: path.Dir(g.Makes[0]), Kind: derive.Kind(g.Name)}}
		files, err := fs.Glob(e.root.FS(), g.Makes[0])
		if err != nil {
			return nil, fmt.Errorf("find the components of generator %s: %w", g.Name, err)
		}
		for _, file := range files {
			if c, ok := e.madeComponent(g, file); ok {
				pkg.Components = append(pkg.Components, c)
			}
		}
		packages = append(packages, pkg)
	}
	return packages, nil
}

// hasOwnKind reports whether the components of a generator have its name as their kind.
func hasOwnKind(g derive.Component) bool {
	if len(g.Makes) == 0 {
		return false
	}
	_, isPlace := derive.PlaceAt(path.Dir(g.Makes[0]))
	return !isPlace
}

// madeComponent returns the component of a generator in a file, with the Go name, line and
// description of its first exported declaration. It reports false for tests, derived files and
// folders.
func (e *Engine) madeComponent(g derive.Component, file string) (derive.Component, bool) {
	info, err := e.root.Lstat(file)
	known := e.before.File(file)
	if err != nil || !info.Mode().IsRegular() || strings.HasSuffix(file, "_test.go") || known != nil && known.IsDerived() {
		return derive.Component{}, false
	}
	before, after, _ := strings.Cut(g.Makes[0], "*")
	name := strings.TrimSuffix(strings.TrimPrefix(file, before), after)
	c := derive.Component{Kind: derive.Kind(g.Name), Name: name, File: file, Line: 1}
	if known == nil {
		return c, true
	}
	for _, decl := range known.Syntax.Decls {
		if name := declarationName(decl); ast.IsExported(name) {
			c.Func, c.Line = name, e.before.Fset().PositionFor(decl.Pos(), false).Line
			c.Description, _, _ = strings.Cut(docOf(decl).Text(), "\n")
			break
		}
	}
	return c, true
}

// madeFiles returns the files of a component of an own generator, without its test.
func (e *Engine) madeFiles(ctx context.Context, c derive.Component) ([]string, error) {
	own, err := e.ownGenerators(ctx)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, g := range own.Components {
		if g.Name != string(c.Kind) {
			continue
		}
		for _, pattern := range g.Makes {
			file := strings.Replace(pattern, "*", c.Name, 1)
			if _, err := e.root.Lstat(file); err == nil && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// checkKind returns an error if a kind of component does not exist.
func (e *Engine) checkKind(ctx context.Context, kind string) error {
	kinds := Kinds()
	if kind == "" || slices.Contains(kinds, kind) {
		return nil
	}
	own, err := e.ownGenerators(ctx)
	if err != nil {
		return err
	}
	for _, g := range own.Components {
		if hasOwnKind(g) {
			kinds = append(kinds, g.Name)
		}
	}
	if !slices.Contains(kinds, kind) {
		return terminal.Usagef("%q is not a kind of component; the kinds are %s", kind, strings.Join(kinds, ", "))
	}
	return nil
}
