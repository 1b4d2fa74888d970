package jsonschema

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/petrock/petrock/core/civil"
	"github.com/petrock/petrock/core/plumbing/jsonfield"
	"github.com/petrock/petrock/core/strictjson"
)

// A Direction says whether a schema describes values that are decoded or encoded.
type Direction int

const (
	Input  Direction = iota // JSON that is decoded into a Go value
	Output                  // JSON that a Go value is encoded as
)

func (d Direction) String() string {
	if d == Output {
		return "output"
	}
	return "input"
}

// Infer returns the schema document of a Go type, see schema.Infer.
func Infer(t reflect.Type, d Direction) (json.RawMessage, error) {
	document, _, err := InferFrom(reflected{t}, d)
	if err != nil {
		return nil, fmt.Errorf("infer %v schema of %v: %w", d, t, err)
	}
	return document, nil
}

// InferFrom is [Infer] for any implementation of [Type]. It also reports whether a field of the
// input has a default. Its error is a [*TypeError].
func InferFrom(t Type, d Direction) (document json.RawMessage, hasDefaults bool, err error) {
	in := newInference(d)
	document = in.document(t).raw()
	if in.err != nil {
		return nil, false, in.err
	}
	return document, in.hasDefaults, nil
}

// A TypeError means that a type has no schema.
type TypeError struct {
	Fields []Field // path to the invalid field
	Owner  Type    // type whose own schema is invalid, or nil
	Err    error
	Remedy string // what to change; may be empty
}

func (e *TypeError) Error() string {
	if e.Remedy == "" {
		return e.Reason()
	}
	return e.Reason() + "; " + e.Remedy
}

// Reason returns the message without the remedy.
func (e *TypeError) Reason() string {
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
	direction Direction
	lenient   bool       // types with their own schema match every value
	err       *TypeError // the first one; types without a schema match every value

	stack     []any             // IDs of declared types, from the root to the current one
	recursive []any             // IDs of recursive types, which are in $defs
	defs      map[string]string // $defs, by name
	names     map[string]any    // IDs of the types in defs, by name
	path      []Field           // from the root to the current field

	indirect    int // number of pointers, lists and maps around the current type
	hasDefaults bool
}

func newInference(d Direction) *inference {
	return &inference{direction: d, defs: map[string]string{}, names: map[string]any{}}
}

func (in *inference) document(t Type) draft {
	keywords := in.schemaOf(t)
	if len(in.defs) == 0 {
		return keywords
	}
	if keywords.get("$ref") != "" { // clients expect the type of the root there
		for isPointer(t) {
			t = t.Elem()
		}
		in.recursive = slices.DeleteFunc(in.recursive, func(other any) bool { return other == t.ID() })
		keywords = in.inline(t)
	}
	var defs draft
	for _, name := range slices.Sorted(maps.Keys(in.defs)) {
		defs = defs.with(name, in.defs[name])
	}
	return keywords.with("$defs", defs.String())
}

// fail keeps the error, if it is the first. It returns the schema of every value.
func (in *inference) fail(err error, remedy string) draft {
	if in.err == nil {
		in.err = &TypeError{Fields: slices.Clone(in.path), Err: err, Remedy: remedy}
	}
	return nil
}

// schemaOf returns the schema of a type. For a recursive type it is a $ref to a definition.
func (in *inference) schemaOf(t Type) draft {
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
	keywords := in.inline(t)
	if slices.Contains(in.recursive, id) { // inline found it to be recursive
		return in.reference(t)
	}
	return keywords
}

func (in *inference) inline(t Type) draft {
	in.stack = append(in.stack, t.ID())
	defer func() { in.stack = in.stack[:len(in.stack)-1] }()
	return in.declared(t)
}

