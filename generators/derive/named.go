package derive

import (
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

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

// returnsOnly reports whether a type has a method that takes nothing and returns one value of type result.
func returnsOnly(t types.Type, name string, result types.Type) bool {
	m := method(t, name)
	return m != nil && m.Signature().Params().Len() == 0 && m.Signature().Results().Len() == 1 && types.Identical(m.Signature().Results().At(0).Type(), result)
}

// known are types of the standard library that have a form of their own.
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

// ofItself is the schema of a type that reads or writes itself, if it does.
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

// given is a schema that a directive gives a type.
func (s *schemer) given(t *types.Named, text string, pos token.Pos) schema.Keywords {
	s.own = true
	_, err := schema.Compile(text)
	switch {
	case err == nil && !strings.HasPrefix(text, "{"):
		err = errors.New("it must be a JSON object")
	case err == nil && (s.depth > 0 || !s.plain) && (strings.Contains(text, `"$ref"`) || strings.Contains(text, `"$defs"`) || strings.Contains(text, `"$id"`)):
		err = errors.New("it becomes a part of others, and so cannot have $ref, $defs or $id; only what a tool takes or gives back as a whole can")
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

// isOurs reports whether something is declared in the project's own source.
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

// wayOut says how a type can have a schema.
func (f *finder) wayOut(t types.Type) string {
	if named, ok := t.(*types.Named); ok && f.isOurs(named.Obj()) {
		return "say its schema in its doc comment: //petrock:schema {\"type\":\"string\"}"
	}
	return "make a type of your own of it, with //petrock:schema {\"type\":\"string\"} in its doc comment, or use another"
}
