package typecheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/suite/vet"
)

// A Verdict is the errors of a project after a change.
type Verdict struct {
	New []Diagnostic // caused by the change
	Old []Diagnostic // existing errors of the packages that were checked
}

// Verify type-checks the packages that change from one view to another, and those that import them,
// tests included. An error is old if its package already had one with the same file and message.
func (c *Checker) Verify(ctx context.Context, before, after *View) (Verdict, error) {
	changed := changedDirs(before, after)
	if len(changed) == 0 {
		return Verdict{}, nil
	}
	found, err := c.Test(ctx, after, c.Importers(after, changed...))
	if err != nil || len(found) == 0 {
		return Verdict{}, err
	}
	earlier, err := c.Test(ctx, before, c.Importers(before, changed...))
	if err != nil {
		return Verdict{}, err
	}
	return compare(earlier, found), nil
}

func changedDirs(before, after *View) (changed []string) {
	for _, pair := range [2][2]*View{{before, after}, {after, before}} {
		for _, file := range pair[0].All() {
			if pair[1].File(file.Path) != file {
				changed = append(changed, file.Dir())
			}
		}
	}
	return changed
}

func compare(earlier, found []Diagnostic) Verdict {
	type key struct{ pkg, file, message string }
	known := map[key]int{}
	for _, d := range earlier {
		known[key{d.Package, d.File, d.Message}]++
	}
	var v Verdict
	for _, d := range found {
		k := key{d.Package, d.File, d.Message}
		if known[k]--; known[k] >= 0 {
			v.Old = append(v.Old, d)
		} else {
			v.New = append(v.New, d)
		}
	}
	return v
}

// Test type-checks the packages in folders, with all their tests. It checks only the declarations
// of the packages that they import.
func (c *Checker) Test(ctx context.Context, view *View, dirs []string) ([]Diagnostic, error) {
	pass, err := c.NewPass(ctx, view, dirs, PassOptions{Bodies: true})
	if err != nil {
		return nil, err
	}
	var found []Diagnostic
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found = append(found, pass.CheckWithTests(dir)...)
	}
	if err := pass.Err(); err != nil {
		return nil, err
	}
	return SortDiagnostics(found), nil
}

// CheckWithTests type-checks a package with all its tests, as the go command builds them.
func (p *Pass) CheckWithTests(dir string) (found []Diagnostic) {
	pkg := p.pkg(dir)
	importPath := p.checker.ImportPath(dir)
	if len(pkg.Files) > 0 {
		found = append(found, p.check(importPath, pkg.Files, nil).found...)
	}
	v := p.withInternalTests(importPath, pkg)
	if v != nil {
		found = append(found, v.pkg.found...)
	}
	if len(pkg.External) > 0 {
		found = append(found, p.check(importPath+"_test", pkg.External, v).found...)
	}
	for i := range found {
		found[i].Package = importPath
	}
	return found
}

// Importers returns folders, and the folders whose packages or tests import one of them, directly
// or indirectly, sorted.
func (c *Checker) Importers(view *View, dirs ...string) []string {
	importers := map[string][]string{} // by folder, the folders whose packages import it
	testers := map[string][]string{}   // by folder, the folders whose tests import it
	for _, file := range view.All() {
		for _, i := range file.Imports() {
			if imported, ok := c.dir(i.Path); ok && file.IsTest() {
				testers[imported] = append(testers[imported], file.Dir())
			} else if ok {
				importers[imported] = append(importers[imported], file.Dir())
			}
		}
	}
	targets := reach(dirs, func(dir string) []string { return importers[dir] })
	for dir := range maps.Clone(targets) {
		for _, tester := range testers[dir] { // without its importers: they do not import its tests
			targets[tester] = true
		}
	}
	return slices.Sorted(maps.Keys(targets))
}

// Imports returns the folders of the module's packages that the package in a folder imports,
// directly or indirectly, sorted. It leaves out imports of tests, of derived files, and of packages
// for which isLeaf is true.
func (c *Checker) Imports(view *View, dir string, isLeaf func(dir string) bool) []string {
	imports := func(dir string) (found []string) {
		for _, file := range view.Files(dir) {
			for _, i := range file.Imports() {
				if imported, ok := c.dir(i.Path); ok && !file.IsTest() && !file.IsDerived() {
					found = append(found, imported)
				}
			}
		}
		return found
	}
	return slices.Sorted(maps.Keys(reach(imports(dir), func(dir string) []string {
		if isLeaf(dir) {
			return nil
		}
		return imports(dir)
	})))
}

// reach returns the names, and those that next leads to from them.
func reach(names []string, next func(name string) []string) map[string]bool {
	reached := map[string]bool{}
	for open := slices.Clone(names); len(open) > 0; {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		if !reached[name] {
			reached[name] = true
			open = append(open, next(name)...)
		}
	}
	return reached
}

