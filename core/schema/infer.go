package schema

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
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

// A Schemer gives its whole schema, a JSON object, for a type whose schema cannot be inferred. The
// method is called on the zero value.
type Schemer interface{ JSONSchema() string }

// An Enumerator lists the values of a type: what its constants are. The method is called on the
// zero value.
type Enumerator interface{ SchemaEnum() []any }

// A Describer describes a type. Fields of that type have its description unless their tag has one. The
// method is called on the zero value.
type Describer interface{ SchemaDescription() string }

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
	in := &inference{output: d == Output, defs: map[string]string{}, names: map[string]reflect.Type{}}
	in.direct, in.plain, in.headers = true, true, map[string]string{}
	made, err := in.document(t)
	if err != nil {
		return "", fmt.Errorf("infer %v schema of %v: %w", d, t, err)
	}
	return made.String(), nil
}

// An inference is the making of one schema.
type inference struct {
	output bool

	doing  []reflect.Type    // named types from the root to the one in hand
	shared []reflect.Type    // types that have a definition, because they contain themselves
	defs   map[string]string // the definitions, by name
	names  map[string]reflect.Type
	size   int      // how many types have been looked at
	path   []string // Go names from the root to the field in hand

	direct  bool              // no pointer leads to the field in hand, so that it can have a default
	plain   bool              // the field in hand is reached through properties alone
	headers map[string]string // the fields that have one, by its name in lower case
}

