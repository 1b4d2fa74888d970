package derive

import (
	"cmp"
	"errors"
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/schema"
)

// A member is a field that encoding/json reads and writes.
type member struct {
	field  *types.Var
	name   string // the key
	tag    reflect.StructTag
	goPath []string // the Go names that lead to it through embedded structs
	depth  int
	tagged bool
	index  []int
	text   bool // ,string: the value stands in a string
	omits  bool // omitempty or omitzero
	direct bool // no embedded pointer lies before it
}

func (s *schemer) object(t *types.Struct) schema.Keywords {
	var properties schema.Keywords
	var required []string
	for _, m := range members(t, s.output) {
		made, optional := s.member(m)
		if s.broken {
			return nil
		}
		properties = properties.With(m.name, made.String())
		if !optional {
			required = append(required, quoted(m.name))
		}
	}
	made := schema.OfType("object")
	if len(properties) > 0 {
		made = made.With("properties", properties.String())
	}
	if len(required) > 0 {
		made = made.With("required", "["+strings.Join(required, ",")+"]")
	}
	return made.With("additionalProperties", "false")
}

// member is the schema of a field, and whether the field may be left out. [schema.Infer] does the same by reflection.
func (s *schemer) member(m member) (made schema.Keywords, optional bool) {
	at, direct := s.at, s.direct
	s.depth++
	defer func() { s.at, s.direct, s.depth = at, direct, s.depth-1 }()
	if s.finder.isOurs(m.field) {
		s.at = m.field.Pos()
	}
	if m.tagged && !schema.IsKey(m.name) {
		return s.fail("the tag json of %s has the name %q, which encoding/json does not take; use letters, digits, - and _", m.field.Name(), m.name), false
	}
	s.direct = direct && m.direct
	if m.text {
		made = schema.OfType("string")
	} else {
		made = s.of(m.field.Type())
	}
	if s.broken {
		return nil, false
	}
	tag, err := schema.ParseTag(m.tag)
	if err == nil {
		made, err = tag.Limit(made, m.text)
	}
	preset := ""
	if err == nil && tag.Default != nil {
		preset, err = s.fallBack(made, m, tag)
	}
	if err != nil {
		return s.fail("schema tag of %s: %v", m.field.Name(), err), false
	}
	_, pointer := types.Unalias(m.field.Type()).(*types.Pointer)
	switch {
	case s.output && nilable(m.field.Type()) && !m.omits, !s.output && pointer && !m.omits:
		made = made.OrNull()
	}
	if tag.Header != "" && !s.output {
		if made, err = s.header(made, m, tag); err != nil {
			return s.fail("schema tag of %s: %v", m.field.Name(), err), false
		}
	}
	if text := s.describe(m, tag); text != "" {
		made = made.With("description", quoted(text))
	}
	if preset != "" && !s.output { // an output has no defaults
		made = made.With("default", preset)
	}
	return made, m.omits || s.output && !m.direct || !s.output && (pointer || preset != "") // a nil embedded pointer has no fields
}

// fallBack is the default of a field, which must be one that can be set before the input is read.
func (s *schemer) fallBack(made schema.Keywords, m member, tag schema.Tag) (string, error) {
	switch {
	case m.text:
		return "", errors.New(`a value that the json tag puts into a string cannot have a default; remove it, or the option "string"`)
	case !s.output && !s.direct:
		return "", errors.New("only fields of the input itself, and of structs in it, can have a default; set it in the function")
	}
	s.preset = s.preset || !s.output
	return tag.DefaultJSON(made, reflected(m.field.Type()))
}

// reflected is the basic type that is under t, or another one that cannot have a default.
func reflected(t types.Type) reflect.Type {
	if basic, ok := t.Underlying().(*types.Basic); ok {
		for _, value := range []any{false, "", 0, int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0), float32(0), 0.0} {
			if of := reflect.TypeOf(value); of.Name() == types.Typ[basic.Kind()].Name() {
				return of
			}
		}
	}
	return reflect.TypeFor[any]()
}

func (s *schemer) header(made schema.Keywords, m member, tag schema.Tag) (schema.Keywords, error) {
	name := strings.ToLower(tag.Header)
	if !s.plain {
		return nil, errors.New("only fields of the input itself, and of structs in it, can have a header")
	}
	if other, taken := s.headers[name]; taken {
		return nil, fmt.Errorf("%s already has the header %s; case does not matter in headers", other, tag.Header)
	}
	s.headers[name] = m.field.Name()
	return tag.Mirror(made)
}

