package derive

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/civil"
	"github.com/petrock/petrock/core/plumbing/inference"
	"github.com/petrock/petrock/core/plumbing/jsonfield"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

// A schemaBuilder builds the schema of an input or output type.
type schemaBuilder struct {
	finder *finder
	output bool
	at     token.Pos // position of errors in types outside of the project

	hasDefaults bool
	own         bool                 // a directive sets part of it
	wrong       *inference.TypeError // why there is no schema; may be nil
}

// build returns the schema of a type. If there is none, build reports a problem and returns false.
func (s *schemaBuilder) build(t types.Type) (string, bool) {
	direction := schema.Input
	if s.output {
		direction = schema.Output
	}
	document, hasDefaults, err := inference.Infer(s.typeOf(t), direction)
	if err != nil {
		at, isType := s.at, false
		if s.wrong, isType = errors.AsType[*inference.TypeError](err); isType {
			at = s.posOf(s.wrong)
		}
		s.finder.problem(at, "%v", err)
		return "", false
	}
	if _, err := schema.Compile(document); err != nil {
		s.finder.problem(s.at, "the derived schema is invalid: %v", err)
		return "", false
	}
	s.hasDefaults = hasDefaults
	return string(document), true
}

// posOf returns the position of an error: that of a directive, or of the innermost field in the
// project.
func (s *schemaBuilder) posOf(wrong *inference.TypeError) token.Pos {
	if wrong.Owner != nil {
		if _, pos, ok := s.finder.schemaDirective(wrong.Owner.(sourceType).Type.(*types.Named)); ok {
			return pos
		}
	}
	for _, field := range slices.Backward(wrong.Fields) {
		if v := field.Source.(*types.Var); s.finder.isInProject(v) {
			return v.Pos()
		}
	}
	return s.at
}

func (s *schemaBuilder) typeOf(t types.Type) inference.Type { return sourceType{types.Unalias(t), s} }

// A sourceType implements [inference.Type] for a type in source code. It is never an alias.
type sourceType struct {
	types.Type
	s *schemaBuilder
}

func (t sourceType) String() string { return t.s.finder.name(t.Type) }

func (t sourceType) ID() any {
	if name := t.Name(); name != "" {
		return name
	}
	return nil
}

func (t sourceType) Name() string {
	if _, ok := t.Type.(*types.Named); !ok {
		return ""
	}
	name := types.TypeString(t.Type, nil)
	if rest, ok := strings.CutPrefix(name, t.s.finder.Core+"/civil."); ok { // the running petrock may have another path
		return reflect.TypeFor[civil.Date]().PkgPath() + "." + rest
	}
	return name
}

func (t sourceType) Kind() reflect.Kind {
	switch under := t.Underlying().(type) {
	case *types.Basic:
		switch under.Kind() {
		case types.String:
			return reflect.String
		case types.UnsafePointer:
			return reflect.UnsafePointer
		}
		return reflect.Kind(under.Kind()) // the other kinds have the same numbers
	case *types.Pointer:
		return reflect.Pointer
	case *types.Struct:
		return reflect.Struct
	case *types.Slice:
		return reflect.Slice
	case *types.Array:
		return reflect.Array
	case *types.Map:
		return reflect.Map
	case *types.Interface:
		if _, ok := t.Type.(*types.TypeParam); !ok {
			return reflect.Interface
		}
	}
	return reflect.Func // any kind that JSON does not support
}

func (t sourceType) Reflect() reflect.Type {
	for _, value := range []any{time.Time{}, civil.Date{}, civil.Duration(0)} { // which decode themselves
		if known := reflect.TypeOf(value); known.PkgPath()+"."+known.Name() == t.Name() {
			return known
		}
	}
	for _, value := range []any{false, "", 0, int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0), float32(0), 0.0} {
		if basic := reflect.TypeOf(value); basic.Kind() == t.Kind() {
			return basic
		}
	}
	return reflect.TypeFor[any]()
}

func (t sourceType) Elem() inference.Type {
	return t.s.typeOf(t.Underlying().(interface{ Elem() types.Type }).Elem())
}