// Package returns the package in a folder, without its tests, and its errors. It returns nil for a
// folder without a package.
func (p *Pass) Package(dir string) (*types.Package, []Diagnostic) {
	pkg := p.pkg(dir)
	if len(pkg.Files) == 0 {
		return nil, nil
	}
	result := p.check(p.checker.ImportPath(dir), pkg.Files, nil)
	return result.pkg, result.found
}

// A Pass type-checks packages of one view of a project.
type Pass struct {
	checker  *Checker
	view     *View
	dirs     []string
	options  PassOptions
	packages map[string]*Package // by folder
	imports  map[string][]string // by import path, the packages of the project that it imports
	loaded   map[string]*checked // by import path and variant
	loading  []string            // import paths of the packages being checked, outermost first
	err      error               // see Err
}

// Err returns an error if export data could not be read. The results of the pass are invalid then.
func (p *Pass) Err() error { return p.err }

// pkg returns the package in a folder, which may have no files.
func (p *Pass) pkg(dir string) *Package {
	if p.packages[dir] == nil {
		p.packages[dir] = cmp.Or(p.view.Package(dir, p.options.Skip), &Package{Dir: dir})
	}
	return p.packages[dir]
}

// Dir returns the folder of an imported package of the project.
func (p *Pass) Dir(imported string) (dir string, ok bool) {
	dir, ok = p.checker.dir(imported)
	return dir, ok && len(p.view.Files(dir)) > 0
}

// outside returns the packages from outside the project that packages import, directly or
// indirectly, sorted.
func (p *Pass) outside(dirs []string) []string {
	paths := map[string]bool{}
	reach(dirs, func(dir string) (inside []string) {
		pkg := p.pkg(dir)
		files := pkg.Files
		if slices.Contains(dirs, dir) {
			files = pkg.All()
		}
		for _, file := range files {
			for _, i := range file.Imports() {
				if next, ok := p.Dir(i.Path); ok {
					inside = append(inside, next)
				} else {
					paths[i.Path] = true
				}
			}
		}
		return inside
	})
	return slices.Sorted(maps.Keys(paths))
}

// A variant is a package compiled with its internal tests, which external tests import.
type variant struct {
	path string
	pkg  *checked
}

// withInternalTests returns the variant of a package, or nil if it has no internal tests.
func (p *Pass) withInternalTests(path string, pkg *Package) *variant {
	if len(pkg.Internal) == 0 {
		return nil
	}
	return &variant{path: path, pkg: p.check(path, slices.Concat(pkg.Files, pkg.Internal), nil)}
}

type imports struct {
	pass    *Pass
	variant *variant
}

// Import implements [types.Importer].
func (i *imports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	dir, ok := i.pass.Dir(path)
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
	if !p.checker.found.Has(path) {
		if dir, ok := p.checker.dir(path); ok {
			return nil, errors.New("the project has no Go files in folder " + dir)
		}
		return nil, errors.New(p.checker.found.Reason(path))
	}
	pkg, err := p.checker.outside.Import(path)
	if err != nil {
		p.err = fmt.Errorf("read export data of %s: %w; petrock was built with %s, and the go command may be newer: rebuild petrock, or run go run ./cmd/petrock", path, err, runtime.Version())
	}
	return pkg, err
}

// importChain returns the import paths from a package of the project to another that it imports,
// directly or indirectly. It returns nil if there is no such chain.
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
			if chain := visit(next); chain != nil {
				return append([]string{path}, chain...)
			}
		}
		return nil
	}
	return visit(path)
}

func (p *Pass) importsOf(path string) []string {
	list, known := p.imports[path]
	if known {
		return list
	}
	if dir, ok := p.Dir(path); ok {
		for _, file := range p.pkg(dir).Files {
			for _, i := range file.Imports() {
				if _, ours := p.Dir(i.Path); ours && !slices.Contains(list, i.Path) {
					list = append(list, i.Path)
				}
			}
		}
	}
	p.imports[path] = list
	return list
}

// An InspectedPackage is a package with full type information.
type InspectedPackage struct {
	Files []*File
	Info  *types.Info // incomplete if the package does not compile

	types *types.Package
	errs  []error
}

// Inspect type-checks the package in a folder, without its tests, with full type information. It
// returns nil for a folder without a package.
func (p *Pass) Inspect(dir string) *InspectedPackage {
	pkg := p.pkg(dir)
	if len(pkg.Files) == 0 {
		return nil
	}
	return p.inspect(p.checker.ImportPath(dir), pkg.Files, nil)
}

// InspectTests is Inspect for a package with its internal tests, and for its external tests.
func (p *Pass) InspectTests(dir string) (found []*InspectedPackage) {
	pkg := p.pkg(dir)
	path := p.checker.ImportPath(dir)
	inside := slices.Concat(pkg.Files, pkg.Internal)
	if len(inside) > 0 {
		found = append(found, p.inspect(path, inside, nil))
	}
	if len(pkg.External) > 0 {
		found = append(found, p.inspect(path+"_test", pkg.External, p.withInternalTests(path, pkg)))
	}
	return found
}

