package core_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// selfEvident are methods whose name says all: their contract is that of a well-known interface.
var selfEvident = []string{"Error", "String", "Unwrap"}

func docComments(t tree) []string {
	var broken []string
	for _, f := range t.sources() {
		if !matchesAny(copied, f.dir()) {
			continue
		}
		for _, decl := range f.syntax.Decls {
			for _, name := range undocumented(decl) {
				broken = append(broken, f.at(name.Pos(), "exported %s has no doc comment; say what it is and what a caller must know", name.Name))
			}
		}
	}
	return broken
}

// undocumented are the exported names that decl introduces without a doc comment.
func undocumented(decl ast.Decl) []*ast.Ident {
	var names []*ast.Ident
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if visible(decl) && !hasText(decl.Doc) {
			return []*ast.Ident{decl.Name}
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				alone := decl.Lparen == token.NoPos
				if !hasText(spec.Doc) && !(alone && hasText(decl.Doc)) {
					names = append(names, spec.Name)
				}
			case *ast.ValueSpec:
				// One comment may speak for a whole group.
				if !hasText(spec.Doc) && !hasText(spec.Comment) && !hasText(decl.Doc) {
					names = append(names, spec.Names...)
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(name *ast.Ident) bool { return !name.IsExported() })
}

// visible reports whether fn shows in the documentation and needs words there.
func visible(fn *ast.FuncDecl) bool {
	if !fn.Name.IsExported() || fn.Recv == nil {
		return fn.Name.IsExported()
	}
	return ast.IsExported(receiver(fn.Recv.List[0].Type)) && !slices.Contains(selfEvident, fn.Name.Name)
}

// receiver is the name of the type in a method's receiver: T of *T and of T[P].
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.ParenExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	}
	return ""
}

// hasText reports whether a comment says something; directives say nothing.
func hasText(doc *ast.CommentGroup) bool {
	return strings.TrimSpace(doc.Text()) != ""
}

func packageComments(t tree) []string {
	documented := map[string]bool{}
	for _, f := range t.sources() {
		name := f.syntax.Name.Name
		if name == "main" && hasText(f.syntax.Doc) || strings.HasPrefix(f.syntax.Doc.Text(), "Package "+name+" ") {
			documented[f.dir()] = true
		}
	}
	var broken []string
	for _, f := range t.sources() {
		if !documented[f.dir()] {
			documented[f.dir()] = true // say it once
			broken = append(broken, fmt.Sprintf("%s:1: package %s has no package comment; begin one with \"Package %[2]s \", in doc.go if it is long", f.path, f.syntax.Name.Name))
		}
	}
	return broken
}
