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

func (s *Seeker) place(view *typecheck.View, file string, syntax *ast.File) *place {
	p := &place{view: view, module: s.module, file: file, dir: path.Dir(file), name: syntax.Name.Name, packages: map[string]*typecheck.Package{}}
	p.path = p.importPath(p.dir)
	p.test = strings.HasSuffix(file, "_test.go")
	p.external = p.test && strings.HasSuffix(p.name, "_test")
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

func (p *place) siblings() []*typecheck.File {
	var files []*typecheck.File
	for _, file := range p.view.Files(p.dir) {
		if file.Path != p.file && file.Syntax.Name.Name == p.name && (p.test || !file.IsTest()) {
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
	if p.test {
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

func (s *Seeker) ofSiblings(ctx context.Context, p *place, w want) ([]candidate, error) {
	var found []candidate
	for i, count := range p.imports() {
		if i.Name != w.name && (i.Name != "" || !p.maybe(i.Path, w.name)) {
			continue
		}
		c, err := s.candidate(ctx, p, i.Path, w)
		if err != nil {
			return nil, err
		}
		if c != nil && (i.Name == w.name || c.name == w.name) {
			c.rank = -count
			found = append(found, *c)
		}
	}
	return found, nil
}

// maybe reports whether a package may have a name, by its package clause or, for packages from
// outside, by its path.
func (p *place) maybe(imported, name string) bool {
	if pkg := p.inside(imported); pkg != nil {
		return pkg.Name == name
	}
	return mentions(imported, name)
}

type standard struct {
	src     string // its folder
	context *build.Context
	paths   map[string]bool
	byName  map[string][]string        // paths
	scanned map[string]map[string]bool // by path, what the package exports
}

// listStandard lists the folders of the standard library that may be importable packages. Whether a
// system has them is known when they are read.
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
		case dir == "cmd" || dir == "builtin" || hidden(path.Base(dir)):
			return fs.SkipDir
		}
		l.paths[dir] = true
		l.byName[nameByPath(dir)] = append(l.byName[nameByPath(dir)], dir)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the standard library: %w; go env GOROOT says where Go is, install it anew if that is wrong", err)
	}
	return l, nil
}

func hidden(base string) bool {
	return base == "internal" || base == "vendor" || base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

func (l *standard) has(imported string) bool { return l.paths[imported] }

func (l *standard) exports(imported string) map[string]bool {
	known, ok := l.scanned[imported]
	if !ok {
		dir := filepath.Join(l.src, filepath.FromSlash(imported))
		known = scan(dir, l.files(dir))
		l.scanned[imported] = known
	}
	return known
}

// files returns the Go files of a folder that a build includes, without tests.
func (l *standard) files(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var files []string
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if taken, err := l.context.MatchFile(dir, name); taken && err == nil {
			files = append(files, name)
		}
	}
	return files
}

func (s *Seeker) ofStandard(_ context.Context, _ *place, w want) ([]candidate, error) {
	var found []candidate
	for _, imported := range s.standard.byName[w.name] {
		if exported := s.standard.exports(imported); len(exported) > 0 {
			found = append(found, s.standardCandidate(imported, w))
		}
	}
	return found, nil
}

func (s *Seeker) standardCandidate(imported string, w want) candidate {
	exported := s.standard.exports(imported)
	return candidate{path: imported, name: nameByPath(imported), fault: w.lacks(func(name string) bool { return exported[name] })}
}

// modules are the packages of the modules that go.mod requires.
type modules struct {
	state  string // see [typecheck.ExportCache.State]
	byName map[string][]*listed
	byPath map[string]*listed
	unread []string // why some modules could not be read
}

// A listed package is one that go list prints.
type listed struct {
	Dir, ImportPath, Name string
	GoFiles, CgoFiles     []string
	Module                *struct{ Path string }
	Error                 *struct{ Err string }

	direct  bool            // go.mod requires its module directly
	scanned map[string]bool // exported names; nil before they are read
}

func (l *listed) has(name string) bool {
	if l.scanned == nil {
		l.scanned = scan(l.Dir, slices.Concat(l.GoFiles, l.CgoFiles))
	}
	return l.scanned[name]
}

func (l *listed) candidate(w want) candidate {
	return candidate{path: l.ImportPath, name: l.Name, fault: w.lacks(l.has)}
}

// ofModules returns packages of required modules with the wanted name: those that go.mod requires
// directly first, then those that the project imports elsewhere.
func (s *Seeker) ofModules(ctx context.Context, p *place, w want) ([]candidate, error) {
	modules, err := s.required(ctx, p)
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, pkg := range modules.byName[w.name] {
		c := pkg.candidate(w)
		if !pkg.direct {
			c.rank += 2
		}
		if !p.uses(c.path) {
			c.rank++
		}
		found = append(found, c)
	}
	return found, nil
}

// required lists the packages of required modules, unless the cached list is still valid.
func (s *Seeker) required(ctx context.Context, p *place) (*modules, error) {
	if s.modules != nil && p.listed {
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
	p.listed = true
	return s.modules, nil
}

// list asks the go command for the packages of required modules, without downloading any and without
// changing go.mod.
func (s *Seeker) list(ctx context.Context) (*modules, error) {
	m := &modules{byName: map[string][]*listed{}, byPath: map[string]*listed{}}
	text, err := s.root.ReadFile("go.mod")
	if err != nil {
		return nil, fmt.Errorf("reading go.mod: %w", err)
	}
	parsed, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		return nil, fmt.Errorf("reading %w", err)
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
		return nil, fmt.Errorf("%w: Go cannot list the packages of required modules:\n%s", err, bytes.TrimSpace(errOut))
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
		if l.direct, required = direct[l.Module.Path]; !required {
			continue // another module with the same prefix
		}
		if _, internal := typecheck.ParentOfInternal(l.ImportPath); !internal {
			m.byPath[l.ImportPath] = l
			m.byName[l.Name] = append(m.byName[l.Name], l)
		}
	}
	return m, nil
}
