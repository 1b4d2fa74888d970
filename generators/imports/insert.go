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
	"slices"
	"strconv"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/petrock/petrock/generators/typecheck"
)

// An Import is a package that a file imports.
type Import struct {
	Name string // local name; empty for the package's own name
	Path string
}

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
		isKnown := i.Name != "" || s.standard[i.Path] != nil || p.inside(i.Path) != nil
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
