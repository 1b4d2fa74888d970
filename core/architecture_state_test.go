package core_test

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// noPackageState finds package-level variables that can change. A variable that is set where it is
// declared and never afterwards is a constant that Go cannot declare as one (a regular expression,
// a table, an error), and is allowed.
//
// A variable counts as changing if its declaration sets no value or one that is made to be changed
// (make, new, types of sync and sync/atomic), or if code, including tests, assigns to it or to a
// part of it, deletes from it, or takes its address. Changes through methods and copies of a map or
// slice are not found.
func noPackageState(t tree) []string {
	var broken []string
	changed := changedVariables(t)
	for _, f := range t.sources() {
		for _, decl := range f.syntax.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				spec := spec.(*ast.ValueSpec)
				for i, name := range spec.Names {
					if allowedState[f.path+" "+name.Name] != "" {
						continue
					}
					switch by := changed[variable{f.dir(), name.Name}]; {
					case by != "":
						broken = append(broken, f.at(name.Pos(), "package-level variable %s changes at %s; make it a field, or a local variable", name.Name, by))
					case isAssertion(name, spec) || isEmbedded(group, spec):
					case name.Name == "_":
						broken = append(broken, f.at(name.Pos(), "package-level variable _ runs code unasked; make it a function that the caller calls"))
					case len(spec.Values) == 0 || isMadeToChange(spec.Values[min(i, len(spec.Values)-1)]) || spec.Type != nil && isSynchronizer(spec.Type):
						broken = append(broken, f.at(name.Pos(), "package-level variable %s is made to change; make it a field, or a local variable", name.Name))
					}
				}
			}
		}
	}
	return broken
}

// A variable is a package-level variable.
type variable struct{ dir, name string }

// changedVariables returns the variables of the tree that code changes, each with the position of a
// change.
func changedVariables(t tree) map[variable]string {
	changed := map[variable]string{}
	for _, files := range packagesOf(t) {
		uses := usesOf(t, files)
		for _, f := range files {
			for _, target := range changedExpressions(f.syntax) {
				if v, ok := variableOf(t, f, uses, target); ok && changed[v] == "" {
					changed[v] = strings.TrimSuffix(f.at(target.Pos(), ""), ": ")
				}
			}
		}
	}
	return changed
}

// packagesOf groups the files of the tree, except those in testdata, by folder and package name.
func packagesOf(t tree) [][]*goFile {
	var packages [][]*goFile
	index := map[[2]string]int{}
	for _, f := range t.files {
		if f.syntax == nil || f.isTestdata() {
			continue
		}
		key := [2]string{f.dir(), f.syntax.Name.Name}
		i, ok := index[key]
		if !ok {
			i = len(packages)
			index[key] = i
			packages = append(packages, nil)
		}
		packages[i] = append(packages[i], f)
	}
	return packages
}

// usesOf resolves the identifiers of a package. It loads no imports, so it knows what each
// identifier refers to, but hardly any types; errors that follow from that are ignored.
func usesOf(t tree, files []*goFile) map[*ast.Ident]types.Object {
	uses := map[*ast.Ident]types.Object{}
	var syntax []*ast.File
	for _, f := range files {
		syntax = append(syntax, f.syntax)
	}
	config := types.Config{Importer: noImporter{}, FakeImportC: true, Error: func(error) {}}
	_, _ = config.Check(files[0].dir(), t.fset, syntax, &types.Info{Uses: uses})
	return uses
}

type noImporter struct{}

func (noImporter) Import(string) (*types.Package, error) { return nil, errors.New("not loaded") }

// changedExpressions returns the operands that the file assigns to, deletes from, or takes the
// address of.
func changedExpressions(file *ast.File) []ast.Expr {
	var changed []ast.Expr
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				changed = append(changed, n.Lhs...)
			}
		case *ast.IncDecStmt:
			changed = append(changed, n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				changed = append(changed, n.Key, n.Value)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				changed = append(changed, n.X)
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"clear", "copy", "delete"}, fn.Name) && len(n.Args) > 0 {
				changed = append(changed, n.Args[0])
			}
		}
		return true
	})
	return slices.DeleteFunc(changed, func(e ast.Expr) bool { return e == nil })
}

// variableOf returns the package-level variable that an operand is, or is a part of.
func variableOf(t tree, f *goFile, uses map[*ast.Ident]types.Object, operand ast.Expr) (variable, bool) {
	for {
		switch e := operand.(type) {
		case *ast.ParenExpr:
			operand = e.X
		case *ast.StarExpr:
			operand = e.X
		case *ast.IndexExpr:
			operand = e.X
		case *ast.SliceExpr:
			operand = e.X
		case *ast.SelectorExpr:
			if name, ok := e.X.(*ast.Ident); ok {
				if pkg, ok := uses[name].(*types.PkgName); ok {
					dir, ok := t.ours(pkg.Imported().Path())
					return variable{dir, e.Sel.Name}, ok
				}
			}
			operand = e.X
		case *ast.Ident:
			v, ok := uses[e].(*types.Var)
			return variable{f.dir(), e.Name}, ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
		default:
			return variable{}, false
		}
	}
}

// isMadeToChange reports whether a variable with this value is useless unless it changes.
func isMadeToChange(value ast.Expr) bool {
	switch value := value.(type) {
	case *ast.UnaryExpr:
		return value.Op == token.AND && isMadeToChange(value.X)
	case *ast.CallExpr:
		fn, ok := value.Fun.(*ast.Ident)
		return ok && (fn.Name == "make" || fn.Name == "new")
	case *ast.CompositeLit:
		_, isMap := value.Type.(*ast.MapType)
		return isMap && len(value.Elts) == 0 || isSynchronizer(value.Type)
	}
	return false
}

// isSynchronizer reports whether this names a type of sync or sync/atomic.
func isSynchronizer(typ ast.Expr) bool {
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	selector, ok := typ.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	return ok && (pkg.Name == "sync" || pkg.Name == "atomic")
}

// isAssertion reports whether this is var _ Interface = Type{}.
func isAssertion(name *ast.Ident, spec *ast.ValueSpec) bool {
	return name.Name == "_" && spec.Type != nil && len(spec.Values) > 0
}

// isEmbedded reports whether this is a variable that //go:embed fills. The compiler checks its
// type.
func isEmbedded(group *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{group.Doc, spec.Doc} {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			if strings.HasPrefix(c.Text, "//go:embed ") {
				return len(spec.Values) == 0
			}
		}
	}
	return false
}
