package schema

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// SetDefaults sets the fields of v, a settable struct, to the defaults in their schema tags. It does the same in structs
// that v holds, but not behind pointers. A value of another kind is left alone.
func SetDefaults(v reflect.Value) error {
	if v.Kind() != reflect.Struct || !hasDefault(v.Type()) {
		return nil
	}
	for _, f := range strictjson.Fields(v.Type(), false) {
		if f.Indirect || f.Quoted {
			continue
		}
		field := v.FieldByIndex(f.Index)
		if err := SetDefaults(field); err != nil {
			return err
		}
		text, err := defaultIn(f.Tag)
		if err == nil && text != nil {
			err = setDefault(field, f.Type.Kind(), *text)
		}
		if err != nil {
			return fmt.Errorf("schema tag of %v.%s: %w", v.Type(), f.Name, err)
		}
	}
	return nil
}

// hasDefault reports whether a field of a struct, or of one that it holds, may have a default.
func hasDefault(t reflect.Type) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		if strings.Contains(string(f.Tag), "default") || f.Type.Kind() == reflect.Struct && hasDefault(f.Type) {
			return true
		}
	}
	return false
}
