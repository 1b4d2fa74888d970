package derive

import (
	"go/types"
	"reflect"
	"slices"

	"github.com/petrock/petrock/core/strictjson"
)

// A JSONField is a field of a struct that encoding/json reads and writes.
type JSONField struct {
	strictjson.Claim
	Var  *types.Var
	Tag  reflect.StructTag
	Path []string // Go names from the root, through embedded structs
}

// JSONFields returns the fields of a struct that encoding/json reads or, if written is true, writes, in
// order. Fields of an embedded pointer to an unexported struct are only written.
func JSONFields(t *types.Struct, written bool) []JSONField {
	var claims []JSONField
	collect(t, JSONField{}, []types.Type{t}, written, &claims)
	return strictjson.Dominant(claims, func(f JSONField) strictjson.Claim { return f.Claim })
}

// collect adds the fields of t and of its embedded structs. outer is the field that contains t.
func collect(t *types.Struct, outer JSONField, within []types.Type, written bool, claims *[]JSONField) {
	for i := range t.NumFields() {
		field := t.Field(i)
		inner := types.Unalias(field.Type())
		pointer, isPointer := inner.(*types.Pointer)
		if isPointer {
			inner = types.Unalias(pointer.Elem())
		}
		embedded, isStruct := inner.Underlying().(*types.Struct)
		promotes := field.Embedded() && isStruct
		tag := reflect.StructTag(t.Tag(i))
		if !field.Exported() && (!promotes || isPointer && !written) || tag.Get("json") == "-" {
			continue
		}
		f := JSONField{
			Claim: strictjson.ParseTag(tag.Get("json"), field.Name(), quotable(inner)),
			Var:   field,
			Tag:   tag,
			Path:  append(slices.Clone(outer.Path), field.Name()),
		}
		f.Depth, f.Indirect = outer.Depth+1, outer.Indirect
		if promotes && !f.Tagged {
			f.Indirect = f.Indirect || isPointer
			if !slices.ContainsFunc(within, func(other types.Type) bool {
				return types.Identical(other, inner) || types.Identical(other, embedded) // within has the root as an unnamed struct
			}) {
				collect(embedded, f, append(slices.Clip(within), inner), written, claims)
			}
			continue
		}
		if field.Exported() {
			*claims = append(*claims, f)
		}
	}
}

func quotable(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsBoolean|types.IsNumeric|types.IsString) != 0 && basic.Info()&types.IsComplex == 0
}
