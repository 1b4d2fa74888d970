package engine

import (
	"bytes"
	"cmp"
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/typecheck"
)

// A symbol is a declaration in the project: of a package, a method, or a field or method of a
// struct or interface type.
type symbol struct {
	name  string // such as features/desk.Loan.Due
	file  *typecheck.File
	ident *ast.Ident
}

// isMember reports whether the symbol is a field or a method.
func (s symbol) isMember() bool { return strings.Count(path.Base(s.name), ".") > 1 }

// rank orders symbols that a name may mean: the project's own before petrock's, declarations of
// packages before fields and methods.
func (s symbol) rank() int {
	rank := strings.Count(path.Base(s.name), ".")
	if isPetrockPath(s.file.Path) {
		rank += 10
	}
	return rank
}

// symbols returns the symbols of all packages that are built on this system.
func (s snapshot) symbols() (all []symbol) {
	for _, dir := range s.view.Dirs() {
		pkg := s.view.Package(dir, nil)
		if pkg == nil {
			continue
		}
		for _, file := range pkg.All() {
			prefix := cmp.Or(strings.TrimPrefix(dir, "."), path.Base(s.engine.checker.Module().Path))
			if slices.Contains(pkg.External, file) {
				prefix += "_test"
			}
			add := func(in string, idents ...*ast.Ident) {
				for _, ident := range idents {
					all = append(all, symbol{name: prefix + in + "." + ident.Name, file: file, ident: ident})
				}
			}
			for _, decl := range file.Syntax.Decls {
				switch decl := decl.(type) {
				case *ast.FuncDecl:
					add(strings.TrimSuffix("."+receiverName(decl), "."), decl.Name)
				case *ast.GenDecl:
					for _, spec := range decl.Specs {
						switch spec := spec.(type) {
						case *ast.ValueSpec:
							add("", spec.Names...)
						case *ast.TypeSpec:
							add("", spec.Name)
							for _, field := range membersOf(spec) {
								add("."+spec.Name.Name, field.Names...)
							}
						}
					}
				}
			}
		}
	}
	return all
}

// membersOf returns the fields or methods that a struct or interface type declares.
func membersOf(spec *ast.TypeSpec) []*ast.Field {
	switch t := spec.Type.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}

// symbolNamed returns the symbol that a name means. The error is for a name that is unknown or
// ambiguous.
func (s snapshot) symbolNamed(name string) (found symbol, err error) {
	wanted := strings.TrimPrefix(strings.NewReplacer("(", "", ")", "", "*", "").Replace(name), s.engine.checker.Module().Path+"/")
	var all []symbol
	var names, own []string
	for _, sym := range s.symbols() {
		if !isPetrockPath(sym.file.Path) {
			own = append(own, sym.name)
		}
		if !strings.HasSuffix("/"+sym.name, "/"+wanted) && !strings.HasSuffix(sym.name, "."+wanted) {
			continue
		}
		if len(all) > 0 && sym.rank() < all[0].rank() {
			all, names = nil, nil
		}
		if len(all) == 0 || sym.rank() == all[0].rank() {
			all, names = append(all, sym), append(names, sym.name)
		}
	}
	switch len(all) {
	case 0:
		return found, terminal.Usagef("the project has no symbol %s%s", name, didYouMean(wanted, own))
	case 1:
		return all[0], nil
	}
	return found, terminal.Usagef("%s is ambiguous: %s; name one of them", name, joinFew(names))
}

