// Package imports adds to a Go file of a project the imports that it lacks. Packages are sought in
// the standard library, in the project, and in the modules that its go.mod requires, and nowhere
// else: nothing is downloaded, and go.mod stays as it is.
//
// What is wanted are names in front of a dot that nothing declares, such as strings in
// strings.ToUpper. A package fits if it is called so and exports all that the file wants of it. If
// several fit, the first of these is taken:
//
//  1. what other files of the same package import under that name, and for a test that stands
//     outside of its package, that package;
//  2. a package of the standard library;
//  3. one of the project that may be imported;
//  4. one of a required module, those that go.mod requires directly first, then those that the
//     project imports elsewhere.
//
// Among those that are equal so far, the one with fewer words in its path is taken, then the newer
// version, then the first of the alphabet. For a few names custom decides instead, such as
// text/template before html/template.
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

// A Seeker finds packages for files of one project. It caches what it has read of packages outside the
// project. It is not safe for concurrent use.
type Seeker struct {
	root     *os.Root
	module   string
	cache    *typecheck.ExportCache
	system   typecheck.System
	standard *standard // of system; nil before the first call
	modules  *modules  // nil before they are needed
	excluded []string  // folders of the project to leave out
}

// NewSeeker returns a seeker for the project of a module in root. It leaves out packages in the
// excluded folders and below them.
func NewSeeker(root *os.Root, module string, cache *typecheck.ExportCache, without ...string) *Seeker {
	return &Seeker{root: root, module: module, cache: cache, excluded: without}
}

// Missing is a name for which no package was found.
type Missing struct {
	Name   string
	Wanted []string // the selectors that the file uses, sorted
	Why    string   // the reason and the remedy, in one sentence
}

// Add returns a file of the view, or to be added to it, with the imports that it lacks. Names without a
// package are returned as missing, sorted. A file that does not parse is returned as it is.
func (s *Seeker) Add(ctx context.Context, view *typecheck.View, file string, text []byte) (out []byte, missing []Missing, err error) {
	syntax, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
	if err != nil {
		return text, nil, nil // verifying reports the syntax error
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
			missing = append(missing, Missing{Name: name, Wanted: wanted[name], Why: s.explainMissing(want{name, wanted[name]}, near)})
		case !imported(syntax, best.path):
			found = append(found, best.importAs(name))
		}
	}
	return s.insert(p, text, found), missing, nil
}

