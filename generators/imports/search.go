package imports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/generators/typecheck"
)

// A place is the location of a file in the project.
type place struct {
	view       *typecheck.View
	module     string
	file       string                        // path of the file
	dir        string                        // folder of the file
	path       string                        // import path of its package
	name       string                        // name in its package clause
	isTest     bool                          // whether it is a test file
	isExternal bool                          // whether it is in package name_test
	isListed   bool                          // whether required modules are listed, see Resolver.required
	packages   map[string]*typecheck.Package // packages of the project by folder; nil for folders without Go
	imported   map[Import]int                // imports of siblings, with their counts; nil before it is needed
}

func (s *Resolver) place(view *typecheck.View, file string, syntax *ast.File) *place {
	p := &place{view: view, module: s.module, file: file, dir: path.Dir(file), name: syntax.Name.Name, packages: map[string]*typecheck.Package{}}
	p.path = p.importPath(p.dir)
	p.isTest = strings.HasSuffix(file, "_test.go")
	p.isExternal = p.isTest && strings.HasSuffix(p.name, "_test")
	return p
}

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

func (p *place) pkg(dir string) *typecheck.Package {
	known, ok := p.packages[dir]
	if !ok {
		known = p.view.Package(dir, nil)
		p.packages[dir] = known
	}
	return known
}

// candidate returns the package of an import path as a candidate, or nil if it is unknown.
func (s *Resolver) candidate(ctx context.Context, p *place, imported string, w want) (*candidate, error) {
	if pkg := p.inside(imported); pkg != nil {
		return p.candidate(pkg, w), nil
	}
	if s.standard.has(imported) {
		return s.standardCandidate(imported, w), nil
	}
	modules, err := s.required(ctx, p)
	if err != nil || modules.byPath[imported] == nil {
		return nil, err
	}
	return modules.byPath[imported].candidate(w), nil
}

func (p *place) isImported(imported string) bool {
	return slices.ContainsFunc(p.view.All(), func(file *typecheck.File) bool {
		return slices.ContainsFunc(file.Imports(), func(i typecheck.Import) bool { return i.Path == imported })
	})
}

func (s *Resolver) ofTested(_ context.Context, p *place, w want) ([]*candidate, error) {
	if pkg := p.pkg(p.dir); p.isExternal && pkg != nil && pkg.Name == w.name {
		if c := p.candidate(pkg, w); c != nil {
			return []*candidate{c}, nil
		}
	}
	return nil, nil
}

func (s *Resolver) ofProject(_ context.Context, p *place, w want) ([]*candidate, error) {
	var found []*candidate
	for _, dir := range p.view.Dirs() {
		if slices.ContainsFunc(s.excluded, func(excluded string) bool { return isAtOrBelow(dir, excluded) }) {
			continue
		}
		if !slices.ContainsFunc(p.view.Files(dir), func(f *typecheck.File) bool { return f.Syntax.Name.Name == w.name }) {
			continue
		}
		if pkg := p.pkg(dir); pkg != nil && pkg.Name == w.name {
			if c := p.candidate(pkg, w); c != nil {
				found = append(found, c)
			}
		}
	}
	return found, nil
}

// candidate returns a package of the project as a candidate, or nil if it has only tests or the file
// is part of it.
func (p *place) candidate(pkg *typecheck.Package, w want) *candidate {
	isTested := p.isExternal && pkg.Dir == p.dir
	if len(pkg.Files) == 0 || pkg.Dir == p.dir && !isTested {
		return nil
	}
	files := pkg.Files
	if isTested {
		files = slices.Concat(pkg.Files, pkg.Internal)
	}
	c := &candidate{path: p.importPath(pkg.Dir), name: pkg.Name}
	c.problem = w.missingFrom(func(name string) bool {
		return slices.ContainsFunc(files, func(f *typecheck.File) bool { return slices.Contains(f.Names(), name) })
	})
	if c.problem == "" && !isTested {
		c.problem = p.whyForbidden(c.path, pkg)
		c.isForbidden = c.problem != ""
	}
	return c
}