// searchSymbol finds the declaration, the references or the callers of a symbol.
func (e *Engine) searchSymbol(ctx context.Context, q Query) ([]Match, error) {
	if err := e.read(ctx, true); err != nil {
		return nil, err
	}
	s := e.onDisk()
	imported, name := "", ""
	found, err := s.symbolNamed(q.Pattern)
	if err != nil {
		if imported, name = s.importOf(q.Pattern); name == "" {
			return nil, err
		}
	}
	switch {
	case q.Find != FindDeclaration:
	case imported != "":
		return e.searchAPI(ctx, q)
	default:
		return []Match{s.declaration(found, q.Context)}, nil
	}
	dirs := slices.DeleteFunc(s.view.Dirs(), isPetrockPath)
	if imported == "" {
		dirs = slices.DeleteFunc(e.checker.Importers(s.view, found.file.Dir()), func(dir string) bool { return isPetrockPath(dir) && dir != found.file.Dir() })
	}
	e.step("type-checking")
	pass, err := e.checker.NewPass(ctx, s.view, dirs, typecheck.PassOptions{})
	if err != nil {
		return nil, err
	}
	is := func(object types.Object) bool { return object != nil && origin(object).Pos() == found.ident.Pos() }
	if imported != "" {
		object, err := pass.Lookup(imported, name)
		if err != nil {
			return nil, terminal.Usagef("%s: %w", q.Pattern, err)
		}
		is = func(other types.Object) bool { return other != nil && origin(other) == object }
		found.ident = ast.NewIdent(object.Name())
	}
	uses := uses{query: q}
	for _, dir := range dirs {
		if slices.ContainsFunc(s.view.Files(dir), func(f *typecheck.File) bool { return bytes.Contains(f.Text, []byte(found.ident.Name)) }) {
			uses.find(s.view, pass.InspectTests(dir), is)
		}
	}
	slices.SortFunc(uses.found, func(a, b Match) int { return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line) })
	return slices.CompactFunc(uses.found, func(a, b Match) bool { return a.File == b.File && a.Line == b.Line }), ctx.Err()
}

// importOf returns the package outside of the project that a symbol such as strings.Cut is from, if
// the project imports it, and the name of the symbol in it.
func (s snapshot) importOf(symbol string) (imported, name string) {
	at := strings.LastIndex(symbol, "/") + 1
	base, name, _ := strings.Cut(symbol[at:], ".")
	for _, file := range s.view.All() {
		for _, i := range file.Imports() {
			if strings.HasSuffix("/"+i.Path, "/"+symbol[:at]+base) && !strings.HasPrefix(i.Path, s.engine.checker.Module().Path+"/") {
					return i.Path, name
			}
		}
	}
	return "", ""
}

// declaration returns the declaration of a symbol with its doc comment, and with lines around both.
func (s snapshot) declaration(found symbol, context int) Match {
	doc, at := docAt(found.file, found.ident.Pos())
	var node ast.Node = typecheck.Enclosing[ast.Decl](found.file, found.ident.Pos())
	if spec := typecheck.Enclosing[ast.Spec](found.file, found.ident.Pos()); spec != nil {
		node = spec
	}
	if field := typecheck.Enclosing[*ast.Field](found.file, found.ident.Pos()); field != nil {
		node = field
	}
	if doc != nil {
		at = doc.Pos()
	}
	line := func(pos token.Pos) int { return s.view.Fset().PositionFor(pos, false).Line }
	lines, first := linesOf(string(found.file.Text)), line(at)
	m := newMatch(found.file.Path, lines, line(found.ident.Pos()), 0)
	m.Before = lines[max(0, first-1-context) : m.Line-1]
	m.After = lines[m.Line:min(len(lines), line(node.End())+context)]
	return m
}

// uses are the uses of a symbol that a search found.
type uses struct {
	query Query
	found []Match
}

// find adds the uses, or calls, of the objects of a symbol in packages.
func (u *uses) find(view *typecheck.View, packages []*typecheck.InspectedPackage, is func(types.Object) bool) {
	for _, inspected := range packages {
		for _, file := range inspected.Files {
			if !selects(u.query.Files, file.Path) || !isSearched(u.query.Files, file.Path, file.Text) {
				continue
			}
			add := func(pos token.Pos, function string) {
				m := newMatch(file.Path, linesOf(string(file.Text)), view.Fset().PositionFor(pos, false).Line, u.query.Context)
				m.Function = function
				u.found = append(u.found, m)
			}
			if u.query.Find == FindReferences {
				for ident := range nodesOf[*ast.Ident](file.Syntax) {
					if is(inspected.Info.Uses[ident]) || is(inspected.Info.Defs[ident]) {
						add(ident.Pos(), "")
					}
				}
				continue
			}
			for call := range nodesOf[*ast.CallExpr](file.Syntax) {
				if is(typeutil.Callee(inspected.Info, call)) {
					caller := path.Base(file.Dir())
					if function := typecheck.Enclosing[*ast.FuncDecl](file, call.Pos()); function != nil {
						caller += "." + declarationName(function)
					}
					add(call.Fun.End()-1, caller)
				}
			}
		}
	}
}
