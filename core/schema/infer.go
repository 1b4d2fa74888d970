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

// A Direction says whether a schema describes values that are decoded or encoded.
type Direction bool

const (
	Input  Direction = false // JSON that is decoded into a Go value
	Output Direction = true  // JSON that a Go value is encoded as
)

func (d Direction) String() string {
	if d == Output {
		return "output"
	}
	return "input"
}

// Infer returns the schema document of a Go type: of the JSON that package strictjson decodes into it,
// or that encoding/json encodes it as.
//
//   - A struct is an object without additional properties. Names, embedding and the options omitempty,
//     omitzero and string are those of encoding/json. In an input, these fields are optional: pointers,
//     and fields with omitempty, omitzero or a default. In an output, fields that encoding/json may
//     omit are optional, and nil pointers, slices and maps are null.
//   - The struct tag "schema" sets limits, defaults, enums and descriptions; see [Tag].
//   - time.Time is a date-time, time.Duration an integer in nanoseconds, []byte a base64 string, and a
//     type with MarshalText or UnmarshalText a string. any and json.RawMessage are any value.
//   - Recursive types are in $defs.
//   - A type can implement [Schemer] and [Enumerator].
//
// A type that JSON cannot represent is an error, and so is a type with MarshalJSON or UnmarshalJSON
// that is not a [Schemer].
func Infer(t reflect.Type, d Direction) (string, error) {
	inferred, err := InferFrom(reflected{t}, d)
	if err != nil {
		return "", fmt.Errorf("infer %v schema of %v: %w", d, t, err)
	}
	return inferred.Schema, nil
}

// An Inferred is the schema of a type.
type Inferred struct {
	Schema      string
	HasDefaults bool // a field of the input has a default
	HasHeaders  bool // a field of the input has a header
}

// InferFrom is [Infer] for another implementation of [Type]. Its error is a [*TypeError].
func InferFrom(t Type, d Direction) (Inferred, error) {
	in := &inference{output: d == Output, defs: map[string]string{}, names: map[string]any{}}
	in.defaultAllowed, in.headerAllowed, in.headers = true, true, map[string]string{}
	document, err := in.document(t)
	return Inferred{document.String(), in.hasDefaults, len(in.headers) > 0}, err
}

// A TypeError means that a type has no schema.
type TypeError struct {
	Fields []Field // path to the invalid field
	Owner  Type    // type whose own schema is invalid, or nil
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

	stack     []any             // IDs of declared types, from the root to the current one
	recursive []any             // IDs of recursive types, which are in $defs
	defs      map[string]string // $defs, by name
	names     map[string]any    // IDs of the types in defs, by name
	size      int               // number of types so far
	path      []Field           // from the root to the current field

	defaultAllowed bool // the current field is not in a pointer, list or map
	hasDefaults    bool
	headerAllowed  bool              // the current field is not in a list or map
	headers        map[string]string // fields with a header, by its name in lower case
}

func (in *inference) document(t Type) (Keywords, error) {
	keywords, err := in.schemaOf(t)
	if err != nil || len(in.defs) == 0 {
		return keywords, err
	}
	if keywords.Get("$ref") != "" { // clients expect the type of the root there
		if keywords, err = in.expand(t); err != nil {
			return nil, err
		}
	}
	var defs Keywords
	for _, name := range slices.Sorted(maps.Keys(in.defs)) {
		defs = defs.With(name, in.defs[name])
	}
	return keywords.With("$defs", defs.String()), nil
}

// expand returns the schema of a recursive type, or of a pointer to one, without $ref.
func (in *inference) expand(t Type) (Keywords, error) {
	for isPointer(t) {
		t = t.Elem()
	}
	in.recursive = slices.DeleteFunc(in.recursive, func(other any) bool { return other == t.ID() })
	in.stack, in.headers = nil, map[string]string{}
	return in.inline(t)
}

