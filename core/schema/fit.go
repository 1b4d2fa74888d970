package schema

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// CheckType checks that the schema matches the Go type that is decoded or encoded. Its error has the
// first difference, such as `SearchInput has "query", its input schema has "qurey"`.
//
//   - A property that the schema names or requires must be a field of the struct.
//   - A field must be a property if the schema forbids additional properties, unless the schema is one
//     of several alternatives.
//   - The schema must allow a JSON type that the Go type decodes or encodes.
//   - The default in the tag of a field must be the default in the schema.
//
// CheckType also checks properties, items and values of maps. The schema may have other limits than
// the type and, unless exact is true, other required properties than [Infer] would return. Types with
// their own JSON encoding or a JSONSchema method, json.RawMessage and interfaces match every schema.
func (s *Schema) CheckType(t reflect.Type, d Direction, exact bool) error {
	f := typeChecker{direction: d, exact: exact, done: map[comparison]bool{}}
	return f.check(s.root, t, fieldLocation{}, false)
}

type typeChecker struct {
	direction Direction
	exact     bool
	done      map[comparison]bool // schemas with $ref that have been compared
}

type comparison struct {
	schema *node
	of     reflect.Type
}

// A fieldLocation is a field, or an element of its list or map.
type fieldLocation struct {
	in     string // name of the struct
	key    string
	quoted bool // the json tag has the option string
}

// check compares n with t. branch reports whether n is one of several alternatives.
func (f *typeChecker) check(n *node, t reflect.Type, at fieldLocation, branch bool) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	compared := comparison{n, t}
	if n.rejectsAll || f.done[compared] {
		return nil
	}
	f.done[compared] = n.ref != nil
	form := stringKind
	if !at.quoted {
		form = f.jsonKind(t)
	}
	if form == 0 {
		return nil
	}
	narrower := f.direction == Input && form == integerKind && n.types&numberKind != 0 ||
		f.direction == Output && form == numberKind && n.types&(integerKind|numberKind) == integerKind
	if !n.types.mayInclude(form) || f.exact && narrower {
		return fmt.Errorf("%s is %v, its %v schema says %s", at, t, f.direction, list(n.types.names(), " or "))
	}
	for _, other := range n.allOf {
		if err := f.check(other, t, at, branch); err != nil {
			return err
		}
	}
	for _, branches := range [][]*node{n.anyOf, n.oneOf} {
		if err := f.checkAlternatives(branches, form, t, at, branch); err != nil {
			return err
		}
	}
	switch {
	case form == objectKind && n.object != nil && t.Kind() == reflect.Struct:
		return f.checkObject(n.object, t, at, branch)
	case form == objectKind && n.object != nil:
		return f.checkElements(n.object.values(), t.Elem(), at)
	case form == arrayKind && n.array != nil:
		return f.checkElements(append(slices.Clip(n.array.prefix), n.array.items), t.Elem(), at)
	}
	return nil
}

// jsonKind returns the kind of JSON value that a type decodes or encodes, or 0 if it is not known.
func (f *typeChecker) jsonKind(t reflect.Type) kinds {
	if isNamed(t) || t.Kind() == reflect.Struct {
		switch t {
		case reflect.TypeFor[time.Time]():
			return stringKind
		case reflect.TypeFor[json.Number]():
			return numberKind
		}
		asJSON, asText := reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()
		if f.direction == Output {
			asJSON, asText = reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()
		}
		switch p := reflect.PointerTo(t); {
		case p.NumMethod() == 0:
		case p.Implements(asJSON), p.Implements(reflect.TypeFor[Schemer]()):
			return 0
		case p.Implements(asText):
			return stringKind
		}
	}
	switch kind := t.Kind(); {
	case kind == reflect.Bool:
		return booleanKind
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return integerKind
	case kind == reflect.Float32, kind == reflect.Float64:
		return numberKind
	case kind == reflect.String, kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return stringKind
	case kind == reflect.Slice, kind == reflect.Array:
		return arrayKind
	case kind == reflect.Struct, kind == reflect.Map:
		return objectKind
	}
	return 0
}

// mayInclude reports whether the set allows values of a kind, or null, which Go types decode and
// encode as the absence of a value.
func (k kinds) mayInclude(kind kinds) bool {
	if kind == integerKind || kind == numberKind {
		kind = integerKind | numberKind
	}
	return k == 0 || k&(kind|nullKind) != 0
}

