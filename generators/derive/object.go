package derive

import (
	"go/types"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// A member is a field that encoding/json reads and writes.
type member struct {
	field  *types.Var
	name   string // the key
	tag    reflect.StructTag
	goPath []string // through embedded structs
	depth  int
	tagged bool
	index  []int
	text   bool // ,string: the value stands in a string
	omits  bool // omitempty or omitzero
	direct bool // no embedded pointer lies before it
}

// object is the schema of a struct.
func (s *schemer) object(t *types.Struct) schema {
	var properties strings.Builder
	var required []string
	for i, m := range members(t, s.output) {
		if i > 0 {
			properties.WriteByte(',')
		}
		made, optional := s.member(m)
		if s.broken {
			return nil
		}
		properties.WriteString(quote(m.name) + ":" + made.String())
		if !optional {
			required = append(required, quote(m.name))
		}
	}
	made := ofType("object")
	if properties.Len() > 0 {
		made = made.with("properties", "{"+properties.String()+"}")
	}
	if len(required) > 0 {
		made = made.with("required", "["+strings.Join(required, ",")+"]")
	}
	return made.with("additionalProperties", "false")
}

// member is the schema of a field, and whether the field may be left out.
func (s *schemer) member(m member) (made schema, optional bool) {
	at, direct, depth := s.at, s.direct, len(s.path)
	defer func() { s.at, s.direct, s.path = at, direct, s.path[:depth] }()
	if s.finder.isOurs(m.field) {
		s.at = m.field.Pos()
	}
	if m.tagged && !isKey(m.name) {
		return s.fail("the tag json of %s has the name %q, which encoding/json does not take; use letters, digits, - and _", m.field.Name(), m.name), false
	}
	s.path = append(s.path, m.goPath...)
	s.direct = direct && m.direct
	if m.text {
		made = ofType("string")
	} else {
		made = s.of(m.field.Type())
	}
	if s.broken {
		return nil, false
	}
	limits, err := parseLimits(m.tag)
	if err != nil {
		return s.fail("the tag schema of %s: %v", m.field.Name(), err), false
	}
	made = s.limit(made, m, limits)
	_, pointer := types.Unalias(m.field.Type()).(*types.Pointer)
	switch {
	case s.output && nilable(m.field.Type()) && !m.omits, !s.output && pointer && !m.omits:
		made = made.orNull()
	}
	if limits.header != "" && !s.output {
		made = s.header(made, m, limits)
	}
	if text := s.describe(m); text != "" {
		made = made.with("description", quote(text))
	}
	if limits.hasDefault && !s.output { // what is written has none
		made = made.with("default", limits.asJSON(m.field.Type()))
	}
	return made, m.omits || s.output && !m.direct || !s.output && (pointer || limits.hasDefault) // a nil embedded pointer has no fields
}

// describe is the description of a field.
func (s *schemer) describe(m member) string {
	text := fieldText(s.finder.field(m.field.Pos()))
	if isDuration(m.field.Type()) && !strings.Contains(text, "nanosecond") {
		text = strings.TrimSpace(strings.TrimSuffix(text, ".") + " (in nanoseconds)")
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

// isKey reports whether encoding/json takes a name that a tag gives.
func isKey(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// quotable reports whether the option string of a tag has an effect.
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
