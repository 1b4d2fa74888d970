package generators

import (
	"encoding/json"
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// declare writes a struct with recorded fields.
func (u *upgrade) declare(file gen.GoFile, name string, fields []contract.Field) {
	file.Type().Id(name).StructFunc(func(g *jen.Group) {
		for _, f := range fields {
			tag := f.Name
			if f.Optional {
				tag += ",omitzero"
			}
			if f.Quoted {
				tag += ",string"
			}
			parsed, err := contract.ParseType(f.Type)
			if err != nil {
				u.addUndecided(f.Name, err.Error())
			}
			g.Id(recordedGo(f)).Add(u.goType(parsed)).Tag(map[string]string{"json": tag})
		}
	})
}

// recordedGo is the Go name of a recorded field. Those of embedded structs stand in the struct itself.
func recordedGo(f contract.Field) string { return f.Go[strings.LastIndex(f.Go, ".")+1:] }

// goType is a recorded type as Go has it.
func (u *upgrade) goType(t contract.Type) *jen.Statement {
	switch t.Kind {
	case contract.Any:
		return jen.Any()
	case contract.Bytes:
		return jen.Index().Byte()
	case contract.Struct:
		return jen.Id(u.OldType(t.Name))
	case contract.Opaque:
		return u.opaque(t.Name)
	case contract.Pointer:
		return jen.Op("*").Add(u.goType(*t.Elem))
	case contract.Slice:
		return jen.Index().Add(u.goType(*t.Elem))
	case contract.Array:
		return jen.Index(jen.Lit(t.Len)).Add(u.goType(*t.Elem))
	case contract.Map:
		return jen.Map(u.goType(*t.Key)).Add(u.goType(*t.Elem))
	}
	return jen.Id(t.Name)
}

// opaque is a type of another package, or of the feature's own, that has its own marshalling.
func (u *upgrade) opaque(text string) *jen.Statement {
	base, arguments, generic := strings.Cut(text, "[")
	at := strings.LastIndex(base, ".")
	imported, name := base[:at], base[at+1:]
	if inside, ok := strings.CutPrefix(imported, "./"); ok {
		imported = u.p.Import(inside)
	}
	made := jen.Qual(imported, name)
	if !generic {
		return made
	}
	var list []jen.Code
	for argument := range strings.SplitSeq(strings.TrimSuffix(arguments, "]"), ",") { // nested lists are split too, and then do not compile
		parsed, err := contract.ParseType(argument)
		if err != nil {
			u.addUndecided(text, err.Error())
		}
		list = append(list, u.goType(parsed))
	}
	return made.Types(list...)
}

// addUndecided notes a field that the flags do not decide.
func (u *upgrade) addUndecided(field, what string) {
	u.undecided = append(u.undecided, field+": "+what)
}

// convertNamed writes the method that upgrades a struct type which the command uses.
//
//	func (old CreateV1Item) upgrade() Item {
//		return Item{Name: old.Name}
//	}
func (u *upgrade) convertNamed(file gen.GoFile, name string) {
	target := u.queued[name]
	structure, _ := target.Underlying().(*types.Struct)
	file.Func().Params(jen.Id("old").Id(u.OldType(name))).Id("upgrade").Params().Add(u.typeOf(target)).BlockFunc(func(g *jen.Group) {
		u.convertStruct(g, u.Old.PathOf(name)+".", u.typeOf(target), u.Old.Types[name], structure)
	})
}

// typeOf is a Go type as the feature's package writes it.
func (u *upgrade) typeOf(t types.Type) *jen.Statement {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		made := jen.Id(t.Obj().Name())
		if pkg := t.Obj().Pkg(); pkg != nil && pkg.Path() != u.p.Import(u.Dir) {
			made = jen.Qual(pkg.Path(), t.Obj().Name())
		}
		var arguments []jen.Code
		for argument := range t.TypeArgs().Types() {
			arguments = append(arguments, u.typeOf(argument))
		}
		if len(arguments) > 0 {
			made.Types(arguments...)
		}
		return made
	case *types.Pointer:
		return jen.Op("*").Add(u.typeOf(t.Elem()))
	case *types.Slice:
		return jen.Index().Add(u.typeOf(t.Elem()))
	case *types.Array:
		return jen.Index(jen.Lit(int(t.Len()))).Add(u.typeOf(t.Elem()))
	case *types.Map:
		return jen.Map(u.typeOf(t.Key())).Add(u.typeOf(t.Elem()))
	}
	return jen.Op(types.TypeString(t, func(pkg *types.Package) string { return pkg.Name() }))
}

