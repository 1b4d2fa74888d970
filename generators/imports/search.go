package imports

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// A place is a file and its location in the project.
type place struct {
	view       *typecheck.View
	module     string
	file       string // path of the file
	fset       *token.FileSet
	syntax     *ast.File
	dir        string // folder of the file
	path       string // import path of its package
	name       string // name in its package clause
	isTest     bool   // whether it is a test file
	isExternal bool   // whether it is in package name_test
}

// place parses a file, and refreshes the standard library. It returns nil for a file with syntax
// errors, which Verify reports.
func (s *Resolver) place(ctx context.Context, view *typecheck.View, file string, text []byte) (*place, error) {
	p := &place{view: view, module: s.module, file: file, fset: token.NewFileSet(), dir: path.Dir(file)}
	var err error
	if p.syntax, err = parser.ParseFile(p.fset, file, text, parser.ParseComments); err != nil {
		return nil, nil
	}
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	p.path, p.name = path.Join(p.module, p.dir), p.syntax.Name.Name
	p.isTest = strings.HasSuffix(file, "_test.go")
	p.isExternal = p.isTest && strings.HasSuffix(p.name, "_test")
	return p, nil
}

// inside returns an imported package of the project, or nil.
func (p *place) inside(imported string) *typecheck.Package {
	if !isAtOrBelow(imported, p.module) {
		return nil
	}
	return p.view.Package(path.Clean("."+imported[len(p.module):]), nil)
}

// nameOf returns the name of an imported package: of the project, from its package clause; of
// others, from the path.
func (p *place) nameOf(imported string) string {
	if pkg := p.inside(imported); pkg != nil {
		return pkg.Name
	}
	return nameByPath(imported)
}

// isSibling reports whether a file is another file of the package. Tests are siblings only of
// tests.
func (p *place) isSibling(file *typecheck.File) bool {
	return file.Path != p.file && file.Syntax.Name.Name == p.name && (p.isTest || !file.IsTest())
}

// ofSiblings returns the packages that siblings import under the wanted name; for a test file, all
// files in its folder. For an external test, these include the package that it tests.
func (s *Resolver) ofSiblings(p *place, w want) (found []*candidate) {
	counts := map[string]int{} // by import path
	if p.isExternal && p.nameOf(p.path) == w.name {
		counts[p.path] = math.MaxInt32 // first, even if a sibling imports another package of that name
	}
	for _, file := range p.view.Files(p.dir) {
		if p.isSibling(file) || p.isTest && file.Path != p.file {
			p.countImports(file, w, counts)
		}
	}
	for imported, count := range counts {
		c := &candidate{path: imported, name: w.name}
		if pkg := p.inside(imported); pkg != nil {
			c = p.candidate(pkg, w)
		} else if known := s.standard[imported]; known != nil {
			c = s.candidate(known, w)
		}
		if c != nil {
			c.rank = -count
			found = append(found, c)
		}
	}
	return found
}

// countImports counts the packages that a file imports under the wanted name.
func (p *place) countImports(file *typecheck.File, w want, counts map[string]int) {
	for _, spec := range file.Syntax.Imports {
		if i := importOf(spec); i.Name == w.name || i.Name == "" && p.nameOf(i.Path) == w.name {
			counts[i.Path]++
		}
	}
}

// ofOthers returns the packages of other modules that files of the project import under the wanted
// name.
func (s *Resolver) ofOthers(p *place, w want) (found []*candidate) {
	counts := map[string]int{}
	for _, file := range p.view.All() {
		if !s.isExcluded(file.Dir()) {
			p.countImports(file, w, counts)
		}
	}
	for imported, count := range counts {
		if imported != "C" && s.standard[imported] == nil && !isAtOrBelow(imported, p.module) {
			found = append(found, &candidate{path: imported, name: nameByPath(imported), rank: -count})
		}
	}
	return found
}

func (s *Resolver) isExcluded(dir string) bool {
	return slices.ContainsFunc(s.excluded, func(excluded string) bool { return isAtOrBelow(dir, excluded) })
}

func (s *Resolver) ofProject(p *place, w want) (found []*candidate) {
	for _, dir := range p.view.Dirs() {
		if pkg := p.view.Package(dir, nil); pkg != nil && pkg.Name == w.name && !s.isExcluded(dir) {
			if c := p.candidate(pkg, w); c != nil {
				found = append(found, c)
			}
		}
	}
	return found
}

