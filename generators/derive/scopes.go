package derive

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// scopes takes in what a caller must be allowed.
func (f *finder) scopes(c *Component, d directive) {
	for word := range strings.FieldsSeq(d.text) {
		switch {
		case strings.Contains(word, ","):
			f.problem(d.pos, "%q is no scope; those of //petrock:scopes have spaces between them, and no commas", word)
		case !isScope(word):
			f.problem(d.pos, "%q is no scope; printable characters of ASCII make one, but for quotes and backslashes", word)
		case slices.Contains(c.scopes, word):
			f.problem(d.pos, "the scope %q stands there twice; leave one", word)
		default:
			c.scopes = append(c.scopes, word)
		}
	}
}

// isScope reports whether a word is a scope, as RFC 6749 has it.
func isScope(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// lostScopes finds directives for scopes that no component of a file has: what somebody thinks to be closed would be open. The bodies of
// functions are not looked at.
func (f *finder) lostScopes(file *typecheck.File, components []Component) {
	nearly := regexp.MustCompile(`(?i)^//\s*petrock:\s*scopes?\b`)
	var bodies []*ast.BlockStmt
	var docs []*ast.CommentGroup
	for _, group := range file.Syntax.Comments {
		for _, comment := range group.List {
			if !nearly.MatchString(comment.Text) {
				continue
			}
			if docs == nil {
				docs, bodies = f.documented(file, components)
			}
			switch inside := func(b *ast.BlockStmt) bool { return b.Pos() < comment.Pos() && comment.Pos() < b.End() }; {
			case slices.ContainsFunc(bodies, inside):
			case !strings.HasPrefix(comment.Text, directivePrefix+"scopes"):
				f.problem(comment.Pos(), "%q is no directive, and asks nobody for scopes; write //petrock:scopes, with nothing between", strings.TrimSpace(comment.Text))
			case !slices.Contains(docs, group):
				f.problem(comment.Pos(), "//petrock:scopes asks nobody for scopes here; it stands in the doc comment of a tool's function, or of the type that is a command or query")
			}
		}
	}
}

// documented are the doc comments of a file's components, and the bodies of all its functions.
func (f *finder) documented(file *typecheck.File, components []Component) (docs []*ast.CommentGroup, bodies []*ast.BlockStmt) {
	is := func(name *ast.Ident) bool {
		line := f.fset.PositionFor(name.Pos(), false).Line
		return slices.ContainsFunc(components, func(c Component) bool { return c.Line == line })
	}
	for _, decl := range file.Syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Body != nil {
				bodies = append(bodies, decl.Body)
			}
			if is(decl.Name) {
				docs = append(docs, decl.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok && is(spec.Name) {
					docs = append(docs, f.typeDocs(spec.Name.Pos())...)
				}
			}
		}
	}
	return docs, bodies
}
