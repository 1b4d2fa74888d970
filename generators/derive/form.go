package derive

import (
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/plumbing/inference"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// An askedForm is a struct that a function asks the user for: mcp.AskFor[Confirm](ctx, "Sure?").
type askedForm struct {
	of     *types.TypeName
	schema schemaText
}

// findForms finds the forms that functions of a file ask for. It ignores types that are declared in
// functions or instantiated: the server infers their forms when it asks.
func (f *finder) findForms(file *typecheck.File) {
	if f.place.receiver() == "" {
		return // only tools, resources and prompts ask
	}
	packages := map[string]*types.Package{"": f.pkg} // by name in the file
	for _, spec := range file.Syntax.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if at := slices.IndexFunc(f.pkg.Imports(), func(p *types.Package) bool { return p.Path() == imported }); at >= 0 {
			packages[cmp.Or(spec.Name, ast.NewIdent(f.pkg.Imports()[at].Name())).Name] = f.pkg.Imports()[at]
		}
	}
	named := func(e ast.Expr) (*types.Package, string) {
		switch e := e.(type) {
		case *ast.Ident:
			return packages[""], e.Name
		case *ast.SelectorExpr:
			if ident, ok := e.X.(*ast.Ident); ok {
				return packages[ident.Name], e.Sel.Name
			}
		}
		return nil, ""
	}
	for node := range ast.Preorder(file.Syntax) {
		call, ok := node.(*ast.IndexExpr)
		if !ok {
			continue
		}
		if pkg, name := named(call.X); pkg == nil || pkg.Path() != f.Core+"/mcp" || name != "AskFor" {
			continue
		}
		if pkg, name := named(call.Index); pkg != nil {
			if of, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && !isInvalid(of.Type()) {
				f.addForm(of, call)
			}
		}
	}
}

// addForm adds a form, unless it is known. It reports a problem at the field that a form cannot
// have.
func (f *finder) addForm(of *types.TypeName, call *ast.IndexExpr) {
	if slices.ContainsFunc(f.found.forms, func(known askedForm) bool { return known.of == of }) {
		return
	}
	if !isStruct(of.Type()) {
		f.problem(call.Index.Pos(), "mcp.AskFor[%s]: a form must be a struct", f.name(of.Type()))
		return
	}
	s := &schemaBuilder{finder: f, at: call.Index.Pos()}
	text, ok := s.build(of.Type())
	if !ok {
		return
	}
	if err := inference.CheckForm(json.RawMessage(text)); err != nil {
		at := call.Index.Pos()
		if wrong, ok := errors.AsType[*inference.FieldError](err); ok {
			if field := FieldAt(of.Type(), wrong.Name); field != nil {
				at = f.posOf(field, at)
			}
		}
		f.problem(at, "mcp.AskFor[%s]: %v", f.name(of.Type()), err)
		return
	}
	name := "form" + of.Name()
	if !f.isThisPackage(of.Pkg()) {
		name = "form" + gen.Capitalize(of.Pkg().Name()) + of.Name()
	}
	f.found.forms = append(f.found.forms, askedForm{of, schemaText{name, text}})
	slices.SortFunc(f.found.forms, func(a, b askedForm) int { return strings.Compare(a.schema.name, b.schema.name) })
}

// schemas returns the schemas of all forms and components, in groups.
func (p *Package) schemas() [][]schemaText {
	var forms []schemaText
	for _, form := range p.forms {
		forms = append(forms, form.schema)
	}
	groups := [][]schemaText{forms}
	for _, c := range p.Components {
		groups = append(groups, c.constants())
	}
	return groups
}