func (t sourceType) Key() inference.Type { return t.s.typeOf(t.Underlying().(*types.Map).Key()) }
func (t sourceType) Len() int            { return int(t.Underlying().(*types.Array).Len()) }
func (t sourceType) NumMethod() int      { return t.Underlying().(*types.Interface).NumMethods() }

func (t sourceType) Fields(d schema.Direction) (fields []inference.Field) {
	if named, ok := t.Type.(*types.Named); ok && !slices.Contains(t.s.finder.structs, named) {
		t.s.finder.structs = append(t.s.finder.structs, named)
	}
	for _, m := range JSONFields(t.Underlying().(*types.Struct), d == schema.Output) {
		fields = append(fields, inference.Field{
			Claim: m.Claim, Name: m.Var.Name(), Tag: m.Tag, Type: t.s.typeOf(m.Var.Type()),
			Description: FieldText(declaration[*ast.Field](t.s.finder, m.Var.Pos())), Source: m.Var,
		})
	}
	return fields
}

func (t sourceType) OwnSchema() (json.RawMessage, bool, error) {
	named := t.Type.(*types.Named)
	if text, _, ok := t.s.finder.schemaDirective(named); ok {
		t.s.own = true
		return json.RawMessage(text), true, nil
	}
	if returnsOnly(named, "JSONSchema", types.Typ[types.String]) {
		return nil, false, errors.New("the method JSONSchema does not run during derivation; repeat the schema in the doc comment of the type: //petrock:schema {…}")
	}
	return nil, false, nil
}

func (t sourceType) Enum() (json.RawMessage, error) {
	named, ok := t.Type.(*types.Named)
	method := "UnmarshalText"
	if t.s.output {
		method = "MarshalText"
	}
	if isText, _ := t.HasMethod(method); !ok || isText {
		return nil, nil
	}
	values := t.s.finder.enumValues(named)
	switch {
	case len(values) > 0:
		return json.RawMessage("[" + strings.Join(values, ",") + "]"), nil
	case returnsOnly(named, "SchemaEnum", types.NewSlice(types.Universe.Lookup("any").Type())):
		return nil, fmt.Errorf("%v has the method SchemaEnum, which does not run during derivation; declare its values as constants of the type", t)
	}
	return nil, nil
}

func returnsOnly(t types.Type, name string, result types.Type) bool {
	m := method(t, name)
	return m != nil && m.Signature().Params().Len() == 0 && m.Signature().Results().Len() == 1 && types.Identical(m.Signature().Results().At(0).Type(), result)
}

func (t sourceType) HasMethod(name string) (has, hasValue bool) {
	m, params, results := method(t.Type, name), 0, 2
	if strings.HasPrefix(name, "Un") {
		params, results = 1, 1
	}
	has = m != nil && m.Signature().Params().Len() == params && m.Signature().Results().Len() == results
	return has, has && hasValueReceiver(t.Type, name)
}

func (t sourceType) Remedy() string {
	if named, ok := t.Type.(*types.Named); ok && t.s.finder.isInProject(named.Obj()) {
		return "put its schema into its doc comment: //petrock:schema {\"type\":\"string\"}"
	}
	return "declare a type based on it with //petrock:schema {\"type\":\"string\"} in its doc comment, or use another type"
}

// enumValues returns the constants of a type of the project, as JSON, in the order of declaration.
func (f *finder) enumValues(t *types.Named) []string {
	basic, ok := t.Underlying().(*types.Basic)
	if !ok || basic.Info()&(types.IsString|types.IsInteger|types.IsFloat) == 0 || !f.isInProject(t.Obj()) {
		return nil
	}
	found := slices.DeleteFunc(constantsOf(t), func(c *types.Const) bool { return f.ignores(c) })
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

// Constants returns the constants of a string type in its package, sorted by name. It returns nil
// for other types.
func Constants(t *types.Named) (found []*types.Const) {
	if basic, ok := t.Underlying().(*types.Basic); !ok || basic.Info()&types.IsString == 0 {
		return nil
	}
	return constantsOf(t)
}

// constantsOf returns the constants of a type in its package, sorted by name.
func constantsOf(t *types.Named) (found []*types.Const) {
	scope := t.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), t) {
			found = append(found, c)
		}
	}
	return found
}

