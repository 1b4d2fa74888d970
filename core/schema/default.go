package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// DefaultJSON returns the default of the tag as JSON, for a field of type t whose schema is k. The schema must allow it.
func (tag Tag) DefaultJSON(k Keywords, t reflect.Type) (string, error) {
	if err := setDefault(reflect.New(t).Elem(), *tag.Default); err != nil {
		return "", err
	}
	own, err := Compile(k.String())
	if err != nil {
		return "", err
	}
	value := defaultJSON(t, *tag.Default)
	if err := own.Validate([]byte(value)); err != nil {
		return "", fmt.Errorf("default %s: %w", *tag.Default, err)
	}
	return value, nil
}

// defaultJSON is a default as JSON.
func defaultJSON(t reflect.Type, text string) string {
	if t.Kind() == reflect.String {
		return quote(text)
	}
	return text
}

// setDefault sets v to a default.
func setDefault(v reflect.Value, text string) error {
	if kind := v.Kind(); kind != reflect.String && (kind < reflect.Bool || kind > reflect.Float64) {
		return errors.New("default applies to strings, numbers and booleans only, and not to pointers to them")
	}
	if err := strictjson.Unmarshal([]byte(defaultJSON(v.Type(), text)), v.Addr().Interface()); err != nil {
		return fmt.Errorf("default %s: not of type %v", text, v.Type())
	}
	return nil
}

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
			err = setDefault(field, *text)
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
