package derive

import (
	"go/token"
	"go/types"
	"reflect"
	"strings"
)

// lasting checks that all of a state comes back from JSON, which is what a snapshot of it is.
func (f *finder) lasting(t *types.Named, at token.Pos) {
	k := keeper{finder: f, root: t.Obj().Name(), seen: map[types.Type]bool{}}
	k.look(t, at)
}

// lastingFields checks that the exported fields of a worker come back from JSON. Others are its tools.
func (f *finder) lastingFields(t *types.Named, at token.Pos) {
	fields, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	k := keeper{finder: f, root: t.Obj().Name(), seen: map[types.Type]bool{t: true}}
	for i := range fields.NumFields() {
		if field := fields.Field(i); field.Exported() && !isLeftOut(fields.Tag(i)) {
			k.look(field.Type(), f.placeOf(field, at))
		}
	}
}

// A keeper looks for what JSON would lose.
type keeper struct {
	finder *finder
	root   string // the type that is kept
	seen   map[types.Type]bool
}

// lost says what would be.
func (k *keeper) lost(at token.Pos, format string, args ...any) {
	k.finder.problem(at, "%s is kept as JSON: "+format, append([]any{k.root}, args...)...)
}

// look looks at a type. The place is that of the field that has it.
func (k *keeper) look(t types.Type, at token.Pos) {
	t = types.Unalias(t)
	if k.seen[t] {
		return
	}
	k.seen[t] = true
	if named, ok := t.(*types.Named); ok {
		if _, ok := known(named); ok || writesItself(named) {
			return
		}
	}
	name := k.finder.name(t)
	switch t := t.Underlying().(type) {
	case *types.Pointer:
		k.look(t.Elem(), at)
	case *types.Slice:
		k.look(t.Elem(), at)
	case *types.Array:
		k.look(t.Elem(), at)
	case *types.Map:
		basic, _ := t.Key().Underlying().(*types.Basic)
		if (basic == nil || basic.Info()&(types.IsString|types.IsInteger) == 0) && !writesItself(t.Key()) && !isInvalid(t.Key()) {
			k.lost(at, "a map with keys of type %s cannot be written; use string keys", k.finder.name(t.Key()))
		}
		k.look(t.Elem(), at)
	case *types.Struct:
		k.fields(t, name, at)
	case *types.Basic:
		if t.Info()&types.IsComplex != 0 || t.Kind() == types.Uintptr || t.Kind() == types.UnsafePointer {
			k.lost(at, "%s cannot be written; use another type", name)
		}
	case *types.Interface:
		if !t.Empty() { // what is in any has come from JSON itself
			k.lost(at, "it is not said which type was in %s; use a struct", name)
		}
	case *types.Signature, *types.Chan:
		k.lost(at, "%s cannot be written; use another type", name)
	}
}

// fields looks at those of a struct.
func (k *keeper) fields(t *types.Struct, name string, at token.Pos) {
	for i := range t.NumFields() {
		field, tag := t.Field(i), t.Tag(i)
		place := k.finder.placeOf(field, at)
		_, isStruct := types.Unalias(field.Type()).Underlying().(*types.Struct)
		switch {
		case field.Name() == "_":
		case !k.finder.isOurs(field) && (!field.Exported() || isLeftOut(tag)):
			k.lost(at, "%s would not come back, as it has fields that are not written; use another type", name)
			return
		case isLeftOut(tag):
			k.lost(place, "the field %s would be lost, as its tag says; take the tag away, or give %s methods MarshalJSON and UnmarshalJSON", field.Name(), name)
		case !field.Exported() && !(field.Embedded() && isStruct):
			k.lost(place, "the field %s would be lost, as it is not exported; begin its name with a capital", field.Name())
		default:
			_, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			if _, isMap := types.Unalias(field.Type()).Underlying().(*types.Map); isMap && (strings.Contains(options, "omitempty")) {
				k.lost(place, "the map %s would come back as nil if it is empty, and nothing can be put into that; take omitempty away", field.Name())
			}
			k.look(field.Type(), place)
		}
	}
}

// isLeftOut reports whether the tag of a field keeps it out of JSON.
func isLeftOut(tag string) bool { return reflect.StructTag(tag).Get("json") == "-" }

// writesItself reports whether a type has a JSON form, or one in text, that it writes and reads itself.
func writesItself(t types.Type) bool {
	return method(t, "MarshalJSON") != nil && method(t, "UnmarshalJSON") != nil || method(t, "MarshalText") != nil && method(t, "UnmarshalText") != nil
}
