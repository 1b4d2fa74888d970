package derive

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Project describes the project to derive from.
type Project struct {
	Name    string // of the project and its server
	Core    string // import path of core
	Checker *typecheck.Checker
}

// A finder finds the components of one package.
type finder struct {
	Project
	place Place
	view  *typecheck.View
	fset  *token.FileSet
	pkg   *types.Package
	found *Package

	structs []*types.Named // struct types in schemas

	scoped map[token.Pos]bool // positions of //petrock:scopes that apply to a component
}

func (f *finder) addProblem(d typecheck.Diagnostic) {
	d.Package = f.Checker.ImportPath(f.place.Dir)
	if !slices.Contains(f.found.Problems, d) {
		f.found.Problems = append(f.found.Problems, d)
	}
}

func (f *finder) problem(pos token.Pos, format string, args ...any) {
	f.addProblem(f.diagnostic(pos, format, args...))
}

func (f *finder) problemAt(file string, line int, format string, args ...any) {
	f.addProblem(typecheck.Diagnostic{File: file, Line: line, Message: fmt.Sprintf(format, args...)})
}

func (f *finder) diagnostic(pos token.Pos, format string, args ...any) typecheck.Diagnostic {
	at := f.fset.PositionFor(pos, false)
	return typecheck.Diagnostic{File: at.Filename, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...), Package: f.Checker.ImportPath(f.place.Dir)}
}

func (f *finder) name(t types.Type) string { return f.nameIn(f.pkg, t) }

// nameIn returns a type as a package names it. Packages other than app, eventlog, mcp and gen have
// their paths.
func (f *finder) nameIn(pkg *types.Package, t types.Type) string {
	return types.TypeString(types.Unalias(t), func(p *types.Package) string {
		switch p.Path() {
		case pkg.Path():
			return ""
		case f.Core + "/app", f.Core + "/app/eventlog", f.Core + "/mcp", f.petrockPackage("generators/gen"):
			return p.Name()
		}
		return p.Path()
	})
}

func (p Project) petrockPackage(dir string) string { return path.Join(path.Dir(p.Core), dir) }

// isThisPackage reports whether p is the package of f. Several values of p may stand for one
// package.
func (f *finder) isThisPackage(p *types.Package) bool { return p != nil && p.Path() == f.pkg.Path() }

func (f *finder) isInProject(object types.Object) bool {
	return object.Pkg() != nil && f.view.FileAt(object.Pos()) != nil
}

// posOf returns the position of a declaration if it is in the project, else fallback.
func (f *finder) posOf(object types.Object, fallback token.Pos) token.Pos {
	if f.isInProject(object) {
		return object.Pos()
	}
	return fallback
}

// function returns the function or method that a declaration declares, or nil if another one has
// its name.
func (f *finder) function(decl *ast.FuncDecl) *types.Func {
	object := f.pkg.Scope().Lookup(decl.Name.Name)
	if decl.Recv != nil {
		if object = f.pkg.Scope().Lookup(f.place.receiver()); object != nil {
			object, _, _ = types.LookupFieldOrMethod(object.Type(), true, f.pkg, decl.Name.Name)
		}
	}
	function, _ := object.(*types.Func)
	return function
}

// declaration returns the innermost declaration of a type around a position, or nil if it is not in
// the project's source.
func declaration[N ast.Node](f *finder, pos token.Pos) N {
	return typecheck.Enclosing[N](f.view.FileAt(pos), pos)
}

// typeDoc returns the doc comment of a type: its own, or that of a declaration that declares no
// other type. It may be nil.
func (f *finder) typeDoc(pos token.Pos) *ast.CommentGroup {
	spec, group := declaration[*ast.TypeSpec](f, pos), declaration[*ast.GenDecl](f, pos)
	switch {
	case spec == nil || spec.Name.Pos() != pos:
		return nil
	case len(group.Specs) == 1 && spec.Doc == nil:
		return group.Doc
	}
	return spec.Doc
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

func isInvalid(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.Invalid
}

// describe returns a doc comment as a description, without what [gen.DocSentence] added.
func describe(doc *ast.CommentGroup, name string) string {
	text := commentText(doc)
	if rest, ok := strings.CutPrefix(text, name); ok && strings.HasPrefix(strings.TrimPrefix(rest, ":"), " ") {
		text = gen.Capitalize(isNoun.ReplaceAllString(strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " "), "$1"))
	}
	return text
}

// isNoun matches the verb that [gen.DocSentence] adds to a description that starts with an article.
var isNoun = regexp.MustCompile(`^is ((a|an|the|all|every|each|one) )`)

// commentText returns the text of a comment. It joins the lines of each paragraph.
func commentText(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	printer := comment.Printer{TextWidth: -1} // without line breaks
	text := almostDirective.ReplaceAllString(doc.Text(), "")
	return strings.TrimSpace(string(printer.Text(new(comment.Parser).Parse(text))))
}

// almostDirective matches a line that is a directive except for spaces and case, of which
// [finder.checkIgnored] warns.
var almostDirective = regexp.MustCompile(`(?im)^petrock:[ \t]?[a-z]+.*$`)

// FieldText returns the description of a field: its doc comment, else its line comment.
func FieldText(field *ast.Field) string {
	if field == nil {
		return ""
	}
	return cmp.Or(commentText(field.Doc), commentText(field.Comment))
}

// method returns a method of a type, which may be promoted, or nil.
func method(t types.Type, name string) *types.Func {
	object, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	found, _ := object.(*types.Func)
	return found
}

func hasValueReceiver(t types.Type, name string) bool {
	return types.NewMethodSet(t).Lookup(nil, name) != nil
}
