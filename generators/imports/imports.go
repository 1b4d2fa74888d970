// Package imports adds missing imports to Go files of a project. It searches the standard library, the
// project, and the modules that its go.mod requires. It does not download modules or change go.mod.
//
// A file lacks an import if it uses an undeclared identifier before a dot, such as strings in
// strings.ToUpper. A package matches if it has that name and exports all selectors that the file uses. If
// several match, the order of preference is:
//
//  1. packages that other files of the same package import under that name; for an external test, the
//     package that it tests;
//  2. packages of the standard library;
//  3. importable packages of the project;
//  4. packages of required modules: first those of direct requirements, then those that the project
//     already imports.
//
// Within a level, packages with fewer path elements come first, then newer versions, then alphabetical
// order. A few names of the standard library have a fixed order, such as text/template before html/template.
package imports

import (
	"cmp"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// A Resolver finds packages for files of one project. It caches the exported names of packages outside the
// project. It is not safe for concurrent use.
type Resolver struct {
	root     *os.Root
	module   string
	cache    *typecheck.ExportCache
	system   typecheck.System
	standard *standard // the standard library for system; nil before the first call
	modules  *modules  // nil before they are needed
	excluded []string  // folders of the project to ignore
}

// NewResolver returns a resolver for the project of a module in root. It ignores packages in and below the
// excluded folders.
func NewResolver(root *os.Root, module string, cache *typecheck.ExportCache, excluded ...string) *Resolver {
	return &Resolver{root: root, module: module, cache: cache, excluded: excluded}
}

// Missing is a name for which no package was found.
type Missing struct {
	Name      string
	Selectors []string // the selectors that the file uses, sorted
	Reason    string   // the reason, and a remedy after a semicolon
}

// Add adds missing imports to a file. The file may be new or part of the view. Add also returns the names
// for which it found no package, sorted. If the file does not parse, Add returns it unchanged.
func (s *Resolver) Add(ctx context.Context, view *typecheck.View, file string, text []byte) (out []byte, missing []Missing, err error) {
	syntax, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
	if err != nil {
		return text, nil, nil // Verify reports the syntax error
	}
	wanted := references(syntax)
	if len(wanted) == 0 {
		return text, nil, nil
	}
	if err := s.refresh(ctx); err != nil {
		return nil, nil, err
	}
	p := s.place(view, file, syntax)
	if err := s.removeDeclared(ctx, p, syntax, wanted); err != nil {
		return nil, nil, err
	}
	var found []Import
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		best, near, err := s.findPackage(ctx, p, want{name, wanted[name]})
		switch {
		case err != nil:
			return nil, nil, err
		case best == nil:
			missing = append(missing, Missing{Name: name, Selectors: wanted[name], Reason: s.explainMissing(want{name, wanted[name]}, near)})
		case !hasImport(syntax, best.path):
			found = append(found, best.importAs(name))
		}
	}
	return s.insert(p, text, found), missing, nil
}

// refresh drops cached packages if the target system has changed.
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
		s.system, s.standard, s.modules = system, listed, nil
	}
	if system.Local {
		s.modules = nil // local modules may change at any time
	}
	return nil
}

// findPackage finds the package with the wanted name and selectors. If none matches, it returns packages
// with that name that lack selectors or cannot be imported.
func (s *Resolver) findPackage(ctx context.Context, p *place, w want) (found *candidate, near []*candidate, err error) {
	for _, level := range []func(context.Context, *place, want) ([]*candidate, error){
		s.ofSiblings, s.ofTested, s.ofStandard, s.ofProject, s.ofModules,
	} {
		candidates, err := level(ctx, p, w)
		if err != nil {
			return nil, nil, err
		}
		slices.SortFunc(candidates, func(a, b *candidate) int { return a.compare(b, w.name) })
		for _, c := range candidates {
			if c.problem == "" {
				return c, nil, nil
			}
			if !slices.ContainsFunc(near, func(n *candidate) bool { return n.path == c.path }) {
				near = append(near, c)
			}
		}
	}
	return nil, near, nil
}

// A want is a package that a file lacks: its name and the selectors that the file uses.
type want struct {
	name      string
	selectors []string
}

// missingFrom describes the selectors that a package does not have. It is empty if it has all.
func (w want) missingFrom(has func(name string) bool) string {
	missing := slices.DeleteFunc(slices.Clone(w.selectors), has)
	if len(missing) == 0 {
		return ""
	}
	return "has no " + enumerate(missing, "or")
}

// references returns the identifiers before a dot that neither the file nor Go declares, each with the
// exported names after the dot, sorted.
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