// convertStruct writes what makes a struct of the source out of a recorded one, called old.
//
//	return Create{Href: old.URL, Tags: old.Tags}
func (u *upgrade) convertStruct(g *jen.Group, prefix string, target *jen.Statement, fields []contract.Field, structure *types.Struct) {
	used, embeds := map[string]bool{}, false
	var values []assigned
	for _, f := range derive.JSONFields(structure) {
		at := prefix + f.Name
		was, found := u.sourceOf(prefix, fields, f.Name)
		fallback, hasDefault := u.defaultOf(at)
		made := assigned{name: f.Var.Name()}
		if promoted, _, _ := types.LookupFieldOrMethod(structure, true, f.Var.Pkg(), made.name); promoted != f.Var {
			made.name = strings.Join(f.Path, ".") // an embedded struct hides it
		}
		embeds = embeds || len(f.Path) > 1
		switch {
		case found:
			used[was.Name] = true
			made.value = u.convertField(at, was, f, fallback, hasDefault)
		case hasDefault:
			made.value = u.literal(at, fallback, f.Var.Type())
		case f.Omits || isPointer(f.Var.Type()):
			continue // old events do not say it
		default:
			u.addUndecided(at, fmt.Sprintf("it is new and required; say what it is in old events (default %s=VALUE), or which field it was (rename OLD=%s)", at, f.Name))
			continue
		}
		if !f.Direct {
			u.addUndecided(at, "it is in an embedded pointer, which only a body can make")
		}
		values = append(values, made)
	}
	for _, was := range fields {
		if at := prefix + was.Name; !used[was.Name] && !slices.Contains(u.edit.Drop, at) {
			u.addUndecided(at, fmt.Sprintf("no field takes it; say what it is called now (rename %s=NEW), or that it is ignored (drop %[1]s)", at))
		}
	}
	write(g, target, values, embeds)
}

// assigned is a field of a struct with its value.
type assigned struct {
	name  string
	value *jen.Statement
}

// write returns a struct with fields: as a literal, or field by field if it embeds others.
func write(g *jen.Group, target *jen.Statement, values []assigned, embeds bool) {
	if embeds {
		g.Var().Id("made").Add(target)
		for _, a := range values {
			g.Id("made." + a.name).Op("=").Add(a.value)
		}
		g.Return(jen.Id("made"))
		return
	}
	var set []jen.Code
	for _, a := range values {
		set = append(set, gen.KeyValue(a.name, a.value))
	}
	if len(set) > 3 {
		g.Return(target.Custom(gen.Multiline(), set...))
		return
	}
	g.Return(target.Values(set...))
}

// sourceOf is the recorded field that a field was.
func (u *upgrade) sourceOf(prefix string, fields []contract.Field, name string) (contract.Field, bool) {
	for _, was := range fields {
		renamed, ok := u.edit.Rename[prefix+was.Name]
		if ok && renamed == name || !ok && was.Name == name {
			return was, true
		}
	}
	return contract.Field{}, false
}

// defaultOf is what a field is in events that do not have it, as JSON or as plain text.
func (u *upgrade) defaultOf(at string) (string, bool) {
	if value, ok := u.defaults[at]; ok {
		return value, true
	}
	value, ok := u.Defaults[at]
	return value, ok
}

// convertField is the value of a field by a recorded one.
func (u *upgrade) convertField(at string, was contract.Field, f derive.JSONField, fallback string, hasDefault bool) *jen.Statement {
	old, err := contract.ParseType(was.Type)
	if err != nil {
		u.addUndecided(at, err.Error())
		return jen.Nil()
	}
	value, target := jen.Id("old").Dot(recordedGo(was)), f.Var.Type()
	if !was.Optional || f.Omits || isPointer(target) {
		made, ok := u.convert(value, old, target)
		if !ok {
			return u.mismatch(at, was, f)
		}
		return made
	}
	switch {
	case !hasDefault:
		u.addUndecided(at, fmt.Sprintf("it was optional and is required now; say what it is in events that lack it (default %s=VALUE)", at))
		return jen.Nil()
	case old.Kind != contract.Pointer:
		u.addUndecided(at, "it was optional and is required now, and an empty one is stored like none; only a body can tell what is meant")
		return jen.Nil()
	}
	made, ok := u.convert(jen.Id("v"), *old.Elem, target)
	if !ok {
		return u.mismatch(at, was, f)
	}
	return jen.Qual(u.p.Import("core/app"), "UpgradeOr").Call(value, u.literal(at, fallback, target), u.function(*old.Elem, target, made))
}

// mismatch notes a field that no rule converts.
func (u *upgrade) mismatch(at string, was contract.Field, f derive.JSONField) *jen.Statement {
	u.addUndecided(at, fmt.Sprintf("it changed from %s to %s", was.Type, types.TypeString(f.Var.Type(), func(p *types.Package) string { return p.Name() })))
	return jen.Nil()
}

func isPointer(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok
}