func quoted(text string) string { return string(strictjson.AppendString(nil, text)) }

// schemaDirective returns the schema in the doc comment of a type: the joined lines of its schema
// directives.
func (f *finder) schemaDirective(t *types.Named) (text string, pos token.Pos, ok bool) {
	if !f.isInProject(t.Obj()) {
		return "", 0, false
	}
	var lines []string
	for _, d := range directives(f.typeDoc(t.Obj().Pos())) {
		if d.name == "schema" {
			lines = append(lines, d.text)
			pos = cmp.Or(pos, d.pos)
		}
	}
	return strings.Join(lines, "\n"), pos, len(lines) > 0
}

// A JSONField is a field of a struct that encoding/json reads and writes.
type JSONField struct {
	jsonfield.Claim
	Var  *types.Var
	Tag  reflect.StructTag
	Path []string // Go names from the root, through embedded structs
}

// JSONFields returns the fields of a struct that encoding/json reads or, if written is true,
// writes, in order. Fields of an embedded pointer to an unexported struct are only written.
func JSONFields(t *types.Struct, written bool) []JSONField {
	var claims []JSONField
	collect(t, JSONField{}, []types.Type{t}, written, &claims)
	return jsonfield.Dominant(claims, func(f JSONField) jsonfield.Claim { return f.Claim })
}

// collect adds the fields of t and of its embedded structs. outer is the field that contains t.
func collect(t *types.Struct, outer JSONField, within []types.Type, written bool, claims *[]JSONField) {
	for i := range t.NumFields() {
		field := t.Field(i)
		inner := types.Unalias(field.Type())
		pointer, isPointer := inner.(*types.Pointer)
		if isPointer {
			inner = types.Unalias(pointer.Elem())
		}
		embedded, isStruct := inner.Underlying().(*types.Struct)
		promotes := field.Embedded() && isStruct
		tag := reflect.StructTag(t.Tag(i))
		if !field.Exported() && (!promotes || isPointer && !written) || tag.Get("json") == "-" {
			continue
		}
		f := JSONField{
			Claim: jsonfield.ParseTag(tag.Get("json"), field.Name()),
			Var:   field,
			Tag:   tag,
			Path:  append(slices.Clone(outer.Path), field.Name()),
		}
		f.Quoted = f.Quoted && quotable(inner)
		f.Depth, f.Indirect = outer.Depth+1, outer.Indirect
		if promotes && !f.Tagged {
			f.Indirect = f.Indirect || isPointer
			if !slices.ContainsFunc(within, func(other types.Type) bool {
				return types.Identical(other, inner) || types.Identical(other, embedded) // within has the root as an unnamed struct
			}) {
				collect(embedded, f, append(slices.Clip(within), inner), written, claims)
			}
			continue
		}
		if field.Exported() {
			*claims = append(*claims, f)
		}
	}
}

func quotable(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsBoolean|types.IsNumeric|types.IsString) != 0 && basic.Info()&types.IsComplex == 0
}

// FieldAt returns the field of a type at a JSON path, such as items.price, or nil.
func FieldAt(t types.Type, jsonPath string) *types.Var {
	var found *types.Var
	for name := range strings.SplitSeq(jsonPath, ".") {
		structure, ok := Innermost(t).Underlying().(*types.Struct)
		if !ok {
			return nil
		}
		fields := JSONFields(structure, false)
		at := slices.IndexFunc(fields, func(f JSONField) bool { return f.Key == name })
		if at < 0 {
			return nil
		}
		found = fields[at].Var
		t = found.Type()
	}
	return found
}

// Innermost returns the type that a type is, points to or contains, through any number of pointers,
// lists and maps.
func Innermost(t types.Type) types.Type {
	for {
		container, ok := t.Underlying().(interface{ Elem() types.Type })
		if !ok {
			return types.Unalias(t)
		}
		t = container.Elem()
	}
}
