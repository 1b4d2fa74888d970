package jsonschema

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// CheckType checks that the schema matches the Go type that is decoded or encoded. Its error has
// the first difference, such as `SearchInput has "query", its input schema has "qurey"`.
//
//   - A property that the schema names or requires must be a field of the struct.
//   - A field must be a property if the schema forbids additional properties, unless the schema is
//     one of several alternatives.
//   - The schema must allow a JSON type that the Go type decodes or encodes.
//   - The default in the tag of a field must be the default in the schema.
//
// CheckType also checks properties, items and the additional properties of maps. The schema may
// have other limits than the type. If it is exact, as derived schemas are, its required properties
// and number types must be those that [Infer] would return. Types with their own JSON encoding or a
// JSONSchema method, json.RawMessage and interfaces match every schema.
func (s *Schema) CheckType(t reflect.Type, d Direction, exact bool) error {
	in := newInference(d)
	in.lenient = true
	inferred, err := Compile(in.document(reflected{t}).raw())
	if err != nil {
		return fmt.Errorf("%v schema of %v: %w", d, t, err)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	c := typeChecker{direction: d, exact: exact, done: map[[2]*node]bool{}}
	c.check(s.root, inferred.root, cmp.Or(t.Name(), "the type"), false)
	return c.err
}

// A typeChecker compares a schema with the one that is inferred from a type.
type typeChecker struct {
	direction Direction
	exact     bool
	done      map[[2]*node]bool // schemas with $ref that have been compared, with the inferred ones
	err       error             // the first difference
}

func (c *typeChecker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// check compares n, which may be nil, with the inferred schema of the type or field at, such as
// ListInput.tags[]. branch reports whether n is one of several alternatives.
func (c *typeChecker) check(n, inferred *node, at string, branch bool) {
	for inferred.ref != nil || inferred.anyOf != nil { // anyOf is a schema or null
		inferred = append(slices.Clip(inferred.allOf), inferred.anyOf...)[0]
	}
	form := inferred.types &^ nullKind
	compared := [2]*node{n, inferred}
	if n == nil || n.rejectsAll || c.done[compared] || form == 0 {
		return
	}
	c.done[compared] = n.ref != nil
	narrower := c.direction == Input && form == integerKind && n.types&numberKind != 0 ||
		c.direction == Output && form == numberKind && n.types&(integerKind|numberKind) == integerKind
	if !n.types.mayInclude(form) || c.exact && narrower {
		c.fail("%s is %s, its %v schema says %s", at, form.choose(kindPhrases)[0], c.direction, list(n.types.choose(kindPhrases), " or "))
	}
	for _, other := range n.allOf {
		c.check(other, inferred, at, branch)
	}
	c.checkAlternatives(n.anyOf, inferred, at, branch)
	c.checkAlternatives(n.oneOf, inferred, at, branch)
	switch {
	case form == objectKind && n.object != nil && inferred.object.additional.rejectsAll:
		c.checkObject(n.object, inferred.object, at, branch)
	case form == objectKind && n.object != nil:
		c.check(n.object.additional, inferred.object.additional, at+"[]", false)
	case form == arrayKind && n.array != nil:
		for _, items := range append(slices.Clip(n.array.prefix), n.array.items) {
			c.check(items, inferred.array.items, at+"[]", false)
		}
	}
}

// mayInclude reports whether the set allows values of a kind, or null, which Go types decode and
// encode as the absence of a value.
func (k kinds) mayInclude(kind kinds) bool {
	if kind == integerKind || kind == numberKind {
		kind = integerKind | numberKind
	}
	return k == 0 || k&(kind|nullKind) != 0
}

// checkAlternatives compares the branches of anyOf or oneOf. One of them must allow the inferred
// kind.
func (c *typeChecker) checkAlternatives(branches []*node, inferred *node, at string, branch bool) {
	var possible []*node
	for _, n := range branches {
		if n.types != nullKind && n.types.mayInclude(inferred.types&^nullKind) {
			possible = append(possible, n)
		}
	}
	if len(possible) == 0 && len(branches) > 0 {
		c.fail("%s is %s, its %v schema has no alternative for it", at, inferred.types.choose(kindPhrases)[0], c.direction)
	}
	for _, n := range possible {
		c.check(n, inferred, at, branch || len(possible) > 1)
	}
}

// checkObject compares the properties of a schema with the fields of a struct.
func (c *typeChecker) checkObject(r, fields *objectRules, at string, branch bool) {
	closed := r.additional != nil && r.additional.rejectsAll && len(r.patterns) == 0 && !branch
	var extra, missing []string
	for _, key := range fields.propertyOrder {
		if closed && r.properties[key] == nil {
			missing = append(missing, strconv.Quote(key))
		}
	}
	for _, key := range slices.Concat(r.propertyOrder, r.required) {
		quoted := strconv.Quote(key)
		forbidden := r.properties[key] != nil && r.properties[key].rejectsAll
		if fields.properties[key] == nil && !forbidden && !slices.Contains(extra, quoted) {
			extra = append(extra, quoted)
		}
	}
	has, lacks := strings.Join(missing, ", "), strings.Join(extra, ", ")
	switch {
	case extra != nil && missing != nil:
		c.fail("%s has %s, its %v schema has %s", at, has, c.direction, lacks)
	case extra != nil:
		c.fail("%s does not have %s, its %v schema does", at, lacks, c.direction)
	case missing != nil:
		c.fail("%s has %s, its %v schema does not", at, has, c.direction)
	}
	for _, key := range r.propertyOrder {
		field, property, here := fields.properties[key], r.properties[key], at+"."+key
		if field == nil {
			continue
		}
		c.check(property, field, here, false)
		switch given, value := property.part.child("default"), field.part.child("default"); {
		case value != nil && given == nil:
			c.fail("%s has the default %s, its input schema has none", here, value.raw)
		case value != nil && string(given.raw) != string(value.raw):
			c.fail("%s has the default %s, its input schema has %s", here, value.raw, given.raw)
		}
		required := slices.Contains(fields.required, key)
		if c.exact && !branch && required != slices.Contains(r.required, key) {
			words := map[bool]string{true: "required", false: "optional"}
			c.fail("%s is %s, its %v schema says %s", here, words[required], c.direction, words[!required])
		}
	}
}