func (in *inference) document(t reflect.Type) (Keywords, error) {
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
func (in *inference) again(t reflect.Type) (Keywords, error) {
	for t.Kind() == reflect.Pointer && !isNamed(t) {
		t = t.Elem()
	}
	in.shared = slices.DeleteFunc(in.shared, func(other reflect.Type) bool { return other == t })
	in.doing, in.headers = nil, map[string]string{}
	return in.inline(t)
}

func (in *inference) fail(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if len(in.path) == 0 {
		return err
	}
	return fmt.Errorf("field %s: %w", strings.Join(in.path, "."), err)
}

// of is the schema of a type. A type that contains itself becomes a reference to a definition.
func (in *inference) of(t reflect.Type) (Keywords, error) {
	const most = 20_000
	if in.size++; in.size > most {
		return nil, fmt.Errorf("the schema would have more than %d parts; use a smaller type", most)
	}
	if !isNamed(t) {
		return in.under(t)
	}
	if slices.Contains(in.doing, t) && !slices.Contains(in.shared, t) {
		in.shared = append(in.shared, t)
	}
	if slices.Contains(in.shared, t) {
		return in.reference(t)
	}
	made, err := in.inline(t)
	if err == nil && slices.Contains(in.shared, t) { // it was found to contain itself meanwhile
		return in.reference(t)
	}
	return made, err
}

// isNamed reports whether a type is declared somewhere: only such a type can contain itself.
func isNamed(t reflect.Type) bool { return t.PkgPath() != "" }

func (in *inference) inline(t reflect.Type) (Keywords, error) {
	in.doing = append(in.doing, t)
	defer func() { in.doing = in.doing[:len(in.doing)-1] }()
	return in.named(t)
}

// reference refers to the definition of a type, and makes it if it does not exist.
func (in *inference) reference(t reflect.Type) (Keywords, error) {
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
func (in *inference) definition(t reflect.Type) string {
	base := DefinitionName(t.Name())
	name := base
	for n := 2; ; n++ {
		other, taken := in.names[name]
		if !taken || other == t {
			in.names[name] = t
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

// named is the schema of a named type: what is known of it, what it says of itself, or what is
// under it.
func (in *inference) named(t reflect.Type) (Keywords, error) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return OfType("string").With("format", `"date-time"`), nil
	case reflect.TypeFor[time.Duration]():
		return OfType("integer"), nil
	case reflect.TypeFor[json.RawMessage]():
		return Keywords{}, nil
	case reflect.TypeFor[json.Number]():
		return OfType("number"), nil
	}
	if own, ok := zero[Schemer](t); ok {
		return in.given(t, own.JSONSchema())
	}
	made, ok, err := in.marshalled(t)
	if !ok && err == nil {
		made, err = in.under(t)
	}
	if err != nil || len(made) == 0 {
		return made, err
	}
	values, err := enumeration(t)
	if values != "" {
		made = Keywords{made[0]}.With("enum", values)
	}
	return made, err
}

// zero is the zero value of a type, or a pointer to one, if it has the methods of I.
func zero[I any](t reflect.Type) (I, bool) {
	if !implements[I](t) || t.Kind() == reflect.Interface {
		var none I
		return none, false
	}
	return reflect.New(t).Interface().(I), true
}

func implements[I any](t reflect.Type) bool {
	i := reflect.TypeFor[I]()
	return t.Implements(i) || reflect.PointerTo(t).Implements(i)
}

// enumeration is the values of a type as JSON, or "" if it does not list them.
func enumeration(t reflect.Type) (string, error) {
	own, ok := zero[Enumerator](t)
	if !ok || t.Kind() == reflect.Struct {
		return "", nil
	}
	values, err := strictjson.Marshal(own.SchemaEnum())
	if err != nil {
		return "", fmt.Errorf("encode SchemaEnum of %v: %w", t, err)
	}
	return string(values), nil
}

func (in *inference) marshalled(t reflect.Type) (Keywords, bool, error) {
	asJSON, asText := implements[json.Unmarshaler](t), implements[encoding.TextUnmarshaler](t)
	if in.output {
		asJSON, asText = implements[json.Marshaler](t), implements[encoding.TextMarshaler](t)
	}
	switch {
	case in.output && asJSON && !t.Implements(reflect.TypeFor[json.Marshaler]()):
		return nil, true, in.fail("MarshalJSON of %v has a pointer receiver, so encoding/json does not always call it; use a value receiver", t)
	case asJSON:
		return nil, true, in.fail("%v has its own JSON encoding; give it a method JSONSchema() string, or use another type", t)
	case in.output && asText && !t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return nil, true, in.fail("MarshalText of %v has a pointer receiver, so encoding/json does not always call it; use a value receiver", t)
	case asText:
		return OfType("string"), true, nil
	}
	return nil, false, nil
}

func (in *inference) given(t reflect.Type, text string) (Keywords, error) {
	_, err := Compile(text)
	switch {
	case err == nil && !strings.HasPrefix(text, "{"):
		err = errors.New("must be a JSON object")
	case err == nil && (len(in.path) > 0 || !in.plain) && (strings.Contains(text, `"$ref"`) || strings.Contains(text, `"$defs"`) || strings.Contains(text, `"$id"`)):
		err = errors.New("becomes part of another schema, so it cannot have $ref, $defs or $id")
	}
	if err != nil {
		return nil, in.fail("JSONSchema of %v: %w", t, err)
	}
	var made Keywords
	err = strictjson.Members([]byte(text), func(key, value []byte) error {
		compact, err := json.Marshal(json.RawMessage(value))
		made = made.With(string(key), string(compact))
		return err
	})
	return made, err
}

// under is the schema of a type without a name, or of what is under a named one.
func (in *inference) under(t reflect.Type) (Keywords, error) {
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
		if !isNamed(t) { // the methods of a named one have been looked at
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
	}
	return nil, in.fail(`%v has no JSON form; use another type, or exclude the field with json:"-"`, t)
}

func (in *inference) element(t reflect.Type) (Keywords, error) {
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
func isNilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return true
	}
	return false
}

// dictionary is the schema of a map, whose keys encoding/json writes as text.
func (in *inference) dictionary(t reflect.Type) (Keywords, error) {
	values, err := in.element(t.Elem())
	if err != nil {
		return nil, err
	}
	made := OfType("object").With("additionalProperties", values.String())
	key := t.Key()
	asText := implements[encoding.TextUnmarshaler](key)
	if in.output {
		asText = implements[encoding.TextMarshaler](key)
	}
	switch kind := key.Kind(); {
	case asText:
		return made, nil
	case kind == reflect.String:
		enum, err := enumeration(key)
		if enum != "" {
			made = made.With("propertyNames", Keywords{{"enum", enum}}.String())
		}
		return made, err
	case kind >= reflect.Uint && kind <= reflect.Uintptr:
		return made.With("propertyNames", `{"pattern":"^[0-9]+$"}`), nil
	case kind >= reflect.Int && kind <= reflect.Int64:
		return made.With("propertyNames", `{"pattern":"^-?[0-9]+$"}`), nil
	}
	return nil, in.fail("a map with keys of type %v has no JSON form; use string keys", key)
}

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
