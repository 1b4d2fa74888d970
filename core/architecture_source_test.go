// Rules for source files: no code that runs unasked, no state that outlives a call, and nothing
// that is false in a project, which gets a copy of core and generators.

package core_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNoInit(t *testing.T) {
	for _, p := range repository(t) {
		for _, file := range p.files {
			for _, decl := range file.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%v: func init: make it a function that the caller calls", p.fset.Position(fn.Pos()))
				}
			}
		}
	}
}

// A package variable is a constant that Go cannot declare as one: a regular expression, a table, an
// error. It gets its value where it is declared, and no code assigns to it, not even a test.
func TestNoPackageState(t *testing.T) {
	for _, p := range repository(t) {
		for _, file := range p.files {
			for _, decl := range file.Decls {
				group, ok := decl.(*ast.GenDecl)
				if !ok || group.Tok != token.VAR {
					continue
				}
				for _, spec := range group.Specs {
					if spec := spec.(*ast.ValueSpec); len(spec.Values) == 0 && !isEmbed(group.Doc) && !isEmbed(spec.Doc) {
						t.Errorf("%v: the package variable %s has no value: make it a field or a local variable", p.fset.Position(spec.Pos()), spec.Names[0])
					}
				}
			}
		}
		for _, variable := range assignedVariables(p.fset, slices.Concat(p.files, p.tests)) {
			t.Errorf("%v: the package variable %s changes: make it a field or a local variable", p.fset.Position(variable.Pos()), variable)
		}
	}
}

// isEmbed reports whether a declaration with this comment is filled by the compiler.
func isEmbed(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// assignedVariables returns the package variables of the sources that the files of a package assign
// to, wholly or in part.
func assignedVariables(fset *token.FileSet, files []*ast.File) (variables []*ast.Ident) {
	// Without imports most types are unknown, but each identifier has its declaration.
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check("", fset, files, info)
	for _, file := range files {
		for n := range ast.Preorder(file) {
			var assigned []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				assigned = n.Lhs
			case *ast.IncDecStmt:
				assigned = []ast.Expr{n.X}
			}
			for _, e := range assigned {
				name := operandOf(e)
				if v, ok := info.Uses[name].(*types.Var); ok && v.Parent() == pkg.Scope() && !strings.HasSuffix(fset.Position(v.Pos()).Filename, "_test.go") {
					variables = append(variables, name)
				}
			}
		}
	}
	return variables
}

// operandOf returns the identifier that an expression starts with: x of (*x).f[i]; nil if it starts
// with another expression.
func operandOf(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// Projects have no benchmarks, and another module path, which petrock new writes into imports only.
func TestCopiedCodeIsTrueInProjects(t *testing.T) {
	for _, p := range repository(t) {
		if !isBelow(p.folder, "core") && !isBelow(p.folder, "generators") && !isBelow(p.folder, "skeleton") {
			continue
		}
		for _, file := range p.files {
			isImport := map[int]bool{} // by line
			for _, spec := range file.Imports {
				isImport[p.fset.Position(spec.Pos()).Line] = true
			}
			name := p.fset.Position(file.Pos()).Filename
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(text), "\n") {
				if !isImport[i+1] && (strings.Contains(line, ".bench") || strings.Contains(line, module)) {
					t.Errorf("%s:%d names .bench or %s, which is wrong in a project", name, i+1, module)
				}
			}
		}
	}
}

// Lines of comments have at most 100 columns, a tab counts as one. Directives and the output of
// examples are on the lines that they need.
func TestCommentsAreWrapped(t *testing.T) {
	for _, p := range repository(t) {
		for _, file := range slices.Concat(p.files, p.tests) {
			name := p.fset.Position(file.Pos()).Filename
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(text), "\n")
			for _, group := range file.Comments {
				if strings.Contains(group.Text(), "Output:\n") {
					continue
				}
				for _, c := range group.List {
					at := p.fset.Position(c.Pos()).Line
					line := lines[at-1]
					if n := utf8.RuneCountInString(line); n > 100 && strings.HasPrefix(strings.TrimLeft(line, "\t"), "// ") {
						t.Errorf("%s:%d: the comment has %d columns, want at most 100", name, at, n)
					}
				}
			}
		}
	}
}