func (in *inference) fail(format string, args ...any) error {
	return &TypeError{Fields: slices.Clone(in.path), Err: fmt.Errorf(format, args...)}
}

// schemaOf returns the schema of a type. For a recursive type it is a $ref to a definition.
func (in *inference) schemaOf(t Type) (Keywords, error) {
	const limit = 20_000
	if in.size++; in.size > limit {
		return nil, in.fail("the schema would have more than %d parts; use a smaller type", limit)
	}
	id := t.ID()
	if id == nil {
		return in.underlying(t)
	}
	if slices.Contains(in.stack, id) && !slices.Contains(in.recursive, id) {
		in.recursive = append(in.recursive, id)
	}
	if slices.Contains(in.recursive, id) {
		return in.reference(t)
	}
	keywords, err := in.inline(t)
	if err == nil && slices.Contains(in.recursive, id) { // inline found it to be recursive
		return in.reference(t)
	}
	return keywords, err
}

func (in *inference) inline(t Type) (Keywords, error) {
	in.stack = append(in.stack, t.ID())
	defer func() { in.stack = in.stack[:len(in.stack)-1] }()
	return in.declared(t)
}

// reference returns a $ref to the definition of a type, and adds the definition if it does not exist.
func (in *inference) reference(t Type) (Keywords, error) {
	name := in.definitionName(t)
	if _, ok := in.defs[name]; !ok {
		in.defs[name] = "" // prevents endless recursion
		direct, plain := in.defaultAllowed, in.headerAllowed
		in.defaultAllowed, in.headerAllowed = false, false
		definition, err := in.inline(t)
		if err != nil {
			return nil, err
		}
		in.defaultAllowed, in.headerAllowed = direct, plain
		in.defs[name] = definition.String()
	}
	return Keywords{{"$ref", quote("#/$defs/" + name)}}, nil
}

