package derive

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/inference"
	"github.com/petrock/petrock/generators/typecheck"
)

// A form is a struct of the package that a function asks the user for:
//
//	mcp.AskFor[Confirm](ctx, "Sure?")
type form struct{ name, schema string }

func (f form) constant() schemaText { return schemaText{"form" + f.name, f.schema} }

// findForms finds the forms that functions of a file ask for. It ignores types of functions and of
// other packages: the server infers their forms when it asks.
func (f *finder) findForms(file *typecheck.File) {
	for node := range ast.Preorder(file.Syntax) {
		call, ok := node.(*ast.IndexExpr)
		if !ok {
			continue
		}
		function, isSelector := call.X.(*ast.SelectorExpr)
		name, isName := call.Index.(*ast.Ident)
		if !isSelector || !isName || function.Sel.Name != "AskFor" || f.place.receiver() == "" {
			continue
		}
		t, ok := f.pkg.Scope().Lookup(name.Name).(*types.TypeName)
		if ok && !isInvalid(t.Type()) && !slices.ContainsFunc(f.found.forms, func(known form) bool { return known.name == name.Name }) {
			f.addForm(name, t.Type())
		}
	}
}

// addForm adds a form. It reports a problem at a field that a form cannot have.
func (f *finder) addForm(name *ast.Ident, t types.Type) {
	s := &schemaBuilder{finder: f, at: name.Pos()}
	text, ok := s.build(t)
	if !ok {
		return
	}
	err := inference.CheckForm(json.RawMessage(text))
	if !isStruct(t) {
		err = errors.New("must be a struct")
	}
	if err != nil {
		at := name.Pos()
		if wrong, ok := errors.AsType[*inference.FieldError](err); ok && isStruct(t) {
			at = f.posOf(FieldAt(t, wrong.Name), at)
		}
		f.problem(at, "mcp.AskFor[%s]: %v", name.Name, err)
		return
	}
	f.found.forms = append(f.found.forms, form{name.Name, text})
	slices.SortFunc(f.found.forms, func(a, b form) int { return strings.Compare(a.name, b.name) })
}