// reference returns a $ref to the definition of a type, and adds the definition if it does not
// exist. It adds a number to a name that is taken.
func (in *inference) reference(t Type) draft {
	base := definitionName(t.Name())
	name := base
	for n := 2; in.names[name] != nil && in.names[name] != t.ID(); n++ {
		name = base + strconv.Itoa(n)
	}
	if in.names[name] == nil {
		in.names[name] = t.ID() // first, because the type refers to itself
		in.indirect++
		in.defs[name] = in.inline(t).String()
		in.indirect--
	}
	return draft{{"$ref", quote("#/$defs/" + name)}}
}

// definitionName returns the name of a type in $defs: its Go name without packages, with _ in place
// of characters other than letters and digits. For Page[example.com/model.Item] it is Page_Item.
func definitionName(goName string) string {
	isPart := func(r rune) bool { return !strings.ContainsRune("[]{}(),;* \"`", r) }
	isWord := func(r rune) bool { return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	aliases := map[string]string{"byte": "uint8", "rune": "int32", "interface": "any"}
	var words []string
	for part := range strings.FieldsFuncSeq(goName, func(r rune) bool { return !isPart(r) }) {
		part = part[strings.LastIndexByte(part, '.')+1:]
		words = append(words, strings.FieldsFunc(cmp.Or(aliases[part], part), func(r rune) bool { return !isWord(r) })...)
	}
	return strings.Join(words, "_")
}

// declared returns the schema of a declared type: that of the standard library, its own, or that of
// the underlying type.
func (in *inference) declared(t Type) draft {
	if keywords, ok := standardTypes[t.Name()]; ok && (in.direction == Input || t.Name() != durationName) {
		return slices.Clip(keywords)
	}
	document, ok, err := t.OwnSchema()
	switch {
	case ok && in.lenient:
		return nil
	case ok || err != nil:
		return in.ownSchema(t, document, err)
	}
	keywords, ok := in.marshalled(t)
	if !ok {
		keywords = in.underlying(t)
	}
	if values := in.enum(t); values != "" && len(keywords) > 0 {
		keywords = draft{keywords[0]}.with("enum", values)
	}
	return keywords
}

// enum returns the values of a type as a JSON array, or "" if they are not known.
func (in *inference) enum(t Type) string {
	values, err := t.Enum()
	if err != nil {
		in.fail(err, "")
	}
	return string(values)
}

// IsStandardType reports whether a type of the standard library or of package civil, such as
// time.Time, has its own JSON encoding and a known schema.
func IsStandardType(name string) bool { return standardTypes[name] != nil }

// civilName is the start of the names of the types of package civil; the project's path varies.
var civilName = reflect.TypeFor[civil.Date]().PkgPath() + "."

var durationName = civilName + "Duration"

var standardTypes = map[string]draft{
	"time.Time":                ofType("string").with("format", `"date-time"`),
	"time.Duration":            ofType("integer"),
	"encoding/json.RawMessage": {},
	"encoding/json.Number":     ofType("number"),
	civilName + "Date":         ofType("string").with("format", `"date"`),
	durationName:               {{"type", `["string","integer"]`}}, // of an input
}

// marshalled returns the schema of a type with a method such as MarshalText. It reports whether the
// type has one.
func (in *inference) marshalled(t Type) (draft, bool) {
	names := []string{"UnmarshalJSON", "UnmarshalText"}
	if in.direction == Output {
		names = []string{"MarshalJSON", "MarshalText"}
	}
	for i, name := range names {
		switch has, onValue := t.HasMethod(name); {
		case !has:
			continue
		case in.direction == Output && !onValue:
			return in.fail(fmt.Errorf("%s of %v has a pointer receiver, so encoding/json does not always call it", name, t), "use a value receiver"), true
		case i == 0:
			return in.fail(fmt.Errorf("%v has its own JSON encoding", t), t.Remedy()), true
		}
		return ofType("string"), true
	}
	return nil, false
}

// ownSchema parses the schema that a type defines itself.
func (in *inference) ownSchema(t Type, document json.RawMessage, err error) draft {
	if err == nil {
		_, err = Compile(document)
	}
	has := func(keyword string) bool { return bytes.Contains(document, []byte(quote(keyword))) }
	switch {
	case err == nil && document[0] != '{':
		err = errors.New("must be a JSON object")
	case err == nil && len(in.path) > 0 && (has("$ref") || has("$defs") || has("$id")):
		err = errors.New("is part of another schema, so it cannot have $ref, $defs or $id")
	}
	if err != nil && in.err == nil {
		in.err = &TypeError{Fields: slices.Clone(in.path), Owner: t, Err: fmt.Errorf("schema of %v: %w", t, err)}
	}
	if err != nil {
		return nil
	}
	return parseDraft(document)
}

// underlying returns the schema of an undeclared type, or of the underlying type of a declared one.
func (in *inference) underlying(t Type) draft {
	switch t.Kind() {
	case reflect.Bool:
		return ofType("boolean")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return ofType("integer")
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return ofType("integer").with("minimum", "0")
	case reflect.Float32, reflect.Float64:
		return ofType("number")
	case reflect.String:
		return ofType("string")
	case reflect.Pointer:
		in.indirect++
		defer func() { in.indirect-- }()
		return in.schemaOf(t.Elem()) // the caller adds null
	case reflect.Struct:
		if keywords, ok := in.marshalled(t); ok { // of an undeclared type, by an embedded one
			return keywords
		}
		return in.structSchema(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return ofType("string").with("contentEncoding", `"base64"`)
		}
		return ofType("array").with("items", in.elementSchema(t.Elem()).String())
	case reflect.Array:
		items, length := in.elementSchema(t.Elem()), strconv.Itoa(t.Len())
		return ofType("array").with("items", items.String()).with("minItems", length).with("maxItems", length)
	case reflect.Map:
		return in.mapSchema(t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return nil
		}
		return in.fail(fmt.Errorf("%v is an interface, so its JSON form is unknown", t), "use a struct, or any")
	case reflect.Invalid:
		return in.fail(errors.New("unknown type: a type that it refers to is missing or does not compile"), "")
	}
	return in.fail(fmt.Errorf("%v has no JSON form", t), `use another type, or exclude the field with json:"-"`)
}

func (in *inference) elementSchema(t Type) draft {
	in.indirect++
	keywords := in.schemaOf(t)
	in.indirect--
	if in.direction == Output && isNilable(t) {
		keywords = keywords.orNull()
	}
	return keywords
}

// isNilable reports whether [strictjson.OutputEncoder] may encode a value of the type as null.
func isNilable(t Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// isPointer reports whether a type is an undeclared pointer.
func isPointer(t Type) bool { return t.Kind() == reflect.Pointer && t.ID() == nil }

// mapSchema returns the schema of a map. encoding/json encodes its keys as strings.
func (in *inference) mapSchema(t Type) draft {
	keywords := ofType("object").with("additionalProperties", in.elementSchema(t.Elem()).String())
	key, method := t.Key(), "UnmarshalText"
	if in.direction == Output {
		method = "MarshalText"
	}
	isText, _ := key.HasMethod(method)
	switch kind := key.Kind(); {
	case isText:
		return keywords
	case kind == reflect.String:
		if values := in.enum(key); values != "" {
			keywords = keywords.with("propertyNames", draft{{"enum", values}}.String())
		}
		return keywords
	case kind >= reflect.Uint && kind <= reflect.Uintptr:
		return keywords.with("propertyNames", `{"pattern":"^[0-9]+$"}`)
	case kind >= reflect.Int && kind <= reflect.Int64:
		return keywords.with("propertyNames", `{"pattern":"^-?[0-9]+$"}`)
	}
	return in.fail(fmt.Errorf("a map with keys of type %v has no JSON form", key), "use string keys")
}

func (in *inference) structSchema(t Type) draft {
	var properties draft
	var required []string
	for _, f := range t.Fields(in.direction) {
		in.path = append(in.path, f)
		keywords, optional := in.fieldSchema(f)
		in.path = in.path[:len(in.path)-1]
		properties = properties.with(f.Key, keywords.String())
		if !optional {
			required = append(required, quote(f.Key))
		}
	}
	keywords := ofType("object")
	if len(properties) > 0 {
		keywords = keywords.with("properties", properties.String())
	}
	if len(required) > 0 {
		keywords = keywords.with("required", "["+strings.Join(required, ",")+"]")
	}
	return keywords.with("additionalProperties", "false")
}

// fieldSchema returns the schema of a field, and whether the field is optional.
func (in *inference) fieldSchema(f Field) (keywords draft, optional bool) {
	if f.Tagged && !isKey(f.Key) {
		in.fail(fmt.Errorf("encoding/json does not accept the name %q in its json tag", f.Key), "use letters, digits, - and _")
	}
	if f.Quoted {
		keywords = ofType("string")
	} else {
		keywords = in.schemaOf(f.Type)
	}
	tag, err := ParseTag(f.Tag)
	if err == nil {
		keywords, err = tag.addLimits(keywords, f.Quoted)
	}
	value := ""
	if err == nil && tag.Default != nil {
		value, err = in.defaultOf(keywords, f, tag)
	}
	if err != nil {
		in.fail(fmt.Errorf("schema tag: %w", err), "")
	}
	if !f.Omits && (in.direction == Output && isNilable(f.Type) || in.direction == Input && isPointer(f.Type)) {
		keywords = keywords.orNull()
	}
	if tag.Header != "" && in.direction == Input {
		keywords = keywords.with("x-mcp-header", quote(tag.Header))
	}
	if tag.Title != "" {
		keywords = keywords.with("title", quote(tag.Title))
	}
	if text := describe(f, tag); text != "" {
		keywords = keywords.with("description", quote(text))
	}
	if in.direction == Output { // defaults apply to inputs only
		return keywords, f.Omits || f.Indirect
	}
	if value != "" {
		keywords = keywords.with("default", value)
		in.hasDefaults = true
	}
	return keywords, f.Omits || isPointer(f.Type) || tag.Default != nil
}

// isKey reports whether encoding/json accepts a name in a json tag.
func isKey(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// defaultOf returns the default of a field as JSON. It is an error if its schema does not allow it,
// or if it cannot be set before the input is decoded.
func (in *inference) defaultOf(keywords draft, f Field, tag Tag) (string, error) {
	switch {
	case f.Quoted:
		return "", errors.New(`a field with the json option "string" cannot have a default; remove the default or the option`)
	case in.direction == Input && (in.indirect > 0 || slices.ContainsFunc(in.path, func(f Field) bool { return f.Indirect })):
		return "", errors.New("only fields of the input itself, and of structs in it, can have a default; set it in the function")
	}
	text, t := *tag.Default, f.Type.Reflect()
	if err := setDefault(reflect.New(t).Elem(), text); err != nil {
		return "", err
	}
	own, err := Compile(keywords.raw())
	if err != nil {
		return "", err
	}
	value := defaultJSON(t, text)
	if err := own.Validate([]byte(value)); err != nil {
		return "", fmt.Errorf("default %s: %w", text, err)
	}
	return value, nil
}

func describe(f Field, tag Tag) string {
	text, t := cmp.Or(tag.Description, f.Description), f.Type
	if isPointer(t) {
		t = t.Elem()
	}
	unit, word := "", ""
	switch t.Name() {
	case "time.Duration":
		unit, word = " (in nanoseconds)", "nanosecond"
	case durationName:
		unit, word = " (such as 1h30m)", "1h30m"
	}
	if !strings.Contains(text, word) {
		text = strings.TrimSpace(strings.TrimSuffix(text, ".") + unit)
	}
	return text
}

// A Type is a Go type, known by reflection or from source code.
type Type interface {
	String() string
	ID() any               // equal for equal declared types; nil for other types
	Name() string          // of a declared type, with its import path; undefined for other types
	Kind() reflect.Kind    // of the underlying type; Invalid if not known
	Reflect() reflect.Type // for a basic kind, a type of that kind
	Elem() Type
	Key() Type
	Len() int
	NumMethod() int // of an interface
	Fields(d Direction) []Field

	// OwnSchema returns the schema that a declared type defines itself, if any.
	OwnSchema() (document json.RawMessage, ok bool, err error)
	// Enum returns the values of a type as a JSON array, or nil if they are not known.
	Enum() (json.RawMessage, error)
	// HasMethod reports whether the type or the pointer to it has a method such as MarshalText, and
	// whether the type itself has it.
	HasMethod(method string) (has, onValue bool)
	// Remedy returns how to give a schema to a type with its own JSON encoding.
	Remedy() string
}

// A Field is a struct field with a JSON key.
type Field struct {
	jsonfield.Claim
	Name        string // in Go
	Tag         reflect.StructTag
	Type        Type
	Description string // used if the tag has none
	Source      any    // for the implementation of [Type]
}

// These are schema.Schemer and schema.Enumerator, which this package cannot import.
type (
	schemer    interface{ JSONSchema() string }
	enumerator interface{ SchemaEnum() []any }
)

// reflected implements [Type] by reflection.
type reflected struct{ reflect.Type }

func (t reflected) Reflect() reflect.Type { return t.Type }
func (t reflected) Elem() Type            { return reflected{t.Type.Elem()} }
func (t reflected) Key() Type             { return reflected{t.Type.Key()} }

func (t reflected) Name() string { return t.PkgPath() + "." + t.Type.Name() }

func (t reflected) ID() any {
	if t.PkgPath() == "" {
		return nil
	}
	return t.Type
}

func (t reflected) Fields(d Direction) (fields []Field) {
	found := jsonfield.Decoded(t.Type)
	if d == Output {
		found = jsonfield.Encoded(t.Type)
	}
	for _, f := range found {
		fields = append(fields, Field{Claim: f.Claim, Name: f.Name, Tag: f.Tag, Type: reflected{f.Type}})
	}
	return fields
}

func (t reflected) OwnSchema() (json.RawMessage, bool, error) {
	zero, ok := zeroValue[schemer](t.Type)
	if !ok {
		return nil, false, nil
	}
	return json.RawMessage(zero.JSONSchema()), true, nil
}

// zeroValue returns a pointer to the zero value of a type, if it implements I.
func zeroValue[I any](t reflect.Type) (I, bool) {
	if t.Kind() == reflect.Interface || !reflect.PointerTo(t).Implements(reflect.TypeFor[I]()) {
		var none I
		return none, false
	}
	return reflect.New(t).Interface().(I), true
}

func (t reflected) Enum() (json.RawMessage, error) {
	zero, ok := zeroValue[enumerator](t.Type)
	if !ok || t.Kind() == reflect.Struct {
		return nil, nil
	}
	values, err := strictjson.Marshal(zero.SchemaEnum())
	if err != nil {
		return nil, fmt.Errorf("encode SchemaEnum of %v: %w", t, err)
	}
	return values, nil
}

func (t reflected) HasMethod(method string) (has, onValue bool) {
	marshaler := map[string]reflect.Type{
		"MarshalJSON":   reflect.TypeFor[json.Marshaler](),
		"UnmarshalJSON": reflect.TypeFor[json.Unmarshaler](),
		"MarshalText":   reflect.TypeFor[encoding.TextMarshaler](),
		"UnmarshalText": reflect.TypeFor[encoding.TextUnmarshaler](),
	}[method]
	onValue = t.Implements(marshaler)
	return onValue || reflect.PointerTo(t.Type).Implements(marshaler), onValue
}

func (t reflected) Remedy() string {
	return "give it a method JSONSchema() string, or use another type"
}
