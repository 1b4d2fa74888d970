package derive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
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

func (s *schemer) what(t types.Type) string {
	if len(s.doing) > 0 {
		if named := s.doing[len(s.doing)-1]; types.Identical(named.Underlying(), t) {
			return s.finder.name(named)
		}
	}
	return s.finder.name(t)
}

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

func (s *schemer) where() string {
	if len(s.doing) > 0 {
		return "a part of " + s.finder.name(s.doing[0])
	}
	return "what it takes or returns"
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

// ofNamed is the schema of a named type: what is known of it, what it says of itself, what its
// constants are, or what is under it.
func (s *schemer) ofNamed(t *types.Named) schema.Keywords {
	if made, ok := known(t); ok {
		return made
	}
	if text, pos, ok := s.finder.schemaDirective(t); ok {
		return s.given(t, text, pos)
	}
	if returnsOnly(t, "JSONSchema", types.Typ[types.String]) {
		return s.fail("%s has the method JSONSchema, which does not run when code is derived; repeat its schema in its doc comment: //petrock:schema {…}", s.finder.name(t))
	}
	values := s.finder.enumeration(t)
	if len(values) == 0 && returnsOnly(t, "SchemaEnum", types.NewSlice(types.Universe.Lookup("any").Type())) {
		return s.fail("%s has the method SchemaEnum, which does not run when code is derived; declare its values as constants of the type", s.finder.name(t))
	}
	if made, ok := s.ofItself(t); ok {
		return made
	}
	made := s.under(t.Underlying())
	if len(values) > 0 && len(made) > 0 {
		made = schema.Keywords{made[0]}.With("enum", "["+strings.Join(values, ",")+"]")
	}
	return made
}

func returnsOnly(t types.Type, name string, result types.Type) bool {
	m := method(t, name)
	return m != nil && m.Signature().Params().Len() == 0 && m.Signature().Results().Len() == 1 && types.Identical(m.Signature().Results().At(0).Type(), result)
}

func known(t *types.Named) (schema.Keywords, bool) {
	if t.Obj().Pkg() == nil {
		return nil, false
	}
	switch t.Obj().Pkg().Path() + "." + t.Obj().Name() {
	case "time.Time":
		return schema.OfType("string").With("format", `"date-time"`), true
	case "time.Duration":
		return schema.OfType("integer"), true
	case "encoding/json.RawMessage":
		return schema.Keywords{}, true
	case "encoding/json.Number":
		return schema.OfType("number"), true
	}
	return nil, false
}

func (s *schemer) ofItself(t types.Type) (schema.Keywords, bool) {
	for _, form := range []struct{ reads, writes string }{{"UnmarshalJSON", "MarshalJSON"}, {"UnmarshalText", "MarshalText"}} {
		switch {
		case !s.hasMethod(t, form.reads, form.writes):
			continue
		case s.output && types.NewMethodSet(t).Lookup(nil, form.writes) == nil:
			return s.fail("%s has the method %s on its pointer, and encoding/json calls it only now and then; put it on the type itself", s.finder.name(t), form.writes), true
		case form.reads == "UnmarshalText":
			return schema.OfType("string"), true
		}
		return s.fail("%s has a JSON form of its own, which cannot be derived; %s", s.finder.name(t), s.finder.wayOut(t)), true
	}
	return nil, false
}

func (s *schemer) given(t *types.Named, text string, pos token.Pos) schema.Keywords {
	s.own = true
	_, err := schema.Compile(text)
	switch {
	case err == nil && !strings.HasPrefix(text, "{"):
		err = errors.New("it must be a JSON object")
	case err == nil && (s.depth > 0 || !s.plain) && (strings.Contains(text, `"$ref"`) || strings.Contains(text, `"$defs"`) || strings.Contains(text, `"$id"`)):
		err = errors.New("it becomes a part of others, and so cannot have $ref, $defs or $id; only what a tool takes or returns as a whole can")
	}
	if err != nil {
		s.broken = true
		s.finder.problem(pos, "the schema of %s is none: %v", t.Obj().Name(), err)
		return nil
	}
	var made schema.Keywords
	strictjson.Object([]byte(text), func(key, value []byte) error { // it has been compiled
		encoded, err := json.Marshal(json.RawMessage(value))
		made = made.With(string(key), string(encoded))
		return err
	})
	return made
}

// hasMethod reports whether a type reads or writes itself.
func (s *schemer) hasMethod(t types.Type, reads, writes string) bool {
	name := reads
	if s.output {
		name = writes
	}
	object, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	f, ok := object.(*types.Func)
	if !ok {
		return false
	}
	signature := f.Signature()
	if s.output {
		return signature.Params().Len() == 0 && signature.Results().Len() == 2
	}
	return signature.Params().Len() == 1 && signature.Results().Len() == 1
}

// enumeration lists the constants of a type of the project, as JSON, in the order in which they are
// declared.
func (f *finder) enumeration(t *types.Named) []string {
	basic, ok := t.Underlying().(*types.Basic)
	if !ok || basic.Info()&(types.IsString|types.IsInteger|types.IsFloat) == 0 || !f.isOurs(t.Obj()) {
		return nil
	}
	found := slices.DeleteFunc(f.constantsOf(t), f.ignoresConstant)
	slices.SortFunc(found, func(a, b *types.Const) int {
		x, y := f.fset.PositionFor(a.Pos(), false), f.fset.PositionFor(b.Pos(), false)
		return cmp.Or(cmp.Compare(x.Filename, y.Filename), cmp.Compare(x.Offset, y.Offset))
	})
	var values []string
	for _, c := range found {
		text := c.Val().ExactString()
		switch c.Val().Kind() {
		case constant.String:
			text = quoted(constant.StringVal(c.Val()))
		case constant.Float:
			number, _ := constant.Float64Val(c.Val())
			encoded, _ := json.Marshal(number)
			text = string(encoded)
		}
		if !slices.Contains(values, text) {
			values = append(values, text)
		}
	}
	return values
}

// constantsOf are the constants of a type that its package declares. All of a package are looked
// through once: large ones have many types with constants.
func (f *finder) constantsOf(t *types.Named) []*types.Const {
	pkg := t.Obj().Pkg()
	byType, ok := f.constants[pkg]
	if !ok {
		byType = map[*types.TypeName][]*types.Const{}
		for _, name := range pkg.Scope().Names() {
			c, ok := pkg.Scope().Lookup(name).(*types.Const)
			if !ok {
				continue
			}
			if of, ok := types.Unalias(c.Type()).(*types.Named); ok {
				byType[of.Obj()] = append(byType[of.Obj()], c)
			}
		}
		f.constants[pkg] = byType
	}
	return slices.Clone(byType[t.Obj()])
}

func (f *finder) isOurs(object types.Object) bool {
	return object.Pkg() != nil && f.fileOf(object.Pos()) != nil
}

// ignoresConstant reports whether the comment of a constant says that it is no value of its type.
func (f *finder) ignoresConstant(c *types.Const) bool {
	spec, ok := f.declaration(c.Pos()).(*ast.ValueSpec)
	return ok && ignored(spec.Doc, spec.Comment)
}

// schemaDirective is what the doc comment of a type says its schema is, on one line or several that each begin with the directive.
func (f *finder) schemaDirective(t *types.Named) (text string, pos token.Pos, ok bool) {
	if !f.isOurs(t.Obj()) {
		return "", 0, false
	}
	var lines []string
	for _, d := range directives(f.typeDocs(t.Obj().Pos())...) {
		if d.name == "schema" {
			lines = append(lines, d.text)
			pos = cmp.Or(pos, d.pos)
		}
	}
	return strings.Join(lines, "\n"), pos, len(lines) > 0
}

func (f *finder) wayOut(t types.Type) string {
	if named, ok := t.(*types.Named); ok && f.isOurs(named.Obj()) {
		return "say its schema in its doc comment: //petrock:schema {\"type\":\"string\"}"
	}
	return "make a type of your own of it, with //petrock:schema {\"type\":\"string\"} in its doc comment, or use another"
}

// A fragment is what a derived file has of one component. It is the same whatever stands before
// and after it, so that a new component changes no lines of others.
type fragment struct {
	schemas []byte // lines of constants
	offers  []byte // lines of the function Register
}

func (f *finder) fragments(e emitter) ([]fragment, error) {
	var all []fragment
	for _, c := range f.found.Components {
		made, err := e.fragment(c)
		if err != nil {
			return nil, err
		}
		all = append(all, made)
	}
	return all, nil
}

func (e emitter) fragment(c Component) (fragment, error) {
	var made fragment
	if c.Kind == Feature || c.Kind == Worker || c.Internal {
		return made, nil
	}
	var err error
	if lines := c.schemas(); len(lines) > 0 {
		if made.schemas, err = e.inner(jen.Const().Defs(lines...)); err != nil {
			return made, err
		}
	}
	join := jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}
	calls := []jen.Code{e.add(c)}
	if c.completer != "" {
		calls = append(calls, e.complete(c))
	}
	offers, err := e.inner(jen.Func().Id("_").Params().Block(jen.Id("_").Custom(join, calls...)))
	made.offers = between(offers)
	return made, err
}

func (e emitter) inner(decl *jen.Statement) ([]byte, error) {
	text, err := e.Source(decl)
	return between(text), err
}

func between(text []byte) []byte {
	first := bytes.IndexByte(text, '\n') + 1
	last := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	return text[min(first, last):last]
}

// schemas are the schemas of a component as constants, one line each: that compiles quicker than
// literals.
//
//	inputSchemaAdd  = `{"type":"object",…}`
//	outputSchemaAdd = `{"type":"object",…}`
func (c Component) schemas() []jen.Code {
	var lines []jen.Code
	if c.hasInput() {
		lines = append(lines, jen.Id(c.constant("inputSchema")).Op("=").Add(gen.RawString(string(c.Input))))
	}
	if c.Output != nil {
		lines = append(lines, jen.Id(c.constant("outputSchema")).Op("=").Add(gen.RawString(string(c.Output))))
	}
	return lines
}
