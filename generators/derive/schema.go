package derive

import (
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

func quoted(text string) string { return string(strictjson.AppendString(nil, text)) }

// A schemer makes the schema of one type, of what is read or of what is written.
type schemer struct {
	finder *finder
	output bool
	at     token.Pos // of what the schema is for, where a type has no place of its own

	doing  []types.Type      // from the root to the type in hand
	shared []types.Type      // types that have a definition, because they contain themselves
	defs   map[string]string // the definitions, by name
	names  map[string]types.Type
	size   int  // how many types have been looked at
	broken bool // there were problems
	preset bool // a field has a default
	own    bool // a directive gives a part of it
	depth  int  // how many fields lead from the root to the type in hand
	direct bool // no pointer leads to the field in hand, so that it can have a default

	plain   bool              // the field in hand is reached through properties alone
	headers map[string]string // the fields that have one, by its name in small letters
}

// root is the schema of a type as a document.
func (s *schemer) root(t types.Type) (string, bool) {
	s.defs, s.names = map[string]string{}, map[string]types.Type{}
	s.direct, s.plain, s.headers = true, true, map[string]string{}
	made := s.of(t)
	if len(s.defs) > 0 && !s.broken {
		if made.Get("$ref") != "" { // the root contains itself: clients want to see its type there
			made = s.again(t)
		}
		var out strings.Builder
		out.WriteByte('{')
		for i, name := range slices.Sorted(maps.Keys(s.defs)) {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(quoted(name) + ":" + s.defs[name])
		}
		out.WriteByte('}')
		made = made.With("$defs", out.String())
	}
	text := made.String()
	if _, err := schema.Compile(text); err != nil && !s.broken {
		s.fail("the schema that was derived is none: %v", err)
	}
	return text, !s.broken
}

// again is the schema of a type that has a definition, or of a pointer to it, written out.
func (s *schemer) again(t types.Type) schema.Keywords {
	for {
		pointer, ok := types.Unalias(t).(*types.Pointer)
		if !ok {
			break
		}
		t = pointer.Elem()
	}
	rest := s.shared
	s.shared = nil
	for _, other := range rest {
		if !types.Identical(other, t) {
			s.shared = append(s.shared, other)
		}
	}
	s.doing, s.headers = nil, map[string]string{}
	return s.inline(t)
}

// fail notes a problem at the place of what is being looked at.
func (s *schemer) fail(format string, args ...any) schema.Keywords {
	s.broken = true
	s.finder.problem(s.at, format, args...)
	return schema.Keywords{}
}

// of is the schema of a type. A type that contains itself becomes a reference to a definition.
func (s *schemer) of(t types.Type) schema.Keywords {
	if s.broken {
		return nil
	}
	const most = 20_000
	if s.size++; s.size > most {
		return s.fail("the schema of %s would have more than %d parts; take a smaller type", s.finder.name(s.doing[0]), most)
	}
	t = types.Unalias(t)
	named, ok := t.(*types.Named)
	if !ok {
		return s.under(t)
	}
	if s.contains(s.doing, t) {
		if !s.contains(s.shared, t) {
			s.shared = append(s.shared, t)
		}
	}
	if s.contains(s.shared, t) {
		return s.reference(named)
	}
	made := s.inline(t)
	if s.contains(s.shared, t) && !s.broken { // it was found to contain itself meanwhile
		return s.reference(named)
	}
	return made
}

// inline is the schema of a named type, written out.
func (s *schemer) inline(t types.Type) schema.Keywords {
	s.doing = append(s.doing, t)
	defer func() { s.doing = s.doing[:len(s.doing)-1] }()
	return s.ofNamed(types.Unalias(t).(*types.Named))
}

// reference refers to the definition of a type, and makes it if it is not there.
func (s *schemer) reference(t *types.Named) schema.Keywords {
	name := s.definition(t)
	if _, made := s.defs[name]; !made && !s.broken {
		s.defs[name] = "" // so that it is made once
		direct, plain := s.direct, s.plain
		s.direct, s.plain = false, false
		s.doing = append(s.doing, t)
		definition := s.ofNamed(t)
		s.doing = s.doing[:len(s.doing)-1]
		s.direct, s.plain = direct, plain
		s.defs[name] = definition.String()
	}
	return schema.Keywords{}.With("$ref", quoted("#/$defs/"+name))
}

// definition is the name of a type's definition. Types that would have the same one are numbered.
func (s *schemer) definition(t *types.Named) string {
	base := schema.DefinitionName(types.TypeString(t, nil))
	name := base
	for n := 2; ; n++ {
		other, taken := s.names[name]
		if !taken || types.Identical(other, t) {
			s.names[name] = t
			return name
		}
		name = base + strconv.Itoa(n)
	}
}

func (s *schemer) contains(list []types.Type, t types.Type) bool {
	for _, other := range list {
		if types.Identical(other, t) {
			return true
		}
	}
	return false
}

// under is the schema of a type that has no name, or of what is under one that has.
func (s *schemer) under(t types.Type) schema.Keywords {
	switch t := t.(type) {
	case *types.Basic:
		return s.basic(t)
	case *types.Pointer:
		direct := s.direct
		s.direct = false
		defer func() { s.direct = direct }()
		return s.of(t.Elem()) // whether it may be null is for what holds it to say
	case *types.Struct:
		if len(s.doing) == 0 || !types.Identical(s.doing[len(s.doing)-1].Underlying(), t) { // it has no name that was looked at
			if made, ok := s.ofItself(t); ok {
				return made
			}
		}
		return s.object(t)
	case *types.Slice:
		if basic, ok := t.Elem().Underlying().(*types.Basic); ok && basic.Kind() == types.Uint8 {
			return schema.OfType("string").With("contentEncoding", `"base64"`)
		}
		return schema.OfType("array").With("items", s.element(t.Elem()).String())
	case *types.Array:
		length := strconv.FormatInt(t.Len(), 10)
		return schema.OfType("array").With("items", s.element(t.Elem()).String()).With("minItems", length).With("maxItems", length)
	case *types.Map:
		return s.dictionary(t)
	case *types.Interface:
		if t.Empty() {
			return schema.Keywords{}
		}
		return s.fail("%s is an interface: JSON cannot tell which type is meant; use a struct, or any", s.what(t))
	}
	return s.fail("%s cannot be written as JSON; use another type, or keep the field out with `json:\"-\"`", s.what(t))
}

// what names the type in hand.
func (s *schemer) what(t types.Type) string {
	if len(s.doing) > 0 {
		if named := s.doing[len(s.doing)-1]; types.Identical(named.Underlying(), t) {
			return s.finder.name(named)
		}
	}
	return s.finder.name(t)
}

// element is the schema of what a list or a map holds.
func (s *schemer) element(t types.Type) schema.Keywords {
	direct, plain := s.direct, s.plain
	s.direct, s.plain = false, false
	defer func() { s.direct, s.plain = direct, plain }()
	made := s.of(t)
	if s.output && nilable(t) {
		made = made.OrNull()
	}
	return made
}

// nilable reports whether encoding/json may write a value of the type as null.
func nilable(t types.Type) bool {
	switch types.Unalias(t).Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map:
		return true
	}
	return false
}

