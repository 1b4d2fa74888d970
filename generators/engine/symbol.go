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

// A symbol is a declaration of a package of the project, a method, or a field or method that a
// struct or interface type declares.
type symbol struct {
	name  string // such as features/desk.Loan.Due
	file  *typecheck.File
	ident *ast.Ident
}

// isMember reports whether the symbol is a field or a method.
func (s symbol) isMember() bool { return strings.Count(path.Base(s.name), ".") > 1 }

// rank orders the symbols that a name may mean: the project's own before petrock's, declarations of
// packages before fields and methods.
func (s symbol) rank() (rank int) {
	if isPetrockPath(s.file.Path) {
		rank = 2
	}
	if s.isMember() {
		rank++
	}
	return rank
}

// symbols returns the symbols of the packages that are built on this system.
func (s snapshot) symbols() (all []symbol) {
	for _, dir := range s.view.Dirs() {
		pkg := cmp.Or(s.view.Package(dir, nil), &typecheck.Package{})
		for _, file := range pkg.All() {
			prefix := cmp.Or(strings.TrimPrefix(dir, "."), path.Base(s.engine.checker.Module().Path)) + "."
			if slices.Contains(pkg.External, file) {
				prefix = strings.TrimSuffix(prefix, ".") + "_test."
			}
			add := func(in string, idents ...*ast.Ident) {
				for _, ident := range idents {
					all = append(all, symbol{prefix + in + ident.Name, file, ident})
				}
			}
			for _, decl := range file.Syntax.Decls {
				switch decl := decl.(type) {
				case *ast.FuncDecl:
					add(strings.TrimSuffix(declarationName(decl), decl.Name.Name), decl.Name)
				case *ast.GenDecl:
					for _, spec := range decl.Specs {
						switch spec := spec.(type) {
						case *ast.ValueSpec:
							add("", spec.Names...)
						case *ast.TypeSpec:
							add("", spec.Name)
							for field := range nodesOf[*ast.Field](spec.Type) {
								add(spec.Name.Name+".", field.Names...)
							}
						}
					}
				}
			}
		}
	}
	return all
}

// symbolNamed returns the symbol that a name means, such as Loan.Due or (*desk.Loan).Due. The error
// is for a name that is unknown or ambiguous.
func (s snapshot) symbolNamed(name string) (symbol, error) {
	wanted := strings.TrimPrefix(strings.NewReplacer("(", "", ")", "", "*", "").Replace(name), s.engine.checker.Module().Path+"/")
	var found []symbol
	var own, names []string
	for _, other := range s.symbols() {
		if !isPetrockPath(other.file.Path) {
			own = append(own, other.name)
		}
		if strings.HasSuffix("/"+other.name, "/"+wanted) || strings.HasSuffix(other.name, "."+wanted) {
			found = append(found, other)
		}
	}
	if len(found) == 0 {
		return symbol{}, terminal.Usagef("the project declares no symbol %s%s", name, didYouMean(wanted, own))
	}
	least := slices.MinFunc(found, func(a, b symbol) int { return a.rank() - b.rank() }).rank()
	found = slices.DeleteFunc(found, func(other symbol) bool { return other.rank() > least })
	for _, other := range found {
		names = append(names, other.name)
	}
	if len(found) > 1 {
		return symbol{}, terminal.Usagef("%s is ambiguous: %s", name, joinFew(names))
	}
	return found[0], nil
}

// searchSymbol finds the declaration, the references or the callers of a symbol.
func (e *Engine) searchSymbol(ctx context.Context, q Query) (found []Match, err error) {
	if err := e.read(ctx, true); err != nil {
		return nil, err
	}
	s, files := e.onDisk(), newSelection(q.Files)
	wanted, err := s.symbolNamed(q.Pattern)
	if err != nil {
		return nil, err
	}
	if q.Find == FindDeclaration {
		return []Match{s.declaration(wanted, q.Context)}, nil
	}
	dirs := slices.DeleteFunc(e.checker.Importers(s.view, wanted.file.Dir()), func(dir string) bool {
		return !slices.ContainsFunc(s.view.Files(dir), func(f *typecheck.File) bool {
			return files.has(f.Path) && files.includes(f.Path, f.Text) && bytes.Contains(f.Text, []byte(wanted.ident.Name))
		})
	})
	e.step("type-checking")
	pass, err := e.checker.NewPass(ctx, s.view, dirs, typecheck.PassOptions{})
	if err != nil {
		return nil, err
	}
	isWanted := func(object types.Object) bool { return object != nil && origin(object).Pos() == wanted.ident.Pos() }
	for _, dir := range dirs {
		for _, inspected := range pass.InspectTests(dir) {
			for _, file := range inspected.Files {
				if !files.has(file.Path) || !files.includes(file.Path, file.Text) {
					continue
				}
				lines := linesOf(file.Text)
				add := func(pos token.Pos, caller string) {
					line := s.line(pos)
					m := newMatch(file.Path, lines, line, line-q.Context, line+q.Context)
					m.Caller = caller
					found = append(found, m)
				}
				for node := range ast.Preorder(file.Syntax) {
					switch node := node.(type) {
					case *ast.Ident:
						if q.Find == FindReferences && (isWanted(inspected.Info.Uses[node]) || isWanted(inspected.Info.Defs[node])) {
							add(node.Pos(), "")
						}
					case *ast.CallExpr:
						if q.Find == FindCallers && isWanted(typeutil.Callee(inspected.Info, node)) {
							add(node.Fun.End()-1, declarationName(typecheck.Enclosing[ast.Decl](file, node.Pos())))
						}
					}
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b Match) int { return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line) })
	return slices.CompactFunc(found, func(a, b Match) bool { return a.File == b.File && a.Line == b.Line }), pass.Err()
}

func (s snapshot) line(pos token.Pos) int { return s.view.Fset().PositionFor(pos, false).Line }

// declaration returns the declaration of a symbol with its doc comment, and with lines around both.
func (s snapshot) declaration(found symbol, context int) Match {
	pos := found.ident.Pos()
	doc, start := docAt(found.file, pos)
	if doc != nil {
		start = doc.Pos()
	}
	end := typecheck.Enclosing[ast.Decl](found.file, pos).End()
	if field := typecheck.Enclosing[*ast.Field](found.file, pos); field != nil {
		end = field.End()
	} else if spec := typecheck.Enclosing[ast.Spec](found.file, pos); spec != nil {
		end = spec.End()
	}
	return newMatch(found.file.Path, linesOf(found.file.Text), s.line(pos), s.line(start)-context, s.line(end)+context)
}
