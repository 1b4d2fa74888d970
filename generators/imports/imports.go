// Package imports adds missing imports to Go files of a project: of the standard library, of the
// project, and of packages of other modules that the project already imports.
//
// A file lacks an import if it uses an undeclared identifier before a dot, such as strings in
// strings.ToUpper. A package matches if it has that name and exports all selectors that the file
// uses; those of other modules match by name. If several match, the order of preference is:
//
//  1. packages that other files of the same package, or for a test all other files in its folder,
//     import under that name; for an external test, first the package that it tests;
//  2. packages of the standard library;
//  3. importable packages of the project;
//  4. packages of other modules that files of the project import under that name.
//
// Within the levels 1 and 4, packages that more files import come first. Otherwise, packages with
// fewer path elements come first, then alphabetical order, then newer versions. A few names of the
// standard library have a fixed order, such as text/template before html/template.
package imports

import (
	"cmp"
	"context"
	"go/ast"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/petrock/petrock/generators/typecheck"
)

// A Resolver finds packages for files of one project. It caches the exported names of the standard
// library. It is not safe for concurrent use.
type Resolver struct {
	module   string
	cache    *typecheck.ExportCache
	system   typecheck.System
	standard map[string]*standardPackage // of system, by import path; nil before the first call
	excluded []string                    // folders of the project to ignore
}

// NewResolver returns a resolver for the project of a module. It ignores packages in and below the
// excluded folders.
func NewResolver(module string, cache *typecheck.ExportCache, excluded ...string) *Resolver {
	return &Resolver{module: module, cache: cache, excluded: excluded}
}

// A Missing is a name for which no package was found.
type Missing struct {
	Name   string
	Reason string // the reason, and a remedy after a semicolon
}

// Add adds missing imports to a file. The file may be new or part of the view. Add also returns the
// names for which it found no package, sorted. If the file does not parse, Add returns it
// unchanged.
func (s *Resolver) Add(ctx context.Context, view *typecheck.View, file string, text []byte) (out []byte, missing []Missing, err error) {
	p, err := s.place(ctx, view, file, text)
	if p == nil {
		return text, nil, err
	}
	wanted := references(p.syntax)
	p.removeDeclared(wanted)
	var found []Import
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		best, near := s.findPackage(p, want{name, wanted[name]})
		switch {
		case best == nil:
			missing = append(missing, Missing{Name: name, Reason: explainMissing(want{name, wanted[name]}, near)})
		case !hasImport(p.syntax, best.path):
			found = append(found, best.importAs(name))
		}
	}
	return s.insert(p, text, found), missing, nil
}

// refresh lists the standard library again if the target system has changed.
func (s *Resolver) refresh(ctx context.Context) error {
	system, err := s.cache.System(ctx)
	if err != nil {
		return err
	}
	if s.standard == nil || !s.system.Equal(system) {
		listed, err := listStandard(system)
		if err != nil {
			return err
		}
		s.system, s.standard = system, listed
	}
	return nil
}

// findPackage finds the package with the wanted name and selectors. If none matches, it returns
// packages with that name that lack selectors or cannot be imported.
func (s *Resolver) findPackage(p *place, w want) (found *candidate, near []*candidate) {
	for _, level := range []func(*place, want) []*candidate{s.ofSiblings, s.ofStandard, s.ofProject, s.ofOthers} {
		candidates := level(p, w)
		slices.SortFunc(candidates, func(a, b *candidate) int { return a.compare(b, w.name) })
		for _, c := range candidates {
			if c.problem == "" {
				return c, nil
			}
			if !slices.ContainsFunc(near, func(n *candidate) bool { return n.path == c.path }) {
				near = append(near, c)
			}
		}
	}
	return nil, near
}

// A want is a package that a file lacks: its name and the selectors that the file uses.
type want struct {
	name      string
	selectors []string
}

// candidate returns a package as a candidate. has reports whether it exports a name.
func (w want) candidate(path, name string, has func(name string) bool) *candidate {
	c := &candidate{path: path, name: name}
	if missing := slices.DeleteFunc(slices.Clone(w.selectors), has); len(missing) > 0 {
		c.problem = "has no " + strings.Join(missing, ", ")
	}
	return c
}

