package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/petrock/petrock/core/strictjson"
)

// object is the schema of a struct.
func (in *inference) object(t reflect.Type) (Keywords, error) {
	var properties Keywords
	var required []string
	for _, f := range strictjson.Fields(t, in.output) {
		depth, direct := len(in.path), in.direct
		in.path = append(in.path, f.Name)
		in.direct = direct && !f.Indirect
		made, optional, err := in.field(f)
		if err != nil {
			return nil, err
		}
		in.path, in.direct = in.path[:depth], direct
		properties = properties.With(f.Key, made.String())
		if !optional {
			required = append(required, quote(f.Key))
		}
	}
	made := OfType("object")
	if len(properties) > 0 {
		made = made.With("properties", properties.String())
	}
	if len(required) > 0 {
		made = made.With("required", "["+strings.Join(required, ",")+"]")
	}
	return made.With("additionalProperties", "false"), nil
}

// field is the schema of a field, and whether it may be left out.
func (in *inference) field(f strictjson.Field) (made Keywords, optional bool, err error) {
	if f.Tagged && !IsKey(f.Key) {
		return nil, false, in.fail("encoding/json does not accept the name %q in its json tag; use letters, digits, - and _", f.Key)
	}
	if f.Quoted {
		made = OfType("string")
	} else if made, err = in.of(f.Type); err != nil {
		return nil, false, err
	}
	tag, err := ParseTag(f.Tag)
	if err == nil {
		made, err = tag.Limit(made, f.Quoted)
	}
	if err != nil {
		return nil, false, in.fail("schema tag: %w", err)
	}
	preset := ""
	if tag.Default != nil {
		if preset, err = in.preset(made, f, tag); err != nil {
			return nil, false, in.fail("schema tag: %w", err)
		}
	}
	pointer := f.Type.Kind() == reflect.Pointer && !isNamed(f.Type)
	if !f.Omits && (in.output && isNilable(f.Type) || !in.output && pointer) {
		made = made.OrNull()
	}
	if tag.Header != "" && !in.output {
		if made, err = in.header(made, f, tag); err != nil {
			return nil, false, in.fail("schema tag: %w", err)
		}
	}
	if text := describe(f.Type, tag); text != "" {
		made = made.With("description", quote(text))
	}
	if preset != "" && !in.output { // an output has no defaults
		made = made.With("default", preset)
	}
	return made, f.Omits || in.output && f.Indirect || !in.output && (pointer || preset != ""), nil
}

// IsKey reports whether encoding/json accepts a name that a json tag gives.
func IsKey(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// preset is the default of a field, which must be one that can be set before the input is read.
func (in *inference) preset(made Keywords, f strictjson.Field, tag Tag) (string, error) {
	switch {
	case f.Quoted:
		return "", errors.New(`a value that the json tag puts into a string cannot have a default; remove it, or the option "string"`)
	case !in.output && !in.direct:
		return "", errors.New("only fields of the input itself, and of structs in it, can have a default; set it in the function")
	}
	return tag.DefaultJSON(made, f.Type)
}

// header adds the header of a field.
func (in *inference) header(made Keywords, f strictjson.Field, tag Tag) (Keywords, error) {
	name := strings.ToLower(tag.Header)
	if !in.plain {
		return nil, errors.New("only fields of the input itself, and of structs in it, can have a header")
	}
	if other, taken := in.headers[name]; taken {
		return nil, fmt.Errorf("%s already has the header %s; case does not matter in headers", other, tag.Header)
	}
	in.headers[name] = f.Name
	return tag.Mirror(made)
}

// describe is the description of a field.
func describe(t reflect.Type, tag Tag) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	text := tag.Description
	if own, ok := zero[Describer](t); ok && text == "" {
		text = own.SchemaDescription()
	}
	if t == reflect.TypeFor[time.Duration]() {
		text = InNanoseconds(text)
	}
	return text
}

// InNanoseconds adds the unit to the description of a time.Duration, unless it names that.
func InNanoseconds(text string) string {
	if strings.Contains(text, "nanosecond") {
		return text
	}
	return strings.TrimSpace(strings.TrimSuffix(text, ".") + " (in nanoseconds)")
}