// convert is a value of a recorded type as one of a Go type, if there is a way that loses nothing.
func (u *upgrade) convert(value *jen.Statement, old contract.Type, target types.Type) (*jen.Statement, bool) {
	target = types.Unalias(target)
	named, isNamed := target.(*types.Named)
	if old.Kind == contract.Opaque {
		return value, isNamed && u.isOpaque(named, old.Name)
	}
	if pointer, ok := target.(*types.Pointer); ok {
		if old.Kind != contract.Pointer {
			made, ok := u.convert(value, old, pointer.Elem())
			return jen.New(made), ok
		}
		made, ok := u.convert(jen.Id("v"), *old.Elem, pointer.Elem())
		if !ok || !u.differs(*old.Elem, pointer.Elem()) {
			return value, ok
		}
		return u.each("UpgradePointer", value, *old.Elem, pointer.Elem(), made), true
	}
	switch under := target.Underlying().(type) {
	case *types.Interface:
		return value, under.Empty()
	case *types.Basic:
		if old.Kind != contract.Basic || !contract.Holds(types.Typ[under.Kind()].Name(), old.Name) {
			return nil, false
		}
		if isNamed || types.Typ[under.Kind()].Name() != old.Name {
			return u.typeOf(target).Call(value), true
		}
		return value, true
	case *types.Slice:
		if old.Kind == contract.Bytes {
			return value, true
		}
		if old.Kind != contract.Slice {
			return nil, false
		}
		made, ok := u.convert(jen.Id("v"), *old.Elem, under.Elem())
		if !ok || !u.differs(*old.Elem, under.Elem()) {
			return value, ok
		}
		return u.each("UpgradeList", value, *old.Elem, under.Elem(), made), true
	case *types.Array:
		return value, old.Kind == contract.Array && int(under.Len()) == old.Len && !u.differs(*old.Elem, under.Elem())
	case *types.Map:
		if old.Kind != contract.Map || u.differs(*old.Key, under.Key()) {
			return nil, false
		}
		made, ok := u.convert(jen.Id("v"), *old.Elem, under.Elem())
		if !ok || !u.differs(*old.Elem, under.Elem()) {
			return value, ok
		}
		return u.each("UpgradeMap", value, *old.Elem, under.Elem(), made), true
	case *types.Struct:
		if old.Kind != contract.Struct || !isNamed {
			return nil, false
		}
		if old.Name == u.Type {
			return value.Dot("Upgrade").Call(), named.Obj().Name() == u.Type
		}
		if known := u.queued[old.Name]; known != nil && !types.Identical(known, target) {
			return nil, false
		}
		if u.queued[old.Name] == nil {
			u.queued[old.Name] = target
			u.order = append(u.order, old.Name)
		}
		return value.Dot("upgrade").Call(), true
	}
	return nil, false
}

// each calls a function of core that converts what a pointer, list or map holds.
func (u *upgrade) each(function string, value *jen.Statement, old contract.Type, target types.Type, made *jen.Statement) *jen.Statement {
	return jen.Qual(u.p.Import("core/app"), function).Call(value, u.function(old, target, made))
}

// function is one that converts v, a value of a recorded type, to a Go type.
func (u *upgrade) function(old contract.Type, target types.Type, made *jen.Statement) *jen.Statement {
	if old.Kind == contract.Struct && old.Name == u.Type {
		return jen.Id(u.OldType("")).Dot("Upgrade")
	}
	if old.Kind == contract.Struct {
		return jen.Id(u.OldType(old.Name)).Dot("upgrade")
	}
	return jen.Func().Params(jen.Id("v").Add(u.goType(old))).Add(u.typeOf(target)).Block(jen.Return(made))
}

// differs reports whether a value of a recorded type cannot be assigned to a Go type as it is.
func (u *upgrade) differs(old contract.Type, target types.Type) bool {
	target = types.Unalias(target)
	_, isNamed := target.(*types.Named)
	switch under := target.Underlying().(type) {
	case *types.Basic:
		return isNamed && old.Kind != contract.Opaque || old.Kind == contract.Basic && types.Typ[under.Kind()].Name() != old.Name
	case *types.Pointer:
		return old.Kind != contract.Pointer || u.differs(*old.Elem, under.Elem())
	case *types.Slice:
		return old.Kind == contract.Slice && u.differs(*old.Elem, under.Elem()) || isNamed && old.Kind != contract.Opaque
	case *types.Array:
		return old.Kind == contract.Array && u.differs(*old.Elem, under.Elem())
	case *types.Map:
		return old.Kind == contract.Map && (u.differs(*old.Elem, under.Elem()) || u.differs(*old.Key, under.Key()))
	case *types.Struct:
		return old.Kind == contract.Struct
	}
	return false
}

// isOpaque reports whether a type is the one that a shape names.
func (u *upgrade) isOpaque(t *types.Named, name string) bool {
	if t.Obj().Pkg() == nil {
		return false
	}
	base, _, _ := strings.Cut(name, "[")
	if inside, ok := strings.CutPrefix(base, "./"); ok {
		base = u.p.Import(inside)
	}
	return base == t.Obj().Pkg().Path()+"."+t.Obj().Name()
}

// literal is a default as Go has it: JSON, or plain text for a string.
func (u *upgrade) literal(at, text string, t types.Type) *jen.Statement {
	made, ok := u.literalOf(json.RawMessage(text), t)
	if !ok && isText(t) {
		made, ok = u.literalOf(json.RawMessage(strconv.Quote(text)), t)
	}
	if !ok {
		u.addUndecided(at, fmt.Sprintf("the default %s does not fit %s", text, types.TypeString(t, func(p *types.Package) string { return p.Name() })))
		return jen.Nil()
	}
	return made
}

func isText(t types.Type) bool {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}