func (s *schemer) basic(t *types.Basic) schema.Keywords {
	switch info := t.Info(); {
	case info&types.IsBoolean != 0:
		return schema.OfType("boolean")
	case info&types.IsInteger != 0 && t.Kind() != types.Uintptr:
		made := schema.OfType("integer")
		if info&types.IsUnsigned != 0 {
			made = made.With("minimum", "0")
		}
		return made
	case info&types.IsFloat != 0:
		return schema.OfType("number")
	case info&types.IsString != 0:
		return schema.OfType("string")
	case t.Kind() == types.Invalid:
		return s.fail("the type of %s is not known: something that it refers to is missing or does not compile", s.where())
	}
	return s.fail("%s cannot be written as JSON; use another type, or keep the field out with `json:\"-\"`", s.what(t))
}

// where names the field in hand.
func (s *schemer) where() string {
	if len(s.doing) > 0 {
		return "a part of " + s.finder.name(s.doing[0])
	}
	return "what it takes or gives back"
}

// dictionary is the schema of a map, whose keys encoding/json writes as text.
func (s *schemer) dictionary(t *types.Map) schema.Keywords {
	made := schema.OfType("object").With("additionalProperties", s.element(t.Elem()).String())
	key := types.Unalias(t.Key())
	basic, _ := key.Underlying().(*types.Basic)
	switch {
	case s.hasMethod(key, "UnmarshalText", "MarshalText"):
		return made
	case basic != nil && basic.Info()&types.IsString != 0:
		if named, ok := key.(*types.Named); ok {
			if values := s.finder.enumeration(named); len(values) > 0 {
				made = made.With("propertyNames", schema.Keywords{}.With("enum", "["+strings.Join(values, ",")+"]").String())
			}
		}
		return made
	case basic != nil && basic.Info()&types.IsUnsigned != 0:
		return made.With("propertyNames", `{"pattern":"^[0-9]+$"}`)
	case basic != nil && basic.Info()&types.IsInteger != 0:
		return made.With("propertyNames", `{"pattern":"^-?[0-9]+$"}`)
	}
	return s.fail("a map with keys of type %s cannot be written as JSON; use string keys", s.finder.name(key))
}
