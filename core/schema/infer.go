package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/petrock/petrock/core/strictjson"
)

// A Direction says whether a schema is about what is read or about what is written.
type Direction bool

const (
	Input  Direction = false // what is decoded into a Go value
	Output Direction = true  // what a Go value is encoded as
)

func (d Direction) String() string {
	if d == Output {
		return "output"
	}
	return "input"
}

// Infer returns the schema of a Go type, as a document. It describes what package strictjson reads,
// or what encoding/json writes.
//
//   - Structs are objects that allow no other properties. Names, embedding and the options omitempty,
//     omitzero and string are those of encoding/json. An input may leave out a pointer, a field with
//     omitempty or omitzero, and a field with a default; an output leaves out what encoding/json
//     leaves out. Nil pointers, slices and maps of an output are null.
//   - The tag "schema" has limits, defaults, enums and descriptions; see [Tag].
//   - time.Time is a date-time, time.Duration an integer in nanoseconds, []byte a base64 string, a type with
//     MarshalText or UnmarshalText a string, any and json.RawMessage any value.
//   - Types that contain themselves are in $defs.
//   - The methods of [Schemer], [Enumerator] and [Describer] add what Go types do not say.
//
// A type that has no form in JSON, or one of its own by MarshalJSON or UnmarshalJSON, is an error.
func Infer(t reflect.Type, d Direction) (string, error) {
	made, err := InferFrom(reflected{t}, d)
	if err != nil {
		return "", fmt.Errorf("infer %v schema of %v: %w", d, t, err)
	}
	return made.Schema, nil
}

// An Inferred is the schema of a type.
type Inferred struct {
	Schema      string
	HasDefaults bool // a field of the input has a default
	HasHeaders  bool // a field of the input has a header
}

// InferFrom is [Infer] for a type that is described by something else than reflection. Its error is
// a [*TypeError].
func InferFrom(t Type, d Direction) (Inferred, error) {
	in := &inference{output: d == Output, defs: map[string]string{}, names: map[string]any{}}
	in.direct, in.plain, in.headers = true, true, map[string]string{}
	made, err := in.document(t)
	return Inferred{made.String(), in.preset, len(in.headers) > 0}, err
}

// A TypeError says why a type has no schema.
type TypeError struct {
	Fields []Field // from the type to the field that is wrong
	Given  Type    // the type whose own schema is wrong, or nil
	Err    error
}

func (e *TypeError) Error() string {
	if len(e.Fields) == 0 {
		return e.Err.Error()
	}
	var names []string
	for _, f := range e.Fields {
		names = append(names, f.Name)
	}
	return "field " + strings.Join(names, ".") + ": " + e.Err.Error()
}

func (e *TypeError) Unwrap() error { return e.Err }

type inference struct {
	output bool

	doing  []any             // the IDs of declared types from the root to the one in hand
	shared []any             // those that have a definition, because they contain themselves
	defs   map[string]string // the definitions, by name
	names  map[string]any    // the IDs of the types that have them
	size   int               // how many types have been looked at
	path   []Field           // from the root to the field in hand

	direct  bool              // no pointer leads to the field in hand, so that it can have a default
	preset  bool              // a field has a default
	plain   bool              // the field in hand is reached through properties alone
	headers map[string]string // the fields that have one, by its name in lower case
}

func (in *inference) document(t Type) (Keywords, error) {
	made, err := in.of(t)
	if err != nil || len(in.defs) == 0 {
		return made, err
	}
	if made.Get("$ref") != "" { // the root contains itself: clients want to see its type there
		if made, err = in.again(t); err != nil {
			return nil, err
		}
	}
	var defs Keywords
	for _, name := range slices.Sorted(maps.Keys(in.defs)) {
		defs = defs.With(name, in.defs[name])
	}
	return made.With("$defs", defs.String()), nil
}

// again is the schema of a type that has a definition, or of a pointer to it, written out.
func (in *inference) again(t Type) (Keywords, error) {
	for isPointer(t) {
		t = t.Elem()
	}
	in.shared = slices.DeleteFunc(in.shared, func(other any) bool { return other == t.ID() })
	in.doing, in.headers = nil, map[string]string{}
	return in.inline(t)
}

