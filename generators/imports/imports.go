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
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/tools/go/ast/astutil"

	"github.com/petrock/petrock/generators/gen"
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

// An Import is a package that a file imports.
type Import = gen.Import

// Insert adds imports to a file, whether the file uses them or not. If the file does not parse,
// Insert returns it unchanged.
func (s *Resolver) Insert(ctx context.Context, view *typecheck.View, file string, text []byte, list []Import) ([]byte, error) {
	if len(list) == 0 {
		return text, nil
	}
	p, err := s.place(ctx, view, file, text)
	if p == nil {
		return text, err
	}
	var missing []Import
	for _, i := range list {
		if i.Name != "" || !hasImport(p.syntax, i.Path) {
			missing = append(missing, i)
		}
	}
	return s.insert(p, text, missing), nil
}

// RemoveUnused removes imports that a file does not use: packages of the standard library and of
// the project, whose names are known. It formats the file if it removes one. If the file does not
// parse, RemoveUnused returns it unchanged.
func (s *Resolver) RemoveUnused(ctx context.Context, view *typecheck.View, file string, text []byte) ([]byte, error) {
	p, err := s.place(ctx, view, file, text)
	if p == nil {
		return text, err
	}
	used := map[string]bool{}
	for node := range ast.Preorder(p.syntax) {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
	}
	removed := false
	for _, spec := range slices.Clone(p.syntax.Imports) {
		i := importOf(spec)
		isKnown := i.Name != "" || s.standard[i.Path] != nil || isAtOrBelow(i.Path, p.module) // also if its last file moves
		name := cmp.Or(i.Name, p.nameOf(i.Path))
		if isKnown && name != "_" && name != "." && !used[name] {
			removed = astutil.DeleteNamedImport(p.fset, p.syntax, i.Name, i.Path) || removed
		}
	}
	var out bytes.Buffer
	if !removed || format.Node(&out, p.fset, p.syntax) != nil {
		return text, nil
	}
	return out.Bytes(), nil
}

// insert adds imports to a file that parses. It formats the file up to its last import, and does
// not change the rest.
func (s *Resolver) insert(p *place, text []byte, list []Import) []byte {
	if len(list) == 0 {
		return text
	}
	head, rest := cutHead(text)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", string(head)+"\n\n\n", parser.ParseComments) // astutil needs lines after the imports
	if err != nil {
		return text
	}
	isStandard := func(path string) bool { return s.standard[path] != nil && p.inside(path) == nil }
	wasMixed := slices.ContainsFunc(astutil.Imports(fset, file), func(group []*ast.ImportSpec) bool { return isMixed(group, isStandard) })
	for _, i := range list {
		astutil.AddNamedImport(fset, file, i.Name, i.Path)
	}
	var out bytes.Buffer
	if err := format.Node(&out, fset, file); err != nil {
		return text
	}
	head = out.Bytes()
	if !wasMixed {
		head = splitGroups(head, isStandard)
	}
	if len(rest) > 0 {
		head = append(head, '\n')
	}
	return append(head, rest...)
}

// cutHead splits a file after its last import, or after its package clause, including a comment on
// that line. The rest begins with the next declaration and its comments.
func cutHead(text []byte) (head, rest []byte) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return text, nil
	}
	end := file.Name.End()
	for _, decl := range file.Decls {
		end = decl.End()
	}
	tokens := fset.File(file.FileStart)
	for _, comment := range file.Comments {
		if comment.Pos() >= end && tokens.Line(comment.Pos()) == tokens.Line(end) {
			end = comment.List[0].End()
		}
	}
	at := tokens.Offset(end)
	return text[:at], bytes.TrimLeft(text[at:], "; \t\r\n")
}

// isMixed reports whether a group has both packages of the standard library and others.
func isMixed(group []*ast.ImportSpec, isStandard func(path string) bool) bool {
	return slices.ContainsFunc(group, func(spec *ast.ImportSpec) bool { return isStandard(pathOf(spec)) != isStandard(pathOf(group[0])) })
}

func splitGroups(head []byte, isStandard func(path string) bool) []byte {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", head, parser.ParseComments)
	if err != nil {
		return head
	}
	lines := slices.Collect(bytes.Lines(head))
	for _, group := range astutil.Imports(fset, file) {
		if !isMixed(group, isStandard) {
			continue
		}
		first := fset.PositionFor(group[0].Pos(), false).Line - 1
		var standard, others [][]byte
		for i, spec := range group {
			if isStandard(pathOf(spec)) {
				standard = append(standard, lines[first+i])
			} else {
				others = append(others, lines[first+i])
			}
		}
		others[0] = append([]byte("\n"), others[0]...)
		copy(lines[first:], slices.Concat(standard, others))
	}
	if text, err := format.Source(bytes.Join(lines, nil)); err == nil {
		return text
	}
	return head
}

func hasImport(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return importOf(spec) == Import{Path: path} })
}

func importOf(spec *ast.ImportSpec) Import {
	i := Import{Path: pathOf(spec)}
	if spec.Name != nil {
		i.Name = spec.Name.Name
	}
	return i
}

func pathOf(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value) // the file parses
	return path
}

// A Move replaces the import path From, and those below it, by To.
type Move struct{ From, To string }

// Rewrite applies the first matching move to each import path of a Go file, and sorts its imports.
// It does not change the rest of the file.
func Rewrite(name string, src []byte, moves []Move) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ImportsOnly)
	if err != nil {
		return nil, fmt.Errorf("parse %w", err)
	}
	var out bytes.Buffer
	last := 0
	for _, spec := range file.Imports {
		moved := move(moves, pathOf(spec))
		if moved == pathOf(spec) {
			continue
		}
		out.Write(src[last:fset.Position(spec.Path.Pos()).Offset])
		out.WriteString(strconv.Quote(moved))
		last = fset.Position(spec.Path.End()).Offset
	}
	if last == 0 {
		return src, nil
	}
	end := fset.Position(file.Decls[len(file.Decls)-1].End()).Offset // end of the imports
	out.Write(src[last:end])
	head, err := format.Source(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format %s: %w", name, err)
	}
	return append(bytes.TrimSuffix(head, []byte("\n")), src[end:]...), nil
}

func move(moves []Move, path string) string {
	for _, m := range moves {
		if isAtOrBelow(path, m.To) {
			return path // already moved
		}
		if isAtOrBelow(path, m.From) {
			return m.To + path[len(m.From):]
		}
	}
	return path
}
