package engine

import (
	"bytes"
	"cmp"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
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

// nodesOf returns the nodes of a type in a syntax tree, in depth-first order.
func nodesOf[N ast.Node](root ast.Node) iter.Seq[N] {
	return func(yield func(N) bool) {
		for node := range ast.Preorder(root) {
			if found, ok := node.(N); ok && !yield(found) {
				return
			}
		}
	}
}

// unquote returns the value of an expression that is a string literal.
func unquote(e ast.Node) (string, bool) {
	literal, _ := e.(*ast.BasicLit)
	if literal == nil || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// docAt returns the doc comment of a declaration and the position of the declaration. A single type
// or variable may have its comment above the keyword.
func docAt(file *typecheck.File, pos token.Pos) (doc *ast.CommentGroup, at token.Pos) {
	nodes, _ := astutil.PathEnclosingInterval(file.Syntax, pos, pos)
	for _, node := range nodes { // from the innermost to the outermost
		switch node := node.(type) {
		case *ast.FuncDecl:
			return node.Doc, node.Pos()
		case *ast.Field: // a method of an interface
			return node.Doc, node.Pos()
		case *ast.TypeSpec:
			doc, at = node.Doc, node.Pos()
		case *ast.ValueSpec:
			doc, at = node.Doc, node.Pos()
		case *ast.GenDecl:
			if doc == nil && len(node.Specs) == 1 {
				return node.Doc, node.Pos()
			}
		}
	}
	return doc, at
}

// docOf returns the doc comment of a declaration, or nil.
func docOf(node ast.Node) *ast.CommentGroup {
	switch node := node.(type) {
	case *ast.FuncDecl:
		return node.Doc
	case *ast.GenDecl:
		return node.Doc
	}
	return nil
}

// startOf returns the position of a declaration with its doc comment.
func startOf(node ast.Node) token.Pos {
	if doc := docOf(node); doc != nil {
		return doc.Pos()
	}
	return node.Pos()
}

// declarationName returns the name of a declaration: a function, a method with its type, or the
// first of several names.
func declarationName(decl ast.Decl) string {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return strings.TrimPrefix(receiverName(decl)+"."+decl.Name.Name, ".")
	case *ast.GenDecl:
		if names := typecheck.DeclaredNames(&ast.File{Decls: []ast.Decl{decl}}); len(names) > 0 {
			return names[0]
		}
	}
	return "_"
}

// receiverName returns the type of a method's receiver, without type parameters, or "" for a
// function.
func receiverName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	for ident := range nodesOf[*ast.Ident](f.Recv.List[0].Type) {
		return ident.Name
	}
	return ""
}

// outline returns the declarations of a Go file except imports, with or without doc comments and
// function bodies, and their names. It returns none if the file does not parse.
func outline(name string, text []byte, whole bool) (parts, names []string) {
	fset, mode := token.NewFileSet(), parser.SkipObjectResolution
	if whole {
		mode |= parser.ParseComments
	}
	file, err := parser.ParseFile(fset, name, text, mode)
	if err != nil {
		return nil, nil
	}
	for _, decl := range file.Decls {
		end, after := decl.End(), ""
		if function, ok := decl.(*ast.FuncDecl); ok && function.Body != nil && !whole {
			end, after = function.Body.Lbrace, "{ … }"
		}
		if group, ok := decl.(*ast.GenDecl); !ok || group.Tok != token.IMPORT {
			source := text[fset.Position(startOf(decl)).Offset:fset.Position(end).Offset]
			parts, names = append(parts, string(source)+after), append(names, declarationName(decl))
		}
	}
	return parts, names
}