func (s *schemer) describe(m member, tag schema.Tag) string {
	text := cmp.Or(tag.Description, fieldText(s.finder.field(m.field.Pos())))
	if isDuration(m.field.Type()) {
		text = schema.InNanoseconds(text)
	}
	return text
}

func isDuration(t types.Type) bool {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time" && named.Obj().Name() == "Duration"
}

// members lists the fields of a struct that encoding/json knows, in their order. Of those that
// claim the same key the least embedded one has it, or else the only one with a tag, or else none. What
// an embedded pointer to an unexported struct has is written, and cannot be read.
func members(t *types.Struct, output bool) []member {
	var claims []member
	collect(t, member{direct: true}, []types.Type{t}, output, &claims)
	byName := map[string][]member{}
	for _, m := range claims {
		byName[m.name] = append(byName[m.name], m)
	}
	claims = slices.DeleteFunc(claims, func(m member) bool {
		winner, ok := dominant(byName[m.name])
		return !ok || !slices.Equal(winner.index, m.index)
	})
	slices.SortStableFunc(claims, func(a, b member) int { return slices.Compare(a.index, b.index) })
	return claims
}

// collect adds the fields of t, which is reached through outer, and of what it embeds.
func collect(t *types.Struct, outer member, within []types.Type, output bool, claims *[]member) {
	for i := range t.NumFields() {
		field := t.Field(i)
		inner := types.Unalias(field.Type())
		pointer, isPointer := inner.(*types.Pointer)
		if isPointer {
			inner = types.Unalias(pointer.Elem())
		}
		embedded, isStruct := inner.Underlying().(*types.Struct)
		promotes := field.Embedded() && isStruct
		if !field.Exported() && (!promotes || isPointer && !output) {
			continue
		}
		tag := reflect.StructTag(t.Tag(i))
		value := tag.Get("json")
		if value == "-" {
			continue
		}
		name, options, _ := strings.Cut(value, ",")
		m := member{
			field:  field,
			name:   name,
			tag:    tag,
			goPath: append(slices.Clone(outer.goPath), field.Name()),
			index:  append(slices.Clone(outer.index), i),
			tagged: name != "",
			depth:  outer.depth + 1,
			direct: outer.direct,
		}
		if promotes && name == "" {
			m.direct = m.direct && !isPointer
			if !slices.ContainsFunc(within, func(other types.Type) bool {
				return types.Identical(other, inner) || types.Identical(other, embedded) // the root has no name here
			}) {
				collect(embedded, m, append(slices.Clip(within), inner), output, claims)
			}
			continue
		}
		if !field.Exported() {
			continue
		}
		if name == "" {
			m.name = field.Name()
		}
		for option := range strings.SplitSeq(options, ",") {
			m.omits = m.omits || option == "omitempty" || option == "omitzero"
			m.text = m.text || option == "string" && quotable(inner)
		}
		*claims = append(*claims, m)
	}
}

func quotable(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsBoolean|types.IsNumeric|types.IsString) != 0 && basic.Info()&types.IsComplex == 0
}

func dominant(list []member) (member, bool) {
	var best []member
	for _, m := range list {
		switch {
		case len(best) == 0 || m.depth < best[0].depth:
			best = []member{m}
		case m.depth == best[0].depth:
			best = append(best, m)
		}
	}
	if len(best) > 1 {
		best = slices.DeleteFunc(best, func(m member) bool { return !m.tagged })
	}
	if len(best) != 1 {
		return member{}, false
	}
	return best[0], true
}

// A JSONField is a field of a struct that encoding/json reads and writes.
type JSONField struct {
	Name   string   // its JSON name
	Path   []string // the Go names that lead to it, through embedded structs
	Var    *types.Var
	Direct bool // no embedded pointer lies before it
	Omits  bool // it may be left out when it is empty
}

// JSONFields are the fields of a struct that encoding/json reads, in their order.
func JSONFields(t *types.Struct) []JSONField {
	var fields []JSONField
	for _, m := range members(t, false) {
		fields = append(fields, JSONField{Name: m.name, Path: m.goPath, Var: m.field, Direct: m.direct, Omits: m.omits})
	}
	return fields
}
