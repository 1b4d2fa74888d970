// Rules for source files: no code that runs unasked, no state that outlives a call, and nothing
// that is false in a project, which gets a copy of core and generators.

package core_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
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
// error. It gets its value where it is declared.
func TestNoPackageState(t *testing.T) {
	for _, p := range repository(t) {
		for _, message := range packageState(p.fset, p.files, p.tests) {
			t.Errorf("%s: make it a field or a local variable", message)
		}
	}
}

// packageState finds package variables of the sources that have no value where they are declared,
// and code, including that of tests, that changes one of them or a variable of another package of
// this module, or takes its address. It does not follow methods, and copies of maps and slices.
func packageState(fset *token.FileSet, sources, tests []*ast.File) (found []string) {
	report := func(pos token.Pos, text string) { found = append(found, fset.Position(pos).String()+": "+text) }
	for _, file := range sources {
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				if spec := spec.(*ast.ValueSpec); len(spec.Values) == 0 && !isEmbed(group.Doc) && !isEmbed(spec.Doc) {
					report(spec.Pos(), "package variable "+spec.Names[0].Name+" has no value")
				}
			}
		}
	}
	// Without imports most types are unknown, but each identifier has its declaration.
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}}
	files := slices.Concat(sources, tests)
	pkg, _ := config.Check("", fset, files, info)
	for _, file := range files {
		for _, operand := range changedOperands(file) {
			variable, isVariable := info.Uses[operand].(*types.Var)
			if isVariable && variable.Parent() == pkg.Scope() && !strings.HasSuffix(fset.Position(variable.Pos()).Filename, "_test.go") {
				report(operand.Pos(), "package variable "+operand.Name+" changes")
			}
			if name, ok := info.Uses[operand].(*types.PkgName); ok && strings.HasPrefix(name.Imported().Path(), module) {
				report(operand.Pos(), "variable of package "+name.Name()+" changes")
			}
		}
	}
	return found
}

// isEmbed reports whether a declaration with this comment is filled by the compiler.
func isEmbed(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// changedOperands returns the identifiers that a file assigns to, wholly or in part, or takes the
// address of.
func changedOperands(file *ast.File) (operands []*ast.Ident) {
	for n := range ast.Preorder(file) {
		var changed []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			changed = n.Lhs
		case *ast.IncDecStmt:
			changed = []ast.Expr{n.X}
		case *ast.RangeStmt:
			changed = []ast.Expr{n.Key, n.Value}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				changed = []ast.Expr{n.X}
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"clear", "copy", "delete"}, fn.Name) {
				changed = n.Args[:1]
			}
		}
		for _, e := range changed {
			if operand := operandOf(e); operand != nil {
				operands = append(operands, operand)
			}
		}
	}
	return operands
}

// operandOf returns the identifier that an expression starts with: x of (*x).f[i]; nil if it starts
// with another expression.
func operandOf(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.ParenExpr:
		return operandOf(e.X)
	case *ast.StarExpr:
		return operandOf(e.X)
	case *ast.IndexExpr:
		return operandOf(e.X)
	case *ast.SliceExpr:
		return operandOf(e.X)
	case *ast.SelectorExpr:
		return operandOf(e.X)
	}
	return nil
}

func TestPackageState(t *testing.T) {
	const declarations = "package p\nimport \"" + module + "/core/mcp\"\nvar limit, names, table = 1, []string{}, map[string]int{}\n"
	for _, test := range []struct{ source, want string }{
		{"var count int", "package variable count has no value"},
		{"//go:embed a.txt\nvar text string", ""},
		{"var _ error = problem{}", ""},
		{"func f() { limit++ }", "package variable limit changes"},
		{"func f() { (names)[0] = limit }", "package variable names changes"},
		{"func f() { for limit = range 3 {} }", "package variable limit changes"},
		{"func f() { g(&limit) }", "package variable limit changes"},
		{"func f() { delete(table, 1) }", "package variable table changes"},
		{"func f() { mcp.Limit = 1 }", "variable of package mcp changes"},
		{"func f() { limit := 1; limit++; s := T{names: names}; s.table = table }", ""},
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "p.go", declarations+test.source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(packageState(fset, []*ast.File{file}, nil), "; ")
		if _, got, _ = strings.Cut(got, ": "); got != test.want {
			t.Errorf("packageState(%q) = %q, want %q", test.source, got, test.want)
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