func (in *inference) fail(format string, args ...any) error {
	return &TypeError{Fields: slices.Clone(in.path), Err: fmt.Errorf(format, args...)}
}

// of is the schema of a type. A type that contains itself becomes a reference to a definition.
func (in *inference) of(t Type) (Keywords, error) {
	const most = 20_000
	if in.size++; in.size > most {
		return nil, in.fail("the schema would have more than %d parts; use a smaller type", most)
	}
	id := t.ID()
	if id == nil {
		return in.under(t)
	}
	if slices.Contains(in.doing, id) && !slices.Contains(in.shared, id) {
		in.shared = append(in.shared, id)
	}
	if slices.Contains(in.shared, id) {
		return in.reference(t)
	}
	made, err := in.inline(t)
	if err == nil && slices.Contains(in.shared, id) { // it was found to contain itself meanwhile
		return in.reference(t)
	}
	return made, err
}

func (in *inference) inline(t Type) (Keywords, error) {
	in.doing = append(in.doing, t.ID())
	defer func() { in.doing = in.doing[:len(in.doing)-1] }()
	return in.declared(t)
}

// reference refers to the definition of a type, and makes it if it does not exist.
func (in *inference) reference(t Type) (Keywords, error) {
	name := in.definition(t)
	if _, made := in.defs[name]; !made {
		in.defs[name] = "" // so that it is made once
		direct, plain := in.direct, in.plain
		in.direct, in.plain = false, false
		definition, err := in.inline(t)
		if err != nil {
			return nil, err
		}
		in.direct, in.plain = direct, plain
		in.defs[name] = definition.String()
	}
	return Keywords{{"$ref", quote("#/$defs/" + name)}}, nil
}

// definition is the name of a type's definition. Types that would have the same one are numbered.
func (in *inference) definition(t Type) string {
	base := DefinitionName(t.Name())
	name := base
	for n := 2; ; n++ {
		other, taken := in.names[name]
		if !taken || other == t.ID() {
			in.names[name] = t.ID()
			return name
		}
		name = base + strconv.Itoa(n)
	}
}

