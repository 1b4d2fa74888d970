// Package typecheck reads and type-checks the Go of a project, with planned files over those on
// disk.
//
// A [Store] parses the project's files and caches them. A [View] is the project's files, on disk or
// planned. A [Checker] type-checks packages of a view in memory: packages of the project from
// source, all others from the compiler's export data, which an [ExportCache] finds. go/types is not
// the compiler: cgo, embedded files and the linker are not checked, see [File.NeedsCompiler].
// [CheckPackages] and [Build] use the go command instead.
//
// A [PurityFinder] finds code that makes replaying the event log non-deterministic.
package typecheck

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// A Checker type-checks the packages of one project, and caches them. It is not safe for concurrent
// use.
type Checker struct {
	module  Module
	cache   *ExportCache
	fset    *token.FileSet
	found   Exports
	outside types.Importer        // imports packages from outside the project
	cached  map[string][]*checked // by import path, the latest first
	lastID  uint64
}

// A PurityFinder finds code of features that makes replay of the event log non-deterministic, as
// far as the features compile. dirs are their folders in a view, and core is the import path of
// core.
type PurityFinder func(ctx context.Context, c *Checker, core string, view *View, dirs []string) (PurityReport, error)

// A PurityReport is the result of a [PurityFinder].
type PurityReport struct {
	Impure   []Diagnostic // code that makes replay non-deterministic
	Warnings []Diagnostic // code that may make replay non-deterministic
}

// A Module is the module of a project, from its go.mod.
type Module struct {
	Path string
	Go   string // language version, such as 1.26.0
}

// NewChecker returns a checker for the project of a module, for files whose positions are in fset.
func NewChecker(module Module, cache *ExportCache, fset *token.FileSet) *Checker {
	return &Checker{module: module, cache: cache, fset: fset, cached: map[string][]*checked{}}
}

// Module returns the module of the project.
func (c *Checker) Module() Module { return c.module }

// ImportPath returns the import path of a folder of the project.
func (c *Checker) ImportPath(dir string) string { return path.Join(c.module.Path, dir) }

// dir returns the folder of an imported package, if it is in the project's module.
func (c *Checker) dir(imported string) (dir string, ok bool) {
	if imported == c.module.Path {
		return ".", true
	}
	return strings.CutPrefix(imported, c.module.Path+"/")
}

// PassOptions configure a pass.
type PassOptions struct {
	Skip   func(*File) bool // reports whether to skip a file; nil skips none
	Bodies bool             // check the function bodies of the packages in the folders of the pass
}

// NewPass starts a pass over packages of a view, and those that they import.
func (c *Checker) NewPass(ctx context.Context, view *View, dirs []string, o PassOptions) (*Pass, error) {
	p := &Pass{checker: c, view: view, dirs: dirs, options: o, packages: map[string]*Package{}, imports: map[string][]string{}, loaded: map[string]*checked{}}
	found, err := c.cache.Find(ctx, p.outside(dirs))
	if err != nil {
		return nil, err
	}
	if c.outside == nil || c.found.Edition != found.Edition {
		c.cached = map[string][]*checked{}
		c.outside = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return c.found.Open(path) })
	}
	c.found = found
	return p, nil
}

type checked struct {
	key   string // see Pass.key
	id    uint64 // unique
	pkg   *types.Package
	found []Diagnostic
}

// load returns a package of the project that the package being checked imports.
func (p *Pass) load(path, dir string, v *variant) (*checked, error) {
	if v != nil && path == v.path {
		return v.pkg, nil
	}
	if v != nil && p.importChain(path, v.path) == nil {
		v = nil
	}
	importer := p.loading[len(p.loading)-1]
	if chain := p.importChain(path, importer); chain != nil {
		return nil, errors.New("import cycle not allowed: " + strings.Join(append([]string{importer}, chain...), " → "))
	}
	name := path
	if v != nil {
		name += " for tests of " + v.path
	}
	if known := p.loaded[name]; known != nil {
		return known, nil
	}
	pkg := p.pkg(dir)
	if len(pkg.Files) == 0 {
		return nil, errors.New("build constraints exclude all Go files in " + dir)
	}
	if pkg.Name == "main" && importer != path+"_test" {
		return nil, errors.New("is a program, not an importable package")
	}
	loaded := p.check(path, pkg.Files, v)
	p.loaded[name] = loaded
	return loaded, nil
}

