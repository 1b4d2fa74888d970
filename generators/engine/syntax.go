package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/petrock/petrock/generators/typecheck"
)

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