// refresh drops cached packages if the target system has changed.
func (s *Seeker) refresh(ctx context.Context) error {
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

// findPackage finds the package with the wanted name and selectors. If there is none, it returns
// packages with the name that lack selectors or cannot be imported.
func (s *Seeker) findPackage(ctx context.Context, p *place, w want) (found *candidate, near []candidate, err error) {
	for _, level := range []func(context.Context, *place, want) ([]candidate, error){
		s.ofSiblings, s.ofTested, s.ofStandard, s.ofProject, s.ofModules,
	} {
		candidates, err := level(ctx, p, w)
		if err != nil {
			return nil, nil, err
		}
		slices.SortFunc(candidates, func(a, b candidate) int { return a.compare(b, w.name) })
		for _, c := range candidates {
			if c.fault == "" {
				return &c, nil, nil
			}
			if !slices.ContainsFunc(near, func(n candidate) bool { return n.path == c.path }) {
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

func (w want) lacks(has func(name string) bool) string {
	var lacking []string
	for _, selector := range w.selectors {
		if !has(selector) {
			lacking = append(lacking, selector)
		}
	}
	if len(lacking) == 0 {
		return ""
	}
	return "has no " + enumerate(lacking, "or")
}

// references returns the identifiers before a dot that neither the file nor Go declares, each with the
// exported names after the dot, sorted.
func references(file *ast.File) map[string][]string {
	unresolved := map[*ast.Ident]bool{}
	for _, name := range file.Unresolved {
		unresolved[name] = true
	}
	found := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := selector.X.(*ast.Ident)
		if ok && unresolved[x] && selector.Sel.IsExported() && x.Name != "_" && types.Universe.Lookup(x.Name) == nil {
			found[x.Name] = append(found[x.Name], selector.Sel.Name)
		}
		return true
	})
	for name, selectors := range found {
		slices.Sort(selectors)
		found[name] = slices.Compact(selectors)
	}
	return found
}

// removeDeclared removes the names that other files of the package declare, and those of the file's
// imports.
func (s *Seeker) removeDeclared(ctx context.Context, p *place, syntax *ast.File, wanted map[string][]string) error {
	for _, file := range p.siblings() {
		for _, name := range file.Names() {
			delete(wanted, name)
		}
	}
	var unnamed []string
	for _, spec := range syntax.Imports {
		switch i := importOf(spec); i.Name {
		case "":
			unnamed = append(unnamed, i.Path)
		case ".":
			for name := range wanted {
				if ast.IsExported(name) {
					delete(wanted, name) // it may come from the dot import
				}
			}
		default:
			delete(wanted, i.Name)
		}
	}
	for _, path := range unnamed {
		if err := s.removeImported(ctx, p, path, wanted); err != nil {
			return err
		}
	}
	return nil
}

// removeImported removes the name of an import without a name: the one that its path implies if the
// file uses that, or else the one in the package clause.
func (s *Seeker) removeImported(ctx context.Context, p *place, imported string, wanted map[string][]string) error {
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

// nameByPath is the name that a path implies: its last element, without a version such as /v2, or .v3
// at gopkg.in.
func nameByPath(imported string) string {
	rest, _ := cutVersion(imported)
	return path.Base(rest)
}

// cutVersion splits a version off a path: an element v2 or higher, or any version after a dot. It is 0
// if there is none.
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

func below(imported, parent string) bool {
	return imported == parent || strings.HasPrefix(imported, parent+"/")
}

func enumerate(words []string, and string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + and + " " + words[last]
}

// scan returns the names that files of a folder export. Files that cannot be read are ignored.
func scan(dir string, files []string) map[string]bool {
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
	path   string
	name   string // in its package clause
	rank   int    // lower is better, see compare
	fault  string // why it cannot be used, to follow its path in a sentence; empty if it can
	barred bool   // it has the selectors, but cannot be imported
}

// importAs is the import of the candidate under a name, which is left out if the path implies it.
func (c candidate) importAs(name string) Import {
	if c.name == name && (name == path.Base(c.path) || name == nameByPath(c.path)) {
		return Import{Path: c.path}
	}
	return Import{Name: name, Path: c.path}
}

// compare orders candidates of one level: by rank, by custom, by the number of path elements without a
// version, newer versions first, then alphabetically.
func (c candidate) compare(other candidate, name string) int {
	mine, version := cutVersion(c.path)
	its, otherVersion := cutVersion(other.path)
	return cmp.Or(
		cmp.Compare(c.rank, other.rank),
		cmp.Compare(customary(name, c.path), customary(name, other.path)),
		cmp.Compare(strings.Count(mine, "/"), strings.Count(its, "/")),
		cmp.Compare(otherVersion, version),
		cmp.Compare(c.path, other.path),
	)
}

// customary ranks packages of the standard library that share a name and some selectors; lower is
// more common.
//
//   - rand: Int alone is math/rand/v2's, as that of crypto/rand takes a rand.Reader too. Read is
//     crypto/rand's, as that of math/rand is deprecated. goimports takes crypto/rand for both.
//   - template: text/template, unless what only html/template has is wanted, such as template.HTML.
//   - json: encoding/json, as version 2 does other things under the same names.
func customary(name, path string) int {
	var order []string
	switch name {
	case "rand":
		order = []string{"math/rand/v2", "crypto/rand", "math/rand"}
	case "template":
		order = []string{"text/template", "html/template"}
	case "json":
		order = []string{"encoding/json", "encoding/json/v2"}
	}
	if at := slices.Index(order, path); at >= 0 {
		return at
	}
	return len(order)
}

func (s *Seeker) explainMissing(w want, near []candidate) string {
	if len(near) == 0 {
		why := "no package " + w.name + " with " + enumerate(w.selectors, "and") + " is in the standard library, this project or the modules that it requires"
		if s.modules != nil && len(s.modules.unread) > 0 {
			return why + ", of which some could not be looked into (" + strings.Join(s.modules.unread, "; ") + "): go mod download may help"
		}
		return why + "; if it is in another module, add that with go get, or import it explicitly"
	}
	var words []string
	for _, c := range near {
		words = append(words, c.path+" "+c.fault)
	}
	switch {
	case len(near) == 1 && near[0].barred:
		return "package " + words[0] + "; move what is wanted of it to a package that can be imported here"
	case len(near) == 1:
		return "package " + words[0] + "; correct what is wanted of it, or import the package that is meant explicitly"
	}
	return "no package " + w.name + " has " + enumerate(w.selectors, "and") + ": " + strings.Join(words, ", ") +
		"; import those that are meant explicitly, each under a name of its own"
}
