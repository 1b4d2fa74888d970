package engine

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// An oldName is the name of a type or constant of an old version.
type oldName struct {
	dir, name string
	isEnum    bool // of an enum or its constant, which may stay in use in other commands
}

// redirectOlder makes the code of older versions use the new old types instead of those of the source:
// func (old CreateV1) Upgrade() CreateV2 { return CreateV2{Href: old.URL} }. Fields that the source already
// renames get their recorded names. Named strings and numbers that are not recorded as enums become basic
// types, as in recorded types.
func (m *migration) redirectOlder() {
	names, fields := map[string]oldName{}, map[token.Pos]string{}
	for key, o := range m.structs {
		names[key] = oldName{o.Dir, o.Name, false}
		if o.Current != nil {
			m.recordedFields(o, fields, names)
		}
	}
	basic := map[string]bool{} // whether a named string is an enum that stays
	for _, v := range m.result.Versions {
		for _, ref := range v.EnumRefs {
			if ref.Kept != nil {
				basic[typeKey(ref.Kept)] = true
			}
		}
	}
	dirs := slices.Clone(m.dirs)
	for _, o := range m.result.Structs {
		dirs = append(dirs, o.Dir)
	}
	slices.Sort(dirs)
	for _, inTypes := range []bool{true, false} { // a renamed embedded field is used in methods
		for _, dir := range slices.Compact(slices.Clone(dirs)) {
			m.redirectPackage(dir, inTypes, names, fields, basic)
		}
	}
}

// recordedFields adds the recorded Go names of the fields of a struct, by the positions of their declarations,
// and the names of their enums.
func (m *migration) recordedFields(o *gen.OldStruct, fields map[token.Pos]string, names map[string]oldName) {
	dir, _ := m.pass.Dir(o.Current.Obj().Pkg().Path())
	pkg, _ := m.pass.Package(dir)
	if pkg == nil {
		return
	}
	object, ok := pkg.Scope().Lookup(o.Current.Obj().Name()).(*types.TypeName)
	if !ok || namedStruct(object.Type()) == nil {
		return
	}
	for f := range object.Type().Underlying().(*types.Struct).Fields() {
		if inner := o.Embedded[f.Name()].Old; f.Embedded() && inner != nil {
			fields[f.Pos()] = inner.Name
		}
	}
	for _, old := range o.Fields {
		name := old.Name
		if o.Path != nil {
			name = cmp.Or(m.edit.Rename[*o.Path+old.Name], name)
		}
		if v := jsonField(object.Type(), name[strings.LastIndex(name, ".")+1:]); v != nil {
			fields[v.Pos()] = old.Go[strings.LastIndex(old.Go, ".")+1:]
			if t, err := old.ParseType(); err == nil {
				addEnums(o.Of, t, v.Type(), names)
			}
		}
	}
}

// addEnums adds the names of the old enums in a recorded type, for those of the source in their places.
func addEnums(v *gen.Version, old contract.Type, t types.Type, names map[string]oldName) {
	t = types.Unalias(t)
	if pointer, ok := t.(*types.Pointer); ok && old.Kind != contract.Pointer {
		t = types.Unalias(pointer.Elem())
	}
	if enum := v.EnumRefs[old.Enum].Old; enum != nil {
		if named, ok := t.(*types.Named); ok {
			names[typeKey(named)] = oldName{enum.Dir, enum.Name, true}
			for _, c := range derive.Constants(named) {
				for _, value := range enum.Values {
					if value.Value == constant.StringVal(c.Val()) {
						names[c.Pkg().Path()+"."+c.Name()] = oldName{enum.Dir, enum.ConstantName(value), true}
					}
				}
			}
		}
	}
	if under, ok := t.Underlying().(*types.Map); ok && old.Key != nil {
		addEnums(v, *old.Key, under.Key(), names)
	}
	if under, ok := t.Underlying().(interface{ Elem() types.Type }); ok && old.Elem != nil {
		addEnums(v, *old.Elem, under.Elem(), names)
	}
}

// redirectPackage is redirectOlder for the types or the methods of one package.
func (m *migration) redirectPackage(dir string, inTypes bool, names map[string]oldName, fields map[token.Pos]string, basic map[string]bool) {
	pkg, _ := m.pass.Package(dir)
	if pkg == nil || !slices.ContainsFunc(m.view.Files(dir), func(file *typecheck.File) bool { return len(olderDecls(pkg, file, inTypes)) > 0 }) {
		return
	}
	inspected := m.pass.Inspect(dir)
	for _, file := range inspected.Files {
		for _, decl := range olderDecls(pkg, file, inTypes) {
			_, isVersioned := names[pkg.Path()+"."+decl.command]
			for node := range ast.Preorder(decl.node) {
				var ident *ast.Ident
				isIdent := false
				switch node := node.(type) {
				case *ast.Ident:
					ident, isIdent = node, true
				case *ast.SelectorExpr:
					ident = node.Sel
				case *ast.IndexExpr, *ast.IndexListExpr: // an instance of a generic type
					if t := inspected.Info.Types[node.(ast.Expr)]; t.IsType() {
						if name, isOld := names[typeKey(t.Type)]; isOld {
							m.replace(file, node.Pos(), node.End(), m.nameIn(file, name))
						}
					}
				}
				if ident == nil || m.isPlanned(file, node.Pos()) {
					continue
				}
				text := ""
				switch object := inspected.Info.Uses[ident].(type) {
				case *types.Var:
					if isIdent {
						text = fields[object.Origin().Pos()]
					}
				case *types.TypeName, *types.Const:
					if object.Pkg() == nil || object.Parent() != object.Pkg().Scope() {
						continue
					}
					key := object.Pkg().Path() + "." + object.Name()
					name, isOld := names[key]
					isOld = isOld && (isVersioned || !name.isEnum)
					_, isType := object.(*types.TypeName)
					switch {
					case isOld:
						text = m.nameIn(file, name)
						if v, ok := inspected.Info.Defs[ident].(*types.Var); ok { // embedded
							fields[v.Pos()] = name.name
						}
					case isType && isVersioned && !inTypes && !basic[key]:
						text = plainType(object.(*types.TypeName))
					}
				}
				if text != "" {
					m.replace(file, node.Pos(), node.End(), text)
				}
			}
		}
	}
}

// nameIn returns a name as a file writes it.
func (m *migration) nameIn(file *typecheck.File, name oldName) string {
	if file.Dir() == name.dir {
		return name.name
	}
	pkg, _ := m.pass.Package(name.dir)
	return pkg.Name() + "." + name.name
}

// plainType returns the basic type that underlies a named type without its own marshalling. It is empty for
// other types.
func plainType(name *types.TypeName) string {
	named, ok := name.Type().(*types.Named)
	if !ok || name.Pkg() == nil || derive.IsOpaque(named) {
		return ""
	}
	if basic, ok := named.Underlying().(*types.Basic); ok {
		return types.Typ[basic.Kind()].Name()
	}
	return ""
}

// An olderDecl is the declaration of a type of an older version, of one of its methods, or of a function that
// maps events to a command.
type olderDecl struct {
	command string
	node    ast.Node
}

func olderDecls(pkg *types.Package, file *typecheck.File, areTypes bool) (found []olderDecl) {
	for _, decl := range file.Syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if !areTypes {
				found = append(found, olderDecl{convertsTo(pkg, decl), decl})
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok && areTypes {
					found = append(found, olderDecl{olderOf(pkg, spec.Name.Name), spec})
				}
			}
		}
	}
	return slices.DeleteFunc(found, func(d olderDecl) bool { return d.command == "" })
}