// references returns the identifiers before a dot that neither the file nor Go declares, each with
// the exported names after the dot, sorted.
func references(file *ast.File) map[string][]string {
	unresolved := map[*ast.Ident]bool{}
	for _, name := range file.Unresolved {
		unresolved[name] = true
	}
	found := map[string][]string{}
	for node := range ast.Preorder(file) {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		x, ok := selector.X.(*ast.Ident)
		if ok && unresolved[x] && selector.Sel.IsExported() && x.Name != "_" && types.Universe.Lookup(x.Name) == nil {
			found[x.Name] = append(found[x.Name], selector.Sel.Name)
		}
	}
	for name, selectors := range found {
		slices.Sort(selectors)
		found[name] = slices.Compact(selectors)
	}
	return found
}

// removeDeclared removes the names that other files of the package declare, and those of the file's
// imports.
func (p *place) removeDeclared(wanted map[string][]string) {
	for _, file := range p.view.Files(p.dir) {
		if p.isSibling(file) {
			for _, name := range file.Names() {
				delete(wanted, name)
			}
		}
	}
	for _, spec := range p.syntax.Imports {
		switch i := importOf(spec); i.Name {
		case "":
			delete(wanted, p.nameOf(i.Path))
			delete(wanted, path.Base(i.Path))
		case ".":
			for name := range wanted {
				if ast.IsExported(name) {
					delete(wanted, name) // the dot import may declare it
				}
			}
		default:
			delete(wanted, i.Name)
		}
	}
}

// nameByPath returns the name that a path implies: its last element, without a version such as /v2
// or .v3, and without the prefix go-.
func nameByPath(imported string) string {
	rest, _, _ := module.SplitPathVersion(imported)
	return strings.TrimPrefix(path.Base(rest), "go-")
}

func isAtOrBelow(imported, parent string) bool {
	return imported == parent || strings.HasPrefix(imported, parent+"/")
}

type candidate struct {
	path    string
	name    string // from its package clause
	rank    int    // lower is better, see compare
	problem string // why it cannot be used, such as "has no F"; empty if it can
}

// importAs returns the import of the candidate under a name. It omits the name if the path implies
// it.
func (c *candidate) importAs(name string) Import {
	if c.name == name && (name == path.Base(c.path) || name == nameByPath(c.path)) {
		return Import{Path: c.path}
	}
	return Import{Name: name, Path: c.path}
}

// compare orders candidates of one level: by rank, by preference, by the number of path elements
// without a version, alphabetically, then newer versions first.
func (c *candidate) compare(other *candidate, name string) int {
	path, _, _ := module.SplitPathVersion(c.path)
	otherPath, _, _ := module.SplitPathVersion(other.path)
	return cmp.Or(
		cmp.Compare(c.rank, other.rank),
		cmp.Compare(preference(name, c.path), preference(name, other.path)),
		cmp.Compare(strings.Count(path, "/"), strings.Count(otherPath, "/")),
		cmp.Compare(path, otherPath),
		cmp.Compare(other.path, c.path),
	)
}

// preference ranks packages of the standard library that share a name and some selectors; lower is
// better.
//
//   - rand: rand.Int without rand.Reader means math/rand/v2, because crypto/rand.Int needs a
//     Reader. rand.Read means crypto/rand, because math/rand.Read is deprecated. goimports uses
//     crypto/rand for both.
//   - template: text/template, unless the file uses a name that only html/template has, such as
//     HTML.
//   - json: encoding/json, because version 2 behaves differently under the same names.
func preference(name, path string) int {
	order := map[string][]string{
		"rand":     {"math/rand/v2", "crypto/rand", "math/rand"},
		"template": {"text/template", "html/template"},
		"json":     {"encoding/json", "encoding/json/v2"},
	}[name]
	if at := slices.Index(order, path); at >= 0 {
		return at
	}
	return len(order)
}

func explainMissing(w want, near []*candidate) string {
	if len(near) == 0 {
		return "no package " + w.name + " with " + strings.Join(w.selectors, ", ") + " in the standard library or this project; " +
			"import a package of another module explicitly"
	}
	var problems []string
	for _, c := range near {
		problems = append(problems, "package "+c.path+" "+c.problem)
	}
	return strings.Join(problems, ", ") + "; correct the name, or import another package explicitly"
}
