package typecheck

import (
	"fmt"
	"go/types"
	"maps"
	"runtime"
	"slices"
)

// A Pass type-checks packages of one view of a project.
type Pass struct {
	checker  *Checker
	view     *View
	options  PassOptions
	packages map[string]*Package // by folder; nil for folders without Go
	imports  map[string][]string // by import path, the packages of the project that it imports
	loaded   map[string]*checked // by import path and variant
	loading  []string            // import paths of the packages being checked, outermost first
	fault    error               // see Err
}

// Err returns an error if export data could not be read. The results of the pass are invalid then.
func (p *Pass) Err() error { return p.fault }

// pkg returns the package in a folder, or nil.
func (p *Pass) pkg(dir string) *Package {
	pkg, known := p.packages[dir]
	if !known {
		pkg = p.view.Package(dir, p.options.Skip)
		p.packages[dir] = pkg
	}
	return pkg
}

// inside returns the folder of an imported package, if it is one of the project.
func (p *Pass) inside(imported string) (dir string, ok bool) {
	dir, ok = p.checker.dir(imported)
	return dir, ok && len(p.view.Files(dir)) > 0
}

// outside lists the packages from outside the project that packages import, directly or not, sorted.
func (p *Pass) outside(dirs []string) []string {
	paths, seen := map[string]bool{}, map[string]bool{}
	var visit func(dir string, tests bool)
	visit = func(dir string, tests bool) {
		pkg := p.pkg(dir)
		if pkg == nil || seen[dir] {
			return
		}
		seen[dir] = true
		files := pkg.Files
		if tests {
			files = pkg.All()
		}
		for _, file := range files {
			for _, i := range file.Imports() {
				if next, ok := p.inside(i.Path); ok {
					visit(next, slices.Contains(dirs, next))
				} else {
					paths[i.Path] = true
				}
			}
		}
	}
	for _, dir := range dirs {
		visit(dir, true)
	}
	return slices.Sorted(maps.Keys(paths))
}

// A variant is a package compiled with its internal tests, which external tests import.
type variant struct {
	path string
	pkg  *checked
}

// imports resolves the imports of one package.
type imports struct {
	pass    *Pass
	variant *variant
}

// Import implements [types.Importer].
func (i *imports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	dir, ok := i.pass.inside(path)
	if !ok {
		return i.pass.importOutside(path)
	}
	loaded, err := i.pass.load(path, dir, i.variant)
	if err != nil {
		return nil, err
	}
	return loaded.pkg, nil
}

func (p *Pass) importOutside(path string) (*types.Package, error) {
	if dir, ok := p.checker.dir(path); ok {
		if !p.checker.found.Has(path) {
			return nil, importError("the project has no folder " + dir + " with Go in it")
		}
	}
	pkg, err := p.checker.outside.Import(path)
	if err != nil {
		why := p.checker.found.Why(path)
		if file, openErr := p.checker.found.Open(path); openErr == nil {
			file.Close()
			why = err.Error()
			p.fault = fmt.Errorf("reading what the compiler says of %s: %w; this program was built with %s, and the go command may be newer: build it anew, or use the project's own, go run ./cmd/petrock", path, err, runtime.Version())
		}
		return nil, importError(why)
	}
	return pkg, nil
}

// An importError says why a package cannot be imported.
type importError string

// Error returns the reason.
func (e importError) Error() string { return string(e) }

// importChain returns the import paths from a package of the project to another that it imports,
// directly or not; nil if it does not.
func (p *Pass) importChain(path, other string) []string {
	seen := map[string]bool{}
	var visit func(path string) []string
	visit = func(path string) []string {
		if path == other {
			return []string{path}
		}
		if seen[path] {
			return nil
		}
		seen[path] = true
		for _, next := range p.importsOf(path) {
			if way := visit(next); way != nil {
				return append([]string{path}, way...)
			}
		}
		return nil
	}
	return visit(path)
}

// importsOf returns the packages of the project that a package imports, without its tests.
func (p *Pass) importsOf(path string) []string {
	list, known := p.imports[path]
	if known {
		return list
	}
	if dir, ok := p.inside(path); ok && p.pkg(dir) != nil {
		for _, file := range p.pkg(dir).Files {
			for _, i := range file.Imports() {
				if _, ours := p.inside(i.Path); ours && !slices.Contains(list, i.Path) {
					list = append(list, i.Path)
				}
			}
		}
	}
	p.imports[path] = list
	return list
}