func (p *Pass) check(path string, files []*File, v *variant) *checked {
	p.loading = append(p.loading, path)
	defer func() { p.loading = p.loading[:len(p.loading)-1] }()
	importing := &imports{pass: p, variant: v}
	key := p.key(files, importing)
	for _, known := range p.checker.cached[path] {
		if known.key == key {
			return known
		}
	}
	p.checker.lastID++
	result := &checked{key: key, id: p.checker.lastID}
	pkg, errs := p.typeCheck(path, files, importing, nil, p.checksBodies(files))
	result.pkg, result.found = pkg, p.diagnose(path, files, errs)
	const maxCached = 8
	list := append([]*checked{result}, p.checker.cached[path]...)
	p.checker.cached[path] = slices.Clip(list[:min(maxCached, len(list))])
	return result
}

func (p *Pass) checksBodies(files []*File) bool {
	return p.options.Bodies && slices.Contains(p.dirs, files[0].Dir())
}

// typeCheck runs go/types on a package. info may be nil.
func (p *Pass) typeCheck(path string, files []*File, importing *imports, info *types.Info, bodies bool) (pkg *types.Package, errs []error) {
	config := &types.Config{
		GoVersion:        "go" + p.checker.module.Go,
		FakeImportC:      true,
		IgnoreFuncBodies: !bodies,
		Importer:         importing,
		Sizes:            types.SizesFor("gc", runtime.GOARCH),
		Error:            func(err error) { errs = append(errs, err) },
	}
	pkg, _ = config.Check(path, p.checker.fset, syntaxOf(files), info) // its error is the first of errs
	return pkg, errs
}

func syntaxOf(files []*File) (syntax []*ast.File) {
	for _, file := range files {
		syntax = append(syntax, file.Syntax)
	}
	return syntax
}

// key identifies the inputs of a check: files, whether their bodies are checked, and imported
// packages of the project. NewPass handles changes of packages from outside the project.
func (p *Pass) key(files []*File, importing *imports) string {
	var key strings.Builder
	fmt.Fprintf(&key, "%t ", p.checksBodies(files))
	for _, file := range files {
		key.WriteString(strconv.FormatUint(file.ID, 36) + " ")
	}
	seen := map[string]bool{}
	for _, file := range files {
		for _, i := range file.Imports() {
			if seen[i.Path] {
				continue
			}
			seen[i.Path] = true
			dir, ok := p.Dir(i.Path)
			if !ok {
				if !p.checker.found.Has(i.Path) {
					fmt.Fprintf(&key, "%s is missing ", i.Path)
				}
				continue
			}
			if loaded, err := p.load(i.Path, dir, importing.variant); err == nil {
				fmt.Fprintf(&key, "%s=%d ", i.Path, loaded.id)
			} else {
				fmt.Fprintf(&key, "%s=%v ", i.Path, err)
			}
		}
	}
	return key.String()
}

func (p *Pass) diagnose(path string, files []*File, errs []error) []Diagnostic {
	var found []Diagnostic
	for _, file := range files {
		var list scanner.ErrorList
		if errors.As(file.Err, &list) {
			for _, e := range list {
				found = append(found, Diagnostic{Package: path, File: file.Path, Line: e.Pos.Line, Column: e.Pos.Column, Message: "syntax error: " + e.Msg})
			}
		}
		for _, i := range file.Imports() {
			if !MayImport(path, i.Path) { // go/types allows it
				found = append(found, DiagnosticAt(p.checker.fset, i.Pos, path, "use of internal package "+i.Path+" not allowed"))
			}
		}
	}
	for _, err := range errs {
		var e types.Error
		if !errors.As(err, &e) {
			continue
		}
		d := DiagnosticAt(p.checker.fset, e.Pos, path, e.Msg)
		if d.Line == 0 && len(found) > 0 {
			continue // follows from a syntax error
		}
		if more, ok := strings.CutPrefix(e.Msg, "\t"); ok && len(found) > 0 { // continues the last error
			found[len(found)-1].Message += fmt.Sprintf("\n\t%s, in %s", more, d.File) // without the line, which may change
			continue
		}
		found = append(found, d)
	}
	return SortDiagnostics(found)
}

// MayImport reports whether the rule for internal packages allows a package to import another: it
// is at or below the parent of the folder internal.
func MayImport(path, other string) bool {
	at := strings.LastIndex("/"+other+"/", "/internal/")
	if at < 0 {
		return true
	}
	parent := other[:max(0, at-1)]
	return path == parent || strings.HasPrefix(path, parent+"/") || strings.TrimSuffix(path, "_test") == parent
}

// IsType reports whether t is the named type of the package with an import path.
func IsType(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}
