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

// CheckType compares the schema with the Go type that is decoded or encoded by it. Its error names
// the first difference, such as `SearchInput has "query", its input schema has "qurey"`.
//
//   - A property that the schema names or requires must be a field of the struct.
//   - A field must be a property if the schema forbids other properties, unless the schema is
//     one of several alternatives.
//   - One of the JSON types that the schema allows must be one that the Go type reads or writes.
//   - The default in a field's tag must be the default in the schema.
//
// This holds for properties, items and values of maps too. Otherwise the schema may be narrower or
// wider than the type: how values are limited is up to the schema, and so is which properties are
// required, unless exact says that it has to be those that [Infer] would require. Types with their
// own JSON encoding or a method JSONSchema, json.RawMessage and interfaces fit every schema.
func (s *Schema) CheckType(t reflect.Type, d Direction, exact bool) error {
	f := fitting{direction: d, exact: exact}
	return f.check(s.root, t, spot{}, false)
}

type fitting struct {
	direction Direction
	exact     bool
	done      map[pair]bool // what has been compared through a reference
}

type pair struct {
	schema *node
	of     reflect.Type
}

// A spot is a field, or an element of what it holds.
type spot struct {
	in     string // the name of the struct
	key    string
	quoted bool // the json tag puts the value into a string
}

// check compares n with t. branch says that n is one of several alternatives.
func (f *fitting) check(n *node, t reflect.Type, at spot, branch bool) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	compared := pair{n, t}
	if n.never || f.done[compared] {
		return nil
	}
	if n.ref != nil {
		if f.done == nil {
			f.done = make(map[pair]bool)
		}
		f.done[compared] = true
	}
	form := stringKind
	if !at.quoted {
		form = f.form(t)
	}
	if form == 0 {
		return nil
	}
	narrower := f.direction == Input && form == integerKind && n.types&numberKind != 0 ||
		f.direction == Output && form == numberKind && n.types&(integerKind|numberKind) == integerKind
	if !n.types.mayBe(form) || f.exact && narrower {
		return fmt.Errorf("%s is %v, its %v schema says %s", at, t, f.direction, list(n.types.names(), " or "))
	}
	for _, other := range n.allOf {
		if err := f.check(other, t, at, branch); err != nil {
			return err
		}
	}
	for _, branches := range [][]*node{n.anyOf, n.oneOf} {
		if err := f.alternatives(branches, form, t, at, branch); err != nil {
			return err
		}
	}
	switch {
	case form == objectKind && n.object != nil && t.Kind() == reflect.Struct:
		return f.object(n.object, t, at, branch)
	case form == objectKind && n.object != nil:
		return f.elements(n.object.values(), t.Elem(), at)
	case form == arrayKind && n.array != nil:
		return f.elements(append(slices.Clip(n.array.prefix), n.array.items), t.Elem(), at)
	}
	return nil
}

// form is the kind of JSON value that a type reads or writes, or 0 if that is not known.
func (f *fitting) form(t reflect.Type) kinds {
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

// mayBe reports whether the set allows some values of a kind, or null, which Go types read and
// write in place of a value.
func (k kinds) mayBe(kind kinds) bool {
	if kind == integerKind || kind == numberKind {
		kind = integerKind | numberKind
	}
	return k == 0 || k&(kind|nullKind) != 0
}

// alternatives compares the branches of anyOf or oneOf, of which one must be for values like those
// of t.
func (f *fitting) alternatives(branches []*node, form kinds, t reflect.Type, at spot, branch bool) error {
	var possible []*node
	for _, n := range branches {
		if n.types&^nullKind == 0 && n.types != 0 || !n.types.mayBe(form) {
			continue // null alone, or another kind
		}
		possible = append(possible, n)
	}
	if len(possible) == 0 && len(branches) > 0 {
		return fmt.Errorf("%s is %v, its %v schema has no alternative for that", at, t, f.direction)
	}
	for _, n := range possible {
		if err := f.check(n, t, at, branch || len(possible) > 1); err != nil {
			return err
		}
	}
	return nil
}

func (f *fitting) object(r *objectRules, t reflect.Type, at spot, branch bool) error {
	fields := strictjson.Fields(t, f.direction == Output)
	find := func(key string) *strictjson.Field {
		for i := range fields {
			if fields[i].Key == key {
				return &fields[i]
			}
		}
		return nil
	}
	var extra, missing []string
	for _, key := range r.known {
		if find(key) == nil && !r.properties[key].never {
			extra = append(extra, strconv.Quote(key))
		}
	}
	for _, key := range r.required {
		if find(key) == nil && r.properties[key] == nil {
			extra = append(extra, strconv.Quote(key))
		}
	}
	closed := r.additional != nil && r.additional.never && len(r.patterns) == 0 && !branch
	for i := range fields {
		if closed && r.properties[fields[i].Key] == nil {
			missing = append(missing, strconv.Quote(fields[i].Key))
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
	for _, key := range r.known {
		field, property := find(key), r.properties[key]
		if field == nil {
			continue
		}
		here := spot{name, key, field.Quoted}
		if err := f.check(property, field.Type, here, false); err != nil {
			return err
		}
		if err := f.preset(property, field, here); err != nil {
			return err
		}
		if !f.exact || branch {
			continue
		}
		switch required, optional := slices.Contains(r.required, key), f.optional(field); {
		case required && optional:
			return fmt.Errorf("%s is optional, its %v schema says required", here, f.direction)
		case !required && !optional:
			return fmt.Errorf("%s is required, its %v schema says optional", here, f.direction)
		}
	}
	return nil
}

func (f *fitting) optional(field *strictjson.Field) bool {
	if f.direction == Output {
		return field.Omits || field.Indirect
	}
	preset, _ := defaultIn(field.Tag) // what is wrong with it was said before
	return field.Omits || preset != nil || field.Type.Kind() == reflect.Pointer && field.Type.Name() == ""
}

func (f *fitting) preset(n *node, field *strictjson.Field, at spot) error {
	if f.direction == Output {
		return nil
	}
	text, err := defaultIn(field.Tag)
	if err != nil {
		return fmt.Errorf("schema tag of %s: %w", at, err)
	}
	if text == nil {
		return nil
	}
	announced := n.part.child("default")
	switch {
	case announced == nil:
		return fmt.Errorf("%s has the default %s, its input schema has none", at, *text)
	case string(announced.raw) != *text && string(announced.raw) != quote(*text):
		return fmt.Errorf("%s has the default %s, its input schema has %s", at, *text, announced.raw)
	}
	return nil
}

// values are the schemas of what an object may hold, some of which may be nil.
func (r *objectRules) values() []*node {
	values := []*node{r.additional}
	for _, key := range r.known {
		values = append(values, r.properties[key])
	}
	for _, rule := range r.patterns {
		values = append(values, rule.node)
	}
	return values
}

// elements compares schemas, some of which may be nil, with what a list or a map holds.
func (f *fitting) elements(schemas []*node, elem reflect.Type, at spot) error {
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

// String names the spot, such as ListInput.tags[].
func (s spot) String() string {
	if s.in == "" {
		return "the type" + s.key
	}
	return s.in + "." + s.key
}
