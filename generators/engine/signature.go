package engine

import (
	"cmp"
	"go/ast"
	"go/types"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// writable says which type of a function's signature cannot be written down in a package.
func writable(f *gen.Function, in string) error {
	for _, side := range []struct {
		list *types.Tuple
		name func(int) string
	}{{f.Signature.Params(), f.Parameter}, {f.Signature.Results(), f.Result}} {
		for i := range side.list.Len() {
			if why := unwritable(side.list.At(i).Type(), in); why != "" {
				return f.Errorf("%s %s", side.name(i), why)
			}
		}
	}
	return nil
}

// unwritable is why a type cannot be written down in a package; empty if it can be. What can come in
// no JSON anyway is not looked into.
func unwritable(t types.Type, in string) string {
	switch t := t.(type) {
	case *types.Alias:
		if t.Obj().Pkg() != nil && !t.Obj().Exported() {
			return unwritable(t.Rhs(), in) // it can be done without
		}
		if why := hidden(t.Obj(), in); why != "" {
			return why
		}
		return unwritableOf(t.TypeArgs(), in)
	case *types.Named:
		if why := hidden(t.Obj(), in); why != "" {
			return why
		}
		return unwritableOf(t.TypeArgs(), in)
	case *types.Map:
		if why := unwritable(t.Key(), in); why != "" {
			return why
		}
		return unwritable(t.Elem(), in)
	case interface{ Elem() types.Type }: // a pointer, a list, an array, a channel
		return unwritable(t.Elem(), in)
	case *types.Struct:
		for field := range t.Fields() {
			if !field.Exported() {
				return "has the field " + field.Name() + ", which is not exported"
			}
			if why := unwritable(field.Type(), in); why != "" {
				return why
			}
		}
	}
	return ""
}

// unwritableOf is the same of what a generic type is for.
func unwritableOf(list *types.TypeList, in string) string {
	for t := range list.Types() {
		if why := unwritable(t, in); why != "" {
			return why
		}
	}
	return ""
}

// hidden is why a package cannot use the name of a type; empty if it can.
func hidden(name *types.TypeName, in string) string {
	switch pkg := name.Pkg(); {
	case pkg == nil: // it is Go's own
		return ""
	case !name.Exported():
		return "is made of " + pkg.Name() + "." + name.Name() + ", which is not exported"
	case pkg.Name() == "main" || !typecheck.MayImport(in, pkg.Path()):
		return "is made of " + pkg.Name() + "." + name.Name() + ", and the tools may not import " + pkg.Path()
	}
	return ""
}

// doc is the text of the comment of what the project declares, without directives; empty if there is
// none, or if it is not of the project.
func (e *Engine) doc(object types.Object) string {
	place := e.before.Fset().File(object.Pos())
	if place == nil {
		return ""
	}
	file := e.before.File(place.Name())
	if file == nil {
		return ""
	}
	text, around := "", "" // a variable may have its comment above the keyword
	ast.Inspect(file.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Pos() == object.Pos() {
				text = n.Doc.Text()
			}
		case *ast.GenDecl:
			if around = ""; len(n.Specs) == 1 {
				around = n.Doc.Text()
			}
		case *ast.ValueSpec:
			if declares(n.Names, object) {
				text = cmp.Or(n.Doc.Text(), around)
			}
		case *ast.Field: // of an interface or a struct
			if declares(n.Names, object) {
				text = n.Doc.Text()
			}
		case *ast.BlockStmt:
			return false
		}
		return true
	})
	return text
}

// declares reports whether one of several names is where something is declared.
func declares(names []*ast.Ident, object types.Object) bool {
	for _, name := range names {
		if name.Pos() == object.Pos() {
			return true
		}
	}
	return false
}
