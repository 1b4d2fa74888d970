package imports

import (
	"context"
	"go/ast"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// A place is the file's position in the project.
type place struct {
	view     *typecheck.View
	module   string
	file     string                        // its path
	dir      string                        // its folder
	path     string                        // import path of its package
	name     string                        // in its package clause
	test     bool                          // it is a test file
	external bool                          // it is in package name_test
	listed   bool                          // required modules are listed, see Seeker.required
	packages map[string]*typecheck.Package // of the project, by folder; nil for those without Go
	imported map[Import]int                // what siblings import, and how many of them do; nil before it is needed
}

// place returns the place of a file.
func (s *Seeker) place(view *typecheck.View, file string, syntax *ast.File) *place {
	p := &place{view: view, module: s.module, file: file, dir: path.Dir(file), name: syntax.Name.Name, packages: map[string]*typecheck.Package{}}
	p.path = p.importPath(p.dir)
	p.test = strings.HasSuffix(file, "_test.go")
	p.external = p.test && strings.HasSuffix(p.name, "_test")
	return p
}

// importPath returns the import path of a folder of the project.
func (p *place) importPath(dir string) string { return path.Join(p.module, dir) }

// inside returns an imported package of the project, or nil.
func (p *place) inside(imported string) *typecheck.Package {
	dir, ok := strings.CutPrefix(imported, p.module+"/")
	switch {
	case imported == p.module:
		dir = "."
	case !ok:
		return nil
	}
	return p.pkg(dir)
}

// pkg returns the package in a folder, or nil.
func (p *place) pkg(dir string) *typecheck.Package {
	known, ok := p.packages[dir]
	if !ok {
		known = p.view.Package(dir, nil)
		p.packages[dir] = known
	}
	return known
}

// candidate returns the package of an import path as a candidate, or nil if it is unknown.
func (s *Seeker) candidate(ctx context.Context, p *place, imported string, w want) (*candidate, error) {
	if pkg := p.inside(imported); pkg != nil {
		return p.candidate(pkg, w), nil
	}
	if s.standard.has(imported) {
		c := s.standardCandidate(imported, w)
		return &c, nil
	}
	modules, err := s.required(ctx, p)
	if err != nil || modules.byPath[imported] == nil {
		return nil, err
	}
	c := modules.byPath[imported].candidate(w)
	return &c, nil
}

// uses reports whether some file of the project imports a path.
func (p *place) uses(imported string) bool {
	for _, dir := range p.view.Dirs() {
		for _, file := range p.view.Files(dir) {
			if slices.ContainsFunc(file.Imports(), func(i typecheck.Import) bool { return i.Path == imported }) {
				return true
			}
		}
	}
	return false
}

// ofTested returns the package that an external test tests.
func (s *Seeker) ofTested(_ context.Context, p *place, w want) ([]candidate, error) {
	pkg := p.pkg(p.dir)
	if !p.external || pkg == nil || pkg.Name != w.name {
		return nil, nil
	}
	if c := p.candidate(pkg, w); c != nil {
		return []candidate{*c}, nil
	}
	return nil, nil
}

// ofProject returns packages of the project with the wanted name.
func (s *Seeker) ofProject(_ context.Context, p *place, w want) ([]candidate, error) {
	var found []candidate
	for _, dir := range p.view.Dirs() {
		if slices.ContainsFunc(s.excluded, func(passed string) bool { return below(dir, passed) }) {
			continue
		}
		if !slices.ContainsFunc(p.view.Files(dir), func(f *typecheck.File) bool { return f.Syntax.Name.Name == w.name }) {
			continue
		}
		if pkg := p.pkg(dir); pkg != nil && pkg.Name == w.name {
			if c := p.candidate(pkg, w); c != nil {
				found = append(found, *c)
			}
		}
	}
	return found, nil
}

// candidate returns a package of the project as a candidate, or nil if it has only tests or the file
// is part of it.
func (p *place) candidate(pkg *typecheck.Package, w want) *candidate {
	tested := p.external && pkg.Dir == p.dir
	if len(pkg.Files) == 0 || pkg.Dir == p.dir && !tested {
		return nil
	}
	files := pkg.Files
	if tested {
		files = slices.Concat(pkg.Files, pkg.Internal)
	}
	c := &candidate{path: p.importPath(pkg.Dir), name: pkg.Name}
	c.fault = w.lacks(func(name string) bool {
		return slices.ContainsFunc(files, func(f *typecheck.File) bool { return slices.Contains(f.Names(), name) })
	})
	if c.fault == "" && !tested {
		c.fault = p.bars(c.path, pkg)
		c.barred = c.fault != ""
	}
	return c
}

// bars explains why a package of the project cannot be imported; it is empty if it can.
func (p *place) bars(imported string, pkg *typecheck.Package) string {
	parent, internal := typecheck.ParentOfInternal(imported)
	switch {
	case pkg.Name == "main":
		return "is a program"
	case internal && !below(p.path, parent):
		return "is internal to " + parent
	case !p.external && p.leads(pkg, map[string]bool{}):
		return "imports this package, so that there would be a cycle"
	}
	return ""
}

// leads reports whether a package of the project imports the file's package, directly or not.
func (p *place) leads(pkg *typecheck.Package, seen map[string]bool) bool {
	if pkg.Dir == p.dir {
		return true
	}
	if seen[pkg.Dir] {
		return false
	}
	seen[pkg.Dir] = true
	for _, file := range pkg.Files {
		for _, i := range file.Imports() {
			if next := p.inside(i.Path); next != nil && p.leads(next, seen) {
				return true
			}
		}
	}
	return false
}