// whyForbidden explains why the file cannot import a package of the project. It is empty if it can.
func (p *place) whyForbidden(imported string, pkg *typecheck.Package) string {
	parent, internal := typecheck.ParentOfInternal(imported)
	switch {
	case pkg.Name == "main":
		return "is a program"
	case internal && !isAtOrBelow(p.path, parent):
		return "is internal to " + parent
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

// siblings returns the other files of the package. Tests are siblings only of tests.
func (p *place) siblings() []*typecheck.File {
	var files []*typecheck.File
	for _, file := range p.view.Files(p.dir) {
		if file.Path != p.file && file.Syntax.Name.Name == p.name && (p.isTest || !file.IsTest()) {
			files = append(files, file)
		}
	}
	return files
}

// imports counts the imports of the siblings; for a test file, of all files in its folder.
func (p *place) imports() map[Import]int {
	if p.imported != nil {
		return p.imported
	}
	p.imported = map[Import]int{}
	files := p.siblings()
	if p.isTest {
		files = p.view.Files(p.dir)
	}
	for _, file := range files {
		if file.Path == p.file {
			continue
		}
		for _, spec := range file.Syntax.Imports {
			p.imported[importOf(spec)]++
		}
	}
	return p.imported
}

func (s *Resolver) ofSiblings(ctx context.Context, p *place, w want) ([]*candidate, error) {
	var found []*candidate
	for i, count := range p.imports() {
		if i.Name != w.name && (i.Name != "" || !p.mayHaveName(i.Path, w.name)) {
			continue
		}
		c, err := s.candidate(ctx, p, i.Path, w)
		if err != nil {
			return nil, err
		}
		if c != nil && (i.Name == w.name || c.name == w.name) {
			c.rank = -count
			found = append(found, c)
		}
	}
	return found, nil
}

// mayHaveName reports whether a package may have a name, according to its package clause or, outside the
// project, its path.
func (p *place) mayHaveName(imported, name string) bool {
	if pkg := p.inside(imported); pkg != nil {
		return pkg.Name == name
	}
	return mentions(imported, name)
}

type standard struct {
	src     string // its folder
	context *build.Context
	paths   map[string]bool
	byName  map[string][]string        // import paths by package name
	scanned map[string]map[string]bool // exported names by import path
}

// listStandard lists the folders of the standard library that may be importable packages. Some may have no
// files for the target system.
func listStandard(system typecheck.System) (*standard, error) {
	l := &standard{
		src: filepath.Join(system.Root, "src"), context: system.Context(),
		paths: map[string]bool{}, byName: map[string][]string{}, scanned: map[string]map[string]bool{},
	}
	err := fs.WalkDir(os.DirFS(l.src), ".", func(dir string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir() || dir == ".":
			return nil
		case dir == "cmd" || dir == "builtin" || isHidden(path.Base(dir)):
			return fs.SkipDir
		}
		l.paths[dir] = true
		l.byName[nameByPath(dir)] = append(l.byName[nameByPath(dir)], dir)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read standard library: %w; check go env GOROOT, or reinstall Go", err)
	}
	return l, nil
}

func isHidden(base string) bool {
	return base == "internal" || base == "vendor" || base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

func (l *standard) has(imported string) bool { return l.paths[imported] }

func (l *standard) exports(imported string) map[string]bool {
	known, ok := l.scanned[imported]
	if !ok {
		dir := filepath.Join(l.src, filepath.FromSlash(imported))
		pkg, _ := l.context.ImportDir(dir, 0)
		known = exportedNames(dir, slices.Concat(pkg.GoFiles, pkg.CgoFiles))
		l.scanned[imported] = known
	}
	return known
}

func (s *Resolver) ofStandard(_ context.Context, _ *place, w want) ([]*candidate, error) {
	var found []*candidate
	for _, imported := range s.standard.byName[w.name] {
		if exported := s.standard.exports(imported); len(exported) > 0 {
			found = append(found, s.standardCandidate(imported, w))
		}
	}
	return found, nil
}

func (s *Resolver) standardCandidate(imported string, w want) *candidate {
	exported := s.standard.exports(imported)
	return &candidate{path: imported, name: nameByPath(imported), problem: w.missingFrom(func(name string) bool { return exported[name] })}
}

// modules are the packages of the modules that go.mod requires.
type modules struct {
	state  string // see [typecheck.ExportCache.State]
	byName map[string][]*listed
	byPath map[string]*listed
	unread []string // why some modules could not be read
}

// A listed package is part of the output of go list.
type listed struct {
	Dir, ImportPath, Name string
	GoFiles, CgoFiles     []string
	Module                *struct{ Path string }
	Error                 *struct{ Err string }

	isDirect bool            // whether go.mod requires its module directly
	scanned  map[string]bool // exported names; nil before they are read
}

func (l *listed) has(name string) bool {
	if l.scanned == nil {
		l.scanned = exportedNames(l.Dir, slices.Concat(l.GoFiles, l.CgoFiles))
	}
	return l.scanned[name]
}

func (l *listed) candidate(w want) *candidate {
	return &candidate{path: l.ImportPath, name: l.Name, problem: w.missingFrom(l.has)}
}

// ofModules returns packages of required modules with the wanted name: those that go.mod requires
// directly first, then those that the project imports elsewhere.
func (s *Resolver) ofModules(ctx context.Context, p *place, w want) ([]*candidate, error) {
	modules, err := s.required(ctx, p)
	if err != nil {
		return nil, err
	}
	var found []*candidate
	for _, pkg := range modules.byName[w.name] {
		c := pkg.candidate(w)
		if !pkg.isDirect {
			c.rank += 2
		}
		if !p.isImported(c.path) {
			c.rank++
		}
		found = append(found, c)
	}
	return found, nil
}

// required returns the packages of required modules. It lists them again if the cached list is not valid.
func (s *Resolver) required(ctx context.Context, p *place) (*modules, error) {
	if s.modules != nil && p.isListed {
		return s.modules, nil
	}
	state := s.cache.State()
	if s.modules == nil || s.modules.state != state {
		m, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		m.state, s.modules = state, m
	}
	p.isListed = true
	return s.modules, nil
}

// list asks the go command for the packages of required modules, without downloading any and without
// changing go.mod.
func (s *Resolver) list(ctx context.Context) (*modules, error) {
	m := &modules{byName: map[string][]*listed{}, byPath: map[string]*listed{}}
	text, err := s.root.ReadFile("go.mod")
	if err != nil {
		return nil, fmt.Errorf("read go.mod: %w", err)
	}
	parsed, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		return nil, fmt.Errorf("parse %w", err)
	}
	if len(parsed.Require) == 0 {
		return m, nil
	}
	direct := map[string]bool{}
	args := append([]string{"list", "-e", "-find", "-json=Dir,ImportPath,Name,GoFiles,CgoFiles,Module,Error"}, s.system.Flags...)
	args = append(args, "--")
	for _, require := range parsed.Require {
		direct[require.Mod.Path] = !require.Indirect
		args = append(args, require.Mod.Path+"/...")
	}
	out, errOut, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: s.root.Name(), Env: append(os.Environ(), "GOPROXY=off")}, "go", args...)
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("list packages of required modules: %w:\n%s", err, bytes.TrimSpace(errOut))
	}
	if err != nil {
		return nil, err
	}
	packages, err := typecheck.DecodeList[*listed](out)
	if err != nil {
		return nil, err
	}
	for _, l := range packages {
		if l.Error != nil && strings.HasSuffix(l.ImportPath, "/...") {
			first, _, _ := strings.Cut(strings.TrimPrefix(l.Error.Err, "pattern "+l.ImportPath+": "), "\n")
			if first = strings.TrimSuffix(first, "; to add it:"); !slices.Contains(m.unread, first) {
				m.unread = append(m.unread, first)
			}
		}
		if l.Module == nil || l.Dir == "" || len(l.GoFiles)+len(l.CgoFiles) == 0 || l.Name == "main" || m.byPath[l.ImportPath] != nil {
			continue
		}
		var required bool
		if l.isDirect, required = direct[l.Module.Path]; !required {
			continue // another module with the same prefix
		}
		if _, internal := typecheck.ParentOfInternal(l.ImportPath); !internal {
			m.byPath[l.ImportPath] = l
			m.byName[l.Name] = append(m.byName[l.Name], l)
		}
	}
	return m, nil
}
