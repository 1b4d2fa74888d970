package engine

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// typeText returns the Go type of a field. An enum keeps the type that the field has, with new constants,
// or shares a type of the package with the same values, or gets a new type.
func (ch *changer) typeText(edit *fieldEdit, f gen.Field, old *types.Var) (string, error) {
	enum, isEnum := f.Type.Enum()
	if old != nil && !isEnum {
		ch.dropEnum(old)
	}
	if !isEnum {
		return edit.code.Type(f), nil
	}
	standard := edit.code.Prefix + f.Go
	name := standard
	home := edit.t.Obj().Pkg()
	if kept := ch.enumOf(old); kept != nil {
		if name = ch.nameOf(kept); kept.Pkg().Path() != home.Path() {
			return "", fmt.Errorf("field %s: its enum %s is declared in package %s; edit it there", f.Name, name, kept.Pkg().Name())
		}
		if err := ch.setValues(kept, enum.Values); err != nil {
			return "", err
		}
	} else if shared := ch.sharedEnum(home, f, enum.Values); shared != "" {
		name = shared
	} else if home.Scope().Lookup(name) != nil {
		return "", fmt.Errorf("field %s: its enum needs the Go name %s, which the package already declares; rename the field", f.Name, name)
	} else {
		text := fmt.Sprintf("\n// %s is one of the values of %s.\ntype %[1]s string\n\n// The values of %[2]s.\nconst (\n", name, f.Name)
		for _, value := range enum.Values {
			text += fmt.Sprintf("%s%s %s = %q\n", name, value.Go, name, value.Text)
		}
		ch.appends[fileAt(ch.view, edit.t.Obj().Pos()).Path] += text + ")\n"
	}
	return strings.Replace(edit.code.Type(f), standard, name, 1), nil
}

// enumOf returns the named string type of the project that a field has or contains, or nil.
func (ch *changer) enumOf(v *types.Var) *types.TypeName {
	if v == nil {
		return nil
	}
	t := types.Unalias(v.Type())
	for container, ok := t.(interface{ Elem() types.Type }); ok; container, ok = t.(interface{ Elem() types.Type }) {
		t = types.Unalias(container.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok || fileAt(ch.view, named.Obj().Pos()) == nil {
		return nil
	}
	if basic, ok := named.Underlying().(*types.Basic); !ok || basic.Kind() != types.String {
		return nil
	}
	return named.Obj()
}

// constantsOf returns the constants of a type by their values.
func constantsOf(name *types.TypeName) map[string]*types.Const {
	found := map[string]*types.Const{}
	for _, other := range name.Pkg().Scope().Names() {
		c, ok := name.Pkg().Scope().Lookup(other).(*types.Const)
		if ok && types.Identical(c.Type(), name.Type()) && c.Val().Kind() == constant.String {
			found[constant.StringVal(c.Val())] = c
		}
	}
	return found
}

// sharedEnum returns the type of the package with the same values whose name ends with that of the field,
// or "".
func (ch *changer) sharedEnum(pkg *types.Package, f gen.Field, values []gen.EnumValue) string {
	for _, other := range pkg.Scope().Names() {
		name, ok := pkg.Scope().Lookup(other).(*types.TypeName)
		if !ok || !strings.HasSuffix(other, f.Go) {
			continue
		}
		known := constantsOf(name)
		if len(known) == len(values) && !slices.ContainsFunc(values, func(v gen.EnumValue) bool { return known[v.Text] == nil }) {
			return other
		}
	}
	return ""
}

// setValues plans the constants of an enum: it adds and removes values.
func (ch *changer) setValues(name *types.TypeName, values []gen.EnumValue) error {
	known := constantsOf(name)
	var last *ast.ValueSpec
	for _, value := range slices.Sorted(maps.Keys(known)) {
		file := fileAt(ch.view, known[value].Pos())
		spec := enclosing[*ast.ValueSpec](file, known[value].Pos())
		if last == nil || spec.Pos() > last.Pos() {
			last = spec
		}
		if slices.ContainsFunc(values, func(v gen.EnumValue) bool { return v.Text == value }) {
			continue
		}
		if len(spec.Names) > 1 {
			return fmt.Errorf("the constant %s is declared together with others; declare it on its own line", known[value].Name())
		}
		end := spec.End()
		if spec.Comment != nil {
			end = spec.Comment.End()
		}
		ch.replace(file, spec.Pos(), end, "")
	}
	added := ""
	for _, value := range values {
		if known[value.Text] == nil {
			added += fmt.Sprintf("\n%s%s %s = %q", ch.nameOf(name), value.Go, ch.nameOf(name), value.Text)
		}
	}
	if added == "" {
		return nil
	}
	if last == nil {
		return fmt.Errorf("the enum %s has no constants; add them by hand", name.Name())
	}
	end := last.End()
	if last.Comment != nil {
		end = last.Comment.End()
	}
	ch.replace(fileAt(ch.view, last.Pos()), end, end, added)
	return nil
}

// dropEnum plans to remove the enum of a field that loses it, if the component's file declares the enum
// and nothing else uses it.
func (ch *changer) dropEnum(v *types.Var) {
	name := ch.enumOf(v)
	if name == nil || fileAt(ch.view, name.Pos()).Path != ch.c.File {
		return
	}
	owned := map[token.Pos]bool{name.Pos(): true}
	for _, c := range constantsOf(name) {
		owned[c.Pos()] = true
	}
	var nodes []ast.Decl
	file := fileAt(ch.view, name.Pos())
	for pos := range owned {
		if decl := enclosing[*ast.GenDecl](file, pos); decl != nil && !slices.Contains(nodes, ast.Decl(decl)) {
			nodes = append(nodes, decl)
		}
	}
	for _, declared := range typecheck.DeclaredNames(&ast.File{Decls: nodes}) {
		if !owned[name.Pkg().Scope().Lookup(declared).Pos()] {
			return
		}
	}
	_, field, err := ch.declaration(v)
	if err != nil {
		return
	}
	for inspected := range ch.packages() {
		for ident, object := range inspected.Info.Uses {
			isInside := func(n ast.Node) bool { return n.Pos() <= ident.Pos() && ident.Pos() < n.End() }
			isOwn := isInside(field) || slices.ContainsFunc(nodes, func(decl ast.Decl) bool { return isInside(decl) })
			if owned[object.Pos()] && !isOwn && !fileAt(ch.view, ident.Pos()).IsDerived() {
				return
			}
		}
	}
	for _, node := range nodes {
		ch.replace(file, startOf(node), node.End(), "")
	}
}