// definitionName returns the name of a type in $defs. It adds a number to a name that is taken.
func (in *inference) definitionName(t Type) string {
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

// DefinitionName returns the name of a type in $defs: its Go name without packages, with _ in place of
// characters other than letters and digits. For Page[example.com/model.Item] it is Page_Item.
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

// declared returns the schema of a declared type: that of the standard library, its own, or that of the
// underlying type.
func (in *inference) declared(t Type) (Keywords, error) {
	if keywords, ok := StandardSchema(t.Name()); ok {
		return keywords, nil
	}
	text, ok, err := t.OwnSchema()
	if ok || err != nil {
		return in.ownSchema(t, text, err)
	}
	keywords, ok, err := in.marshalled(t)
	if !ok && err == nil {
		keywords, err = in.underlying(t)
	}
	if err != nil || len(keywords) == 0 {
		return keywords, err
	}
	values, err := t.Enum()
	if err != nil {
		return nil, in.fail("%w", err)
	}
	if values != "" {
		keywords = Keywords{keywords[0]}.With("enum", values)
	}
	return keywords, nil
}

// StandardSchema returns the schema of a standard library type that has its own JSON encoding.
func StandardSchema(name string) (Keywords, bool) {
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

// marshalled returns the schema of a type with a method such as MarshalText. It reports whether the type
// has one.
func (in *inference) marshalled(t Type) (Keywords, bool, error) {
	names := []string{"UnmarshalJSON", "UnmarshalText"}
	if in.output {
		names = []string{"MarshalJSON", "MarshalText"}
	}
	for i, name := range names {
		switch has, onValue := t.HasMethod(name); {
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

// ownSchema parses the schema that a type defines itself.
func (in *inference) ownSchema(t Type, text string, err error) (Keywords, error) {
	if err == nil {
		_, err = Compile(text)
	}
	switch {
	case err == nil && !strings.HasPrefix(text, "{"):
		err = errors.New("must be a JSON object")
	case err == nil && (len(in.path) > 0 || !in.headerAllowed) && (strings.Contains(text, `"$ref"`) || strings.Contains(text, `"$defs"`) || strings.Contains(text, `"$id"`)):
		err = errors.New("is part of another schema, so it cannot have $ref, $defs or $id")
	}
	if err != nil {
		return nil, &TypeError{slices.Clone(in.path), t, fmt.Errorf("schema of %v: %w", t, err)}
	}
	var keywords Keywords
	err = strictjson.Members([]byte(text), func(key, value []byte) error {
		compact, err := json.Marshal(json.RawMessage(value))
		keywords = keywords.With(string(key), string(compact))
		return err
	})
	return keywords, err
}

// underlying returns the schema of an undeclared type, or of the underlying type of a declared one.
func (in *inference) underlying(t Type) (Keywords, error) {
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
		direct := in.defaultAllowed
		in.defaultAllowed = false
		defer func() { in.defaultAllowed = direct }()
		return in.schemaOf(t.Elem()) // the caller adds null
	case reflect.Struct:
		if t.ID() == nil { // for a declared type, see declared
			if keywords, ok, err := in.marshalled(t); ok {
				return keywords, err
			}
		}
		return in.structSchema(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return OfType("string").With("contentEncoding", `"base64"`), nil
		}
		items, err := in.elementSchema(t.Elem())
		return OfType("array").With("items", items.String()), err
	case reflect.Array:
		items, err := in.elementSchema(t.Elem())
		length := strconv.Itoa(t.Len())
		return OfType("array").With("items", items.String()).With("minItems", length).With("maxItems", length), err
	case reflect.Map:
		return in.mapSchema(t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return Keywords{}, nil
		}
		return nil, in.fail("%v is an interface, so its JSON form is unknown; use a struct, or any", t)
	case reflect.Invalid:
		return nil, in.fail("unknown type: a type that it refers to is missing or does not compile")
	}
	return nil, in.fail(`%v has no JSON form; use another type, or exclude the field with json:"-"`, t)
}

func (in *inference) elementSchema(t Type) (Keywords, error) {
	direct, plain := in.defaultAllowed, in.headerAllowed
	in.defaultAllowed, in.headerAllowed = false, false
	defer func() { in.defaultAllowed, in.headerAllowed = direct, plain }()
	keywords, err := in.schemaOf(t)
	if in.output && isNilable(t) {
		keywords = keywords.OrNull()
	}
	return keywords, err
}

// isNilable reports whether encoding/json may encode a value of the type as null.
func isNilable(t Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
}

// isPointer reports whether a type is an undeclared pointer.
func isPointer(t Type) bool { return t.Kind() == reflect.Pointer && t.ID() == nil }

// mapSchema returns the schema of a map. encoding/json encodes its keys as strings.
func (in *inference) mapSchema(t Type) (Keywords, error) {
	values, err := in.elementSchema(t.Elem())
	if err != nil {
		return nil, err
	}
	keywords := OfType("object").With("additionalProperties", values.String())
	key, method := t.Key(), "UnmarshalText"
	if in.output {
		method = "MarshalText"
	}
	isText, _ := key.HasMethod(method)
	switch kind := key.Kind(); {
	case isText:
		return keywords, nil
	case kind == reflect.String:
		enum, err := key.Enum()
		if err != nil {
			return nil, in.fail("%w", err)
		}
		if enum != "" {
			keywords = keywords.With("propertyNames", Keywords{{"enum", enum}}.String())
		}
		return keywords, nil
	case kind >= reflect.Uint && kind <= reflect.Uintptr:
		return keywords.With("propertyNames", `{"pattern":"^[0-9]+$"}`), nil
	case kind >= reflect.Int && kind <= reflect.Int64:
		return keywords.With("propertyNames", `{"pattern":"^-?[0-9]+$"}`), nil
	}
	return nil, in.fail("a map with keys of type %v has no JSON form; use string keys", key)
}

func (in *inference) structSchema(t Type) (Keywords, error) {
	var properties Keywords
	var required []string
	for _, f := range t.Fields(in.output) {
		depth, direct := len(in.path), in.defaultAllowed
		in.path = append(in.path, f)
		in.defaultAllowed = direct && !f.Indirect
		keywords, optional, err := in.fieldSchema(f)
		if err != nil {
			return nil, err
		}
		in.path, in.defaultAllowed = in.path[:depth], direct
		properties = properties.With(f.Key, keywords.String())
		if !optional {
			required = append(required, quote(f.Key))
		}
	}
	keywords := OfType("object")
	if len(properties) > 0 {
		keywords = keywords.With("properties", properties.String())
	}
	if len(required) > 0 {
		keywords = keywords.With("required", "["+strings.Join(required, ",")+"]")
	}
	return keywords.With("additionalProperties", "false"), nil
}

// fieldSchema returns the schema of a field, and whether the field is optional.
func (in *inference) fieldSchema(f Field) (keywords Keywords, optional bool, err error) {
	if f.Tagged && !isKey(f.Key) {
		return nil, false, in.fail("encoding/json does not accept the name %q in its json tag; use letters, digits, - and _", f.Key)
	}
	if f.Quoted {
		keywords = OfType("string")
	} else if keywords, err = in.schemaOf(f.Type); err != nil {
		return nil, false, err
	}
	keywords, hasDefault, err := in.applyTag(keywords, f)
	if err != nil {
		return nil, false, in.fail("schema tag: %w", err)
	}
	return keywords, f.Omits || in.output && f.Indirect || !in.output && (isPointer(f.Type) || hasDefault), nil
}

// applyTag returns the schema of a field with the settings of its tag, and whether it has a default.
func (in *inference) applyTag(keywords Keywords, f Field) (_ Keywords, hasDefault bool, err error) {
	tag, err := ParseTag(f.Tag)
	if err != nil {
		return nil, false, err
	}
	if keywords, err = tag.AddLimits(keywords, f.Quoted); err != nil {
		return nil, false, err
	}
	value := ""
	if tag.Default != nil {
		if value, err = in.defaultOf(keywords, f, tag); err != nil {
			return nil, false, err
		}
	}
	if !f.Omits && (in.output && isNilable(f.Type) || !in.output && isPointer(f.Type)) {
		keywords = keywords.OrNull()
	}
	if tag.Header != "" && !in.output {
		if keywords, err = in.addHeader(keywords, f, tag); err != nil {
			return nil, false, err
		}
	}
	if text := describe(f, tag); text != "" {
		keywords = keywords.With("description", quote(text))
	}
	if value != "" && !in.output { // defaults apply to inputs only
		keywords = keywords.With("default", value)
		in.hasDefaults = true
	}
	return keywords, value != "", nil
}

// isKey reports whether encoding/json accepts a name in a json tag.
func isKey(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// defaultOf returns the default of a field. It is an error if the default cannot be set before the input
// is decoded.
func (in *inference) defaultOf(keywords Keywords, f Field, tag Tag) (string, error) {
	switch {
	case f.Quoted:
		return "", errors.New(`a field with the json option "string" cannot have a default; remove the default or the option`)
	case !in.output && !in.defaultAllowed:
		return "", errors.New("only fields of the input itself, and of structs in it, can have a default; set it in the function")
	}
	return tag.DefaultJSON(keywords, f.Type.Reflect())
}

func (in *inference) addHeader(keywords Keywords, f Field, tag Tag) (Keywords, error) {
	name := strings.ToLower(tag.Header)
	if !in.headerAllowed {
		return nil, errors.New("only fields of the input itself, and of structs in it, can have a header")
	}
	if other, taken := in.headers[name]; taken {
		return nil, fmt.Errorf("field %s already has the header %s; header names are case-insensitive", other, tag.Header)
	}
	in.headers[name] = f.Name
	return tag.AddHeader(keywords)
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