// candidate returns a package of the project as a candidate, or nil if it has only tests or the
// file is part of it.
func (p *place) candidate(pkg *typecheck.Package, w want) *candidate {
	isTested := p.isExternal && pkg.Dir == p.dir
	if len(pkg.Files) == 0 || pkg.Dir == p.dir && !isTested {
		return nil
	}
	files := pkg.Files
	if isTested {
		files = slices.Concat(pkg.Files, pkg.Internal)
	}
	c := w.candidate(path.Join(p.module, pkg.Dir), pkg.Name, func(name string) bool {
		isDerived := name == "Feature" && strings.HasPrefix(pkg.Dir, "features/") // perhaps not yet
		return isDerived || slices.ContainsFunc(files, func(f *typecheck.File) bool { return slices.Contains(f.Names(), name) })
	})
	if c.problem == "" && !isTested {
		c.problem = p.whyForbidden(c.path, pkg)
	}
	return c
}

// whyForbidden explains why the file cannot import a package of the project. It is empty if it can.
func (p *place) whyForbidden(imported string, pkg *typecheck.Package) string {
	switch {
	case pkg.Name == "main":
		return "is a program"
	case !typecheck.MayImport(p.path, imported):
		return "is internal"
	case !p.isExternal && p.isImportedBy(pkg, map[string]bool{}):
		return "imports this package, which would be an import cycle"
	}
	return ""
}

// isImportedBy reports whether a package imports the file's package, directly or indirectly.
func (p *place) isImportedBy(pkg *typecheck.Package, seen map[string]bool) bool {
	if pkg.Dir == p.dir {
		return true
	}
	if seen[pkg.Dir] {
		return false
	}
	seen[pkg.Dir] = true
	for _, file := range pkg.Files {
		for _, i := range file.Imports() {
			if next := p.inside(i.Path); next != nil && p.isImportedBy(next, seen) {
				return true
			}
		}
	}
	return false
}

// A standardPackage is a package of the standard library.
type standardPackage struct {
	path     string
	exported map[string]bool // exported names; nil before they are read
}

// listStandard lists the folders of the standard library that may be importable packages, by import
// path. Some may have no files for the target system.
func listStandard(system typecheck.System) (map[string]*standardPackage, error) {
	listed := map[string]*standardPackage{}
	err := fs.WalkDir(os.DirFS(filepath.Join(system.Root, "src")), ".", func(dir string, d fs.DirEntry, err error) error {
		switch base := path.Base(dir); {
		case err != nil:
			return err
		case !d.IsDir() || dir == ".":
			return nil
		case slices.Contains([]string{"cmd", "builtin", "internal", "vendor", "testdata"}, base), strings.HasPrefix(base, "."), strings.HasPrefix(base, "_"):
			return fs.SkipDir
		}
		listed[dir] = &standardPackage{path: dir}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read standard library: %w; check go env GOROOT, or reinstall Go", err)
	}
	return listed, nil
}

func (s *Resolver) ofStandard(_ *place, w want) (found []*candidate) {
	for _, pkg := range s.standard {
		if nameByPath(pkg.path) == w.name {
			if c := s.candidate(pkg, w); c != nil {
				found = append(found, c)
			}
		}
	}
	return found
}

// candidate returns a package of the standard library as a candidate, or nil if it exports nothing
// on this system.
func (s *Resolver) candidate(pkg *standardPackage, w want) *candidate {
	if pkg.exported == nil {
		pkg.exported = map[string]bool{}
		dir := filepath.Join(s.system.Root, "src", filepath.FromSlash(pkg.path))
		files, _ := s.system.Context().ImportDir(dir, 0) // incomplete if it has errors
		for _, file := range slices.Concat(files.GoFiles, files.CgoFiles) {
			syntax, _ := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.SkipObjectResolution)
			if syntax == nil {
				continue // unreadable
			}
			for _, name := range typecheck.DeclaredNames(syntax) {
				pkg.exported[name] = ast.IsExported(name)
			}
		}
	}
	if len(pkg.exported) == 0 {
		return nil
	}
	return w.candidate(pkg.path, nameByPath(pkg.path), func(name string) bool { return pkg.exported[name] })
}