// removeDeclared removes the names that other files of the package declare, and those of the file's imports.
func (s *Resolver) removeDeclared(ctx context.Context, p *place, syntax *ast.File, wanted map[string][]string) error {
	for _, file := range p.siblings() {
		for _, name := range file.Names() {
			delete(wanted, name)
		}
	}
	for _, spec := range syntax.Imports {
		switch i := importOf(spec); i.Name {
		case "":
			if err := s.removeImported(ctx, p, i.Path, wanted); err != nil {
				return err
			}
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
	return nil
}

// removeImported removes the name of an unnamed import: the name that its path implies, or, if the file
// does not use that, the name in its package clause.
func (s *Resolver) removeImported(ctx context.Context, p *place, imported string, wanted map[string][]string) error {
	if pkg := p.inside(imported); pkg != nil {
		delete(wanted, pkg.Name)
		return nil
	}
	before := len(wanted)
	delete(wanted, path.Base(imported))
	delete(wanted, nameByPath(imported))
	if len(wanted) < before || len(wanted) == 0 || imported == "C" || s.standard.has(imported) {
		return nil
	}
	modules, err := s.required(ctx, p)
	if err != nil {
		return err
	}
	if pkg := modules.byPath[imported]; pkg != nil {
		delete(wanted, pkg.Name)
	}
	return nil
}

// nameByPath returns the name that a path implies: its last element, without a version such as /v2 or .v3.
func nameByPath(imported string) string {
	rest, _ := cutVersion(imported)
	return path.Base(rest)
}

// cutVersion cuts the version off a path: a last element /v2 or higher, or any .vN. The version is 0 for a
// path without one.
func cutVersion(imported string) (rest string, version int) {
	at := max(0, strings.LastIndexAny(imported, "/."))
	digits, ok := strings.CutPrefix(imported[at:], "/v")
	least := 2
	if !ok {
		digits, ok = strings.CutPrefix(imported[at:], ".v")
		least = 0
	}
	version, err := strconv.Atoi(digits)
	if !ok || err != nil || version < least || strconv.Itoa(version) != digits {
		return imported, 0
	}
	return imported[:at], version
}

// mentions reports whether one of the last two elements of a path contains a name.
func mentions(imported, name string) bool {
	plain := strings.NewReplacer("-", "", "_", "", ".", "")
	words := strings.Split(strings.ToLower(imported), "/")
	for _, word := range words[max(0, len(words)-2):] {
		if strings.Contains(plain.Replace(word), plain.Replace(strings.ToLower(name))) {
			return true
		}
	}
	return false
}

func isAtOrBelow(imported, parent string) bool {
	return imported == parent || strings.HasPrefix(imported, parent+"/")
}

func enumerate(words []string, and string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + and + " " + words[last]
}

// exportedNames returns the names that files of a folder export. It ignores unreadable files.
func exportedNames(dir string, files []string) map[string]bool {
	exported := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			continue
		}
		syntax, _ := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		for _, name := range typecheck.DeclaredNames(syntax) {
			if ast.IsExported(name) {
				exported[name] = true
			}
		}
	}
	return exported
}

type candidate struct {
	path        string
	name        string // from its package clause
	rank        int    // lower is better, see compare
	problem     string // why it cannot be used, such as "has no F"; empty if it can
	isForbidden bool   // whether it has the selectors, but cannot be imported
}

// importAs returns the import of the candidate under a name. It omits the name if the path implies it.
func (c *candidate) importAs(name string) Import {
	if c.name == name && (name == path.Base(c.path) || name == nameByPath(c.path)) {
		return Import{Path: c.path}
	}
	return Import{Name: name, Path: c.path}
}

// compare orders candidates of one level: by rank, by preference, by the number of path elements without a
// version, newer versions first, then alphabetically.
func (c *candidate) compare(other *candidate, name string) int {
	path, version := cutVersion(c.path)
	otherPath, otherVersion := cutVersion(other.path)
	return cmp.Or(
		cmp.Compare(c.rank, other.rank),
		cmp.Compare(preference(name, c.path), preference(name, other.path)),
		cmp.Compare(strings.Count(path, "/"), strings.Count(otherPath, "/")),
		cmp.Compare(otherVersion, version),
		cmp.Compare(c.path, other.path),
	)
}

// preference ranks packages of the standard library that share a name and some selectors; lower is better.
//
//   - rand: rand.Int without rand.Reader means math/rand/v2, because crypto/rand.Int needs a Reader.
//     rand.Read means crypto/rand, because math/rand.Read is deprecated. goimports uses crypto/rand for both.
//   - template: text/template, unless the file uses a name that only html/template has, such as HTML.
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

func (s *Resolver) explainMissing(w want, near []*candidate) string {
	if len(near) == 0 {
		reason := "no package " + w.name + " with " + enumerate(w.selectors, "and") + " in the standard library, this project or its required modules"
		if s.modules != nil && len(s.modules.unread) > 0 {
			return reason + ", some of which cannot be read (" + strings.Join(s.modules.unread, "; ") + "); run go mod download"
		}
		return reason + "; if it is in another module, run go get for that module, or import the package explicitly"
	}
	var problems []string
	for _, c := range near {
		problems = append(problems, c.path+" "+c.problem)
	}
	switch {
	case len(near) == 1 && near[0].isForbidden:
		return "package " + problems[0] + "; move the code to a package that this file can import"
	case len(near) == 1:
		return "package " + problems[0] + "; correct the name, or import another package explicitly"
	}
	return "no package " + w.name + " has " + enumerate(w.selectors, "and") + ": " + strings.Join(problems, ", ") +
		"; import the packages explicitly, each under a different name"
}