// checkAlternatives compares the branches of anyOf or oneOf with t. One of them must allow its kind.
func (f *typeChecker) checkAlternatives(branches []*node, form kinds, t reflect.Type, at fieldLocation, branch bool) error {
	var possible []*node
	for _, n := range branches {
		if n.types&^nullKind == 0 && n.types != 0 || !n.types.mayInclude(form) {
			continue // only null, or another kind
		}
		possible = append(possible, n)
	}
	if len(possible) == 0 && len(branches) > 0 {
		return fmt.Errorf("%s is %v, its %v schema has no alternative for it", at, t, f.direction)
	}
	for _, n := range possible {
		if err := f.check(n, t, at, branch || len(possible) > 1); err != nil {
			return err
		}
	}
	return nil
}

func (f *typeChecker) checkObject(r *objectRules, t reflect.Type, at fieldLocation, branch bool) error {
	closed := r.additional != nil && r.additional.rejectsAll && len(r.patterns) == 0 && !branch
	fields := map[string]*strictjson.Field{}
	var extra, missing []string
	for _, field := range strictjson.Fields(t, f.direction == Output) {
		fields[field.Key] = &field
		if closed && r.properties[field.Key] == nil {
			missing = append(missing, strconv.Quote(field.Key))
		}
	}
	for _, key := range r.propertyOrder {
		if fields[key] == nil && !r.properties[key].rejectsAll {
			extra = append(extra, strconv.Quote(key))
		}
	}
	for _, key := range r.required {
		if fields[key] == nil && r.properties[key] == nil {
			extra = append(extra, strconv.Quote(key))
		}
	}
	name, has, lacks := cmp.Or(t.Name(), at.String()), strings.Join(missing, ", "), strings.Join(extra, ", ")
	switch {
	case extra != nil && missing != nil:
		return fmt.Errorf("%s has %s, its %v schema has %s", name, has, f.direction, lacks)
	case extra != nil:
		return fmt.Errorf("%s does not have %s, its %v schema does", name, lacks, f.direction)
	case missing != nil:
		return fmt.Errorf("%s has %s, its %v schema does not", name, has, f.direction)
	}
	for _, key := range r.propertyOrder {
		field, property := fields[key], r.properties[key]
		if field == nil {
			continue
		}
		here := fieldLocation{name, key, field.Quoted}
		if err := f.check(property, field.Type, here, false); err != nil {
			return err
		}
		if err := f.checkDefault(property, field, here); err != nil {
			return err
		}
		if !f.exact || branch {
			continue
		}
		switch required, optional := slices.Contains(r.required, key), f.isOptional(field); {
		case required && optional:
			return fmt.Errorf("%s is optional, its %v schema says required", here, f.direction)
		case !required && !optional:
			return fmt.Errorf("%s is required, its %v schema says optional", here, f.direction)
		}
	}
	return nil
}

func (f *typeChecker) isOptional(field *strictjson.Field) bool {
	if f.direction == Output {
		return field.Omits || field.Indirect
	}
	value, _ := parseDefault(field.Tag) // checkDefault returns the error
	return field.Omits || value != nil || field.Type.Kind() == reflect.Pointer && field.Type.Name() == ""
}

func (f *typeChecker) checkDefault(n *node, field *strictjson.Field, at fieldLocation) error {
	if f.direction == Output {
		return nil
	}
	text, err := parseDefault(field.Tag)
	if err != nil {
		return fmt.Errorf("schema tag of %s: %w", at, err)
	}
	if text == nil {
		return nil
	}
	value := n.part.child("default")
	switch {
	case value == nil:
		return fmt.Errorf("%s has the default %s, its input schema has none", at, *text)
	case string(value.raw) != *text && string(value.raw) != quote(*text):
		return fmt.Errorf("%s has the default %s, its input schema has %s", at, *text, value.raw)
	}
	return nil
}

// values returns the schemas of the values of an object. Some may be nil.
func (r *objectRules) values() []*node {
	values := []*node{r.additional}
	for _, key := range r.propertyOrder {
		values = append(values, r.properties[key])
	}
	for _, rule := range r.patterns {
		values = append(values, rule.node)
	}
	return values
}

// checkElements compares schemas with the element type of a list or map. Some schemas may be nil.
func (f *typeChecker) checkElements(schemas []*node, elem reflect.Type, at fieldLocation) error {
	at.key, at.quoted = at.key+"[]", false
	for _, n := range schemas {
		if n == nil {
			continue
		}
		if err := f.check(n, elem, at, false); err != nil {
			return err
		}
	}
	return nil
}

// String returns the location, such as ListInput.tags[].
func (s fieldLocation) String() string {
	if s.in == "" {
		return "the type" + s.key
	}
	return s.in + "." + s.key
}