// DefinitionName returns the name that the definition of a type has in $defs: its Go name without
// packages, and with _ for any other character than letters and digits. Page[example.com/model.Item] is
// Page_Item.
func DefinitionName(goName string) string {
	isPart := func(r rune) bool { return !strings.ContainsRune("[]{}(),;* \"`", r) }
	isWord := func(r rune) bool { return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	var words []string
	for part := range strings.FieldsFuncSeq(goName, func(r rune) bool { return !isPart(r) }) {
		part = part[strings.LastIndexByte(part, '.')+1:]
		switch part {
		case "byte":
			part = "uint8"
		case "rune":
			part = "int32"
		case "interface":
			part = "any"
		}
		words = append(words, strings.FieldsFunc(part, func(r rune) bool { return !isWord(r) })...)
	}
	return strings.Join(words, "_")
}

// declared is the schema of a declared type: what is known of it, what it says of itself, or what
// is under it.
func (in *inference) declared(t Type) (Keywords, error) {
	if made, ok := Known(t.Name()); ok {
		return made, nil
	}
	text, ok, err := t.Given()
	if ok || err != nil {
		return in.given(t, text, err)
	}
	made, ok, err := in.marshalled(t)
	if !ok && err == nil {
		made, err = in.under(t)
	}
	if err != nil || len(made) == 0 {
		return made, err
	}
	values, err := t.Enum()
	if err != nil {
		return nil, in.fail("%w", err)
	}
	if values != "" {
		made = Keywords{made[0]}.With("enum", values)
	}
	return made, nil
}

// Known returns the schema of a type of the standard library that has its own JSON form.
func Known(name string) (Keywords, bool) {
	switch name {
	case "time.Time":
		return OfType("string").With("format", `"date-time"`), true
	case "time.Duration":
		return OfType("integer"), true
	case "encoding/json.RawMessage":
		return Keywords{}, true
	case "encoding/json.Number":
		return OfType("number"), true
	}
	return nil, false
}

// marshalled is the schema of a type that reads or writes itself, if it does.
func (in *inference) marshalled(t Type) (Keywords, bool, error) {
	names := []string{"UnmarshalJSON", "UnmarshalText"}
	if in.output {
		names = []string{"MarshalJSON", "MarshalText"}
	}
	for i, name := range names {
		switch has, onValue := t.Marshals(name); {
		case !has:
			continue
		case in.output && !onValue:
			return nil, true, in.fail("%s of %v has a pointer receiver, so encoding/json does not always call it; use a value receiver", name, t)
		case i == 0:
			return nil, true, in.fail("%v has its own JSON encoding; %s", t, t.Remedy())
		}
		return OfType("string"), true, nil
	}
	return nil, false, nil
}

// given is the schema that a type has instead of an inferred one.
func (in *inference) given(t Type, text string, err error) (Keywords, error) {
	if err == nil {
		_, err = Compile(text)
	}
	switch {
	case err == nil && !strings.HasPrefix(text, "{"):
		err = errors.New("must be a JSON object")
	case err == nil && (len(in.path) > 0 || !in.plain) && (strings.Contains(text, `"$ref"`) || strings.Contains(text, `"$defs"`) || strings.Contains(text, `"$id"`)):
		err = errors.New("becomes part of another schema, so it cannot have $ref, $defs or $id")
	}
	if err != nil {
		return nil, &TypeError{slices.Clone(in.path), t, fmt.Errorf("schema of %v: %w", t, err)}
	}
	var made Keywords
	err = strictjson.Members([]byte(text), func(key, value []byte) error {
		compact, err := json.Marshal(json.RawMessage(value))
		made = made.With(string(key), string(compact))
		return err
	})
	return made, err
}

// under is the schema of a type without a name, or of what is under a declared one.
func (in *inference) under(t Type) (Keywords, error) {
	switch t.Kind() {
	case reflect.Bool:
		return OfType("boolean"), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return OfType("integer"), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return OfType("integer").With("minimum", "0"), nil
	case reflect.Float32, reflect.Float64:
		return OfType("number"), nil
	case reflect.String:
		return OfType("string"), nil
	case reflect.Pointer:
		direct := in.direct
		in.direct = false
		defer func() { in.direct = direct }()
		return in.of(t.Elem()) // whether it may be null is for the holder to say
	case reflect.Struct:
		if t.ID() == nil { // the methods of a declared one have been looked at
			if made, ok, err := in.marshalled(t); ok {
				return made, err
			}
		}
		return in.object(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return OfType("string").With("contentEncoding", `"base64"`), nil
		}
		items, err := in.element(t.Elem())
		return OfType("array").With("items", items.String()), err
	case reflect.Array:
		items, err := in.element(t.Elem())
		length := strconv.Itoa(t.Len())
		return OfType("array").With("items", items.String()).With("minItems", length).With("maxItems", length), err
	case reflect.Map:
		return in.dictionary(t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return Keywords{}, nil
		}
		return nil, in.fail("%v is an interface, so its JSON form is unknown; use a struct, or any", t)
	case reflect.Invalid:
		return nil, in.fail("the type is not known: something that it refers to is missing or does not compile")
	}
	return nil, in.fail(`%v has no JSON form; use another type, or exclude the field with json:"-"`, t)
}

func (in *inference) element(t Type) (Keywords, error) {
	direct, plain := in.direct, in.plain
	in.direct, in.plain = false, false
	defer func() { in.direct, in.plain = direct, plain }()
	made, err := in.of(t)
	if in.output && isNilable(t) {
		made = made.OrNull()
	}
	return made, err
}

// isNilable reports whether encoding/json may write a value of the type as null.
func isNilable(t Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
}

// isPointer reports whether a type is a pointer that has no name.
func isPointer(t Type) bool { return t.Kind() == reflect.Pointer && t.ID() == nil }

// dictionary is the schema of a map, whose keys encoding/json writes as text.
func (in *inference) dictionary(t Type) (Keywords, error) {
	values, err := in.element(t.Elem())
	if err != nil {
		return nil, err
	}
	made := OfType("object").With("additionalProperties", values.String())
	key, method := t.Key(), "UnmarshalText"
	if in.output {
		method = "MarshalText"
	}
	isText, _ := key.Marshals(method)
	switch kind := key.Kind(); {
	case isText:
		return made, nil
	case kind == reflect.String:
		enum, err := key.Enum()
		if err != nil {
			return nil, in.fail("%w", err)
		}
		if enum != "" {
			made = made.With("propertyNames", Keywords{{"enum", enum}}.String())
		}
		return made, nil
	case kind >= reflect.Uint && kind <= reflect.Uintptr:
		return made.With("propertyNames", `{"pattern":"^[0-9]+$"}`), nil
	case kind >= reflect.Int && kind <= reflect.Int64:
		return made.With("propertyNames", `{"pattern":"^-?[0-9]+$"}`), nil
	}
	return nil, in.fail("a map with keys of type %v has no JSON form; use string keys", key)
}

func (in *inference) object(t Type) (Keywords, error) {
	var properties Keywords
	var required []string
	for _, f := range t.Fields(in.output) {
		depth, direct := len(in.path), in.direct
		in.path = append(in.path, f)
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
func (in *inference) field(f Field) (made Keywords, optional bool, err error) {
	if f.Tagged && !isKey(f.Key) {
		return nil, false, in.fail("encoding/json does not accept the name %q in its json tag; use letters, digits, - and _", f.Key)
	}
	if f.Quoted {
		made = OfType("string")
	} else if made, err = in.of(f.Type); err != nil {
		return nil, false, err
	}
	made, preset, err := in.tagged(made, f)
	if err != nil {
		return nil, false, in.fail("schema tag: %w", err)
	}
	return made, f.Omits || in.output && f.Indirect || !in.output && (isPointer(f.Type) || preset), nil
}

// tagged is the schema of a field with what its tags say, and whether it has a default.
func (in *inference) tagged(made Keywords, f Field) (_ Keywords, preset bool, err error) {
	tag, err := ParseTag(f.Tag)
	if err != nil {
		return nil, false, err
	}
	if made, err = tag.Limit(made, f.Quoted); err != nil {
		return nil, false, err
	}
	value := ""
	if tag.Default != nil {
		if value, err = in.fallback(made, f, tag); err != nil {
			return nil, false, err
		}
	}
	if !f.Omits && (in.output && isNilable(f.Type) || !in.output && isPointer(f.Type)) {
		made = made.OrNull()
	}
	if tag.Header != "" && !in.output {
		if made, err = in.header(made, f, tag); err != nil {
			return nil, false, err
		}
	}
	if text := describe(f, tag); text != "" {
		made = made.With("description", quote(text))
	}
	if value != "" && !in.output { // an output has no defaults
		made = made.With("default", value)
		in.preset = true
	}
	return made, value != "", nil
}

// isKey reports whether encoding/json accepts a name that a json tag gives.
func isKey(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// fallback is the default of a field, which must be one that can be set before the input is read.
func (in *inference) fallback(made Keywords, f Field, tag Tag) (string, error) {
	switch {
	case f.Quoted:
		return "", errors.New(`a value that the json tag puts into a string cannot have a default; remove it, or the option "string"`)
	case !in.output && !in.direct:
		return "", errors.New("only fields of the input itself, and of structs in it, can have a default; set it in the function")
	}
	return tag.DefaultJSON(made, f.Type.Reflect())
}

func (in *inference) header(made Keywords, f Field, tag Tag) (Keywords, error) {
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

func describe(f Field, tag Tag) string {
	text, t := cmp.Or(tag.Description, f.Description), f.Type
	if isPointer(t) {
		t = t.Elem()
	}
	if t.Name() == "time.Duration" && !strings.Contains(text, "nanosecond") {
		text = strings.TrimSpace(strings.TrimSuffix(text, ".") + " (in nanoseconds)")
	}
	return text
}