func (p *Pass) inspect(path string, files []*File, v *variant) *InspectedPackage {
	p.loading = append(p.loading, path)
	defer func() { p.loading = p.loading[:len(p.loading)-1] }()
	inspected := &InspectedPackage{Files: files, Info: &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},

		Instances:    map[*ast.Ident]types.Instance{},
		Implicits:    map[ast.Node]types.Object{},
		Scopes:       map[ast.Node]*types.Scope{},
		FileVersions: map[*ast.File]string{},
	}}
	inspected.types, inspected.errs = p.typeCheck(path, files, &imports{pass: p, variant: v}, inspected.Info, true) // Verify reports type errors
	return inspected
}

// VetMark starts the message of a finding of go vet. Compile errors do not have it.
const VetMark = "vet: "

// Vet runs the checks of go vet that go test runs, on the packages in folders with their tests. It
// skips packages that do not compile or use cgo, and returns their folders. Calls of wrappers of
// fmt.Printf in other packages are not checked.
func (c *Checker) Vet(ctx context.Context, view *View, dirs []string) (found []Diagnostic, skipped []string, err error) {
	return c.vet(ctx, view, dirs, "atomic bools buildtag directive errorsas ifaceassert nilfunc printf stringintconv tests")
}

// VetAll is [Checker.Vet] with all checks of go vet that need no facts about other packages, and no
// assembly or cgo.
func (c *Checker) VetAll(ctx context.Context, view *View, dirs []string) (found []Diagnostic, skipped []string, err error) {
	return c.vet(ctx, view, dirs, `appends assign atomic bools buildtag composites copylocks defers directive errorsas hostport
		httpresponse ifaceassert loopclosure nilfunc printf shift sigchanyzer slog stdmethods stringintconv structtag
		testinggoroutine tests timeformat unmarshal unreachable unsafeptr unusedresult waitgroup`)
}

// vet runs the checks of go vet with these names.
func (c *Checker) vet(ctx context.Context, view *View, dirs []string, names string) (found []Diagnostic, skipped []string, err error) {
	pass, err := c.NewPass(ctx, view, dirs, PassOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range dirs {
		for _, pkg := range pass.InspectTests(dir) {
			if len(pkg.errs) > 0 || slices.ContainsFunc(pkg.Files, (*File).UsesCgo) { // analyzers need the types of C
				skipped = append(skipped, dir)
				continue
			}
			v := &vetting{checker: c, pkg: pkg, results: map[*analysis.Analyzer]any{}, facts: map[factKey]analysis.Fact{}}
			for _, analyzer := range vet.Suite {
				if !slices.Contains(strings.Fields(names), analyzer.Name) {
					continue
				}
				if _, err := v.run(analyzer); err != nil {
					return nil, nil, fmt.Errorf("vet %s: %s: %w", dir, analyzer.Name, err)
				}
			}
			found = append(found, v.found...)
		}
	}
	return SortDiagnostics(found), skipped, pass.Err()
}

// A vetting runs analyzers on one package.
type vetting struct {
	checker *Checker
	pkg     *InspectedPackage
	results map[*analysis.Analyzer]any
	facts   map[factKey]analysis.Fact
	found   []Diagnostic
}

type factKey struct {
	object types.Object
	kind   reflect.Type
}

// run runs an analyzer after those that it requires, once.
func (v *vetting) run(a *analysis.Analyzer) (any, error) {
	if result, known := v.results[a]; known {
		return result, nil
	}
	results := map[*analysis.Analyzer]any{}
	for _, required := range a.Requires {
		result, err := v.run(required)
		if err != nil {
			return nil, err
		}
		results[required] = result
	}
	result, err := a.Run(&analysis.Pass{
		Analyzer: a, Fset: v.checker.fset, Files: syntaxOf(v.pkg.Files), Pkg: v.pkg.types, TypesInfo: v.pkg.Info,
		TypesSizes: types.SizesFor("gc", runtime.GOARCH), ResultOf: results,
		Report: func(d analysis.Diagnostic) {
			v.found = append(v.found, DiagnosticAt(v.checker.fset, d.Pos, "", VetMark+d.Message))
		},
		ImportObjectFact: v.importFact,
		ExportObjectFact: func(object types.Object, fact analysis.Fact) { v.facts[factKey{object, reflect.TypeOf(fact)}] = fact },
	})
	v.results[a] = result
	return result, err
}

func (v *vetting) importFact(object types.Object, fact analysis.Fact) bool {
	known, ok := v.facts[factKey{object, reflect.TypeOf(fact)}]
	if ok {
		reflect.ValueOf(fact).Elem().Set(reflect.ValueOf(known).Elem())
	}
	return ok
}
