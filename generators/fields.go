package generators

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/core/civil"
	"github.com/petrock/petrock/core/plumbing/jsonfield"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// A structure is a struct type that a generator writes, with the types of its enumerations.
type structure struct {
	gen.StructCode
	name   string // of the type
	about  string // doc comment; may be empty
	fields []gen.Field

	directives []string // in the doc comment
}

func (s structure) write(file gen.GoFile) {
	members := s.members(file)
	if members != "" {
		members = "\n" + members
	}
	writeDoc(file, s.about, s.directives)
	file.Text("type " + s.name + " struct {" + members + "}")
	file.Text(s.enums())
}

// members returns the declarations of the fields with their comments, one a line, and imports the
// packages of their types.
func (s structure) members(file gen.GoFile) (text string) {
	for _, f := range s.fields {
		typ := s.Type(f)
		switch inner, _ := f.Type.Enum(); {
		case inner.Kind == gen.KindTime:
			file.Import("time")
		case inner.Kind == gen.KindAny && s.Logged:
			file.Import("encoding/json")
		case inner.Go != nil:
			typ = typ[:strings.LastIndexAny(typ, "]*")+1] + file.Ref(inner.Go.Path, inner.Go.Name)
		}
		text += f.Go + " " + typ + " `" + s.Tag(f) + "`" + f.Comment() + "\n"
	}
	return text
}

// enums returns the declarations of the types of its enumerations.
func (s structure) enums() (text string) {
	for _, f := range s.fields {
		text += f.EnumCode(s.Prefix + f.EnumName())
	}
	return text
}

// writeDoc adds a doc comment: about, unless it is empty, and the directives.
func writeDoc(file gen.GoFile, about string, directives []string) {
	if about != "" {
		file.Comment("// " + about)
	}
	if about != "" && len(directives) > 0 {
		file.Comment("//")
	}
	for _, d := range directives {
		file.Comment("//petrock:" + d)
	}
}

// shape returns the type for writing literals. imported is the import path of its package.
func (s structure) shape(imported string) shape {
	typ := shape{path: imported, name: s.name, constants: map[string]string{}, named: map[string]*gen.GoType{}}
	for _, f := range s.fields {
		typ.fields = append(typ.fields, gen.StructField{Name: f.Go, Type: s.Type(f), Tag: s.Tag(f)})
		if enum, ok := f.Type.Enum(); ok {
			name := s.Prefix + f.EnumName()
			typ.strings = append(typ.strings, name)
			for _, value := range enum.Values {
				typ.constants[name+" "+value.Text] = name + value.Go
			}
		} else if enum.Go != nil {
			typ.named[strings.TrimLeft(s.Type(gen.Field{Type: enum}), "*")] = enum.Go
		} else if enum.Values != nil {
			typ.strings = append(typ.strings, enum.Name)
		}
	}
	return typ
}

// encodeFields returns a JSON object of the fields for which value reports true.
func encodeFields(fields []gen.Field, value func(gen.Field) (any, bool)) (json.RawMessage, error) {
	object := map[string]any{}
	for _, f := range fields {
		if v, ok := value(f); ok {
			object[f.Name] = v
		}
	}
	return strictjson.Marshal(object)
}

func requiredSample(f gen.Field) (any, bool) { return f.Sample(), !f.Optional }

func anySample(f gen.Field) (any, bool) { return f.Sample(), f.Type.HasSample() }

// otherSample returns another value than the samples if the field has one.
func otherSample(f gen.Field) (any, bool) {
	if value, ok := f.OtherSample(); ok {
		return value, true
	}
	return anySample(f)
}

// A shape is a struct type of the project. Tests contain literals of it: posts.Create{Title: "a"}.
type shape struct {
	path    string // import path of its package
	name    string
	fields  []gen.StructField
	strings []string // string types of its package

	named     map[string]*gen.GoType // types of the project, by their names in fields
	constants map[string]string      // their constants, as far as known, by type and value: Status open
}

// literal returns the Go value that encodes to object. It reports false if there is none: a
// required field is missing, or a field is unknown or has another type.
func (s shape) literal(object json.RawMessage) (*jen.Statement, bool) {
	set, ok := s.members(object)
	return s.with(set), ok
}

// with returns a value with the given fields, on one line if they are few.
func (s shape) with(set []jen.Code) *jen.Statement {
	layout := jen.Options{Open: "{", Close: "}", Separator: ",", Multi: len(set) > 3}
	return jen.Qual(s.path, s.name).Custom(layout, set...)
}

// argument returns an input or output in a test: a Go value if one encodes to it, else JSON text.
func (s shape) argument(object json.RawMessage) *jen.Statement {
	if value, ok := s.literal(object); ok {
		return value
	}
	return gen.TextLit(string(object))
}

// members returns the fields of literal.
func (s shape) members(object json.RawMessage) ([]jen.Code, bool) {
	var given map[string]json.RawMessage
	if !ast.IsExported(s.name) || strictjson.Unmarshal(object, &given) != nil {
		return nil, false
	}
	var fields []reflect.StructField
	var exprs []ast.Expr
	for _, f := range s.fields {
		tag := reflect.StructTag(f.Tag)
		switch {
		case f.Name == "": // embedded
			return nil, false
		case tag.Get("json") == "-" || !ast.IsExported(f.Name):
			continue
		}
		expr, _ := parser.ParseExpr(f.Type) // nil is a type that no value has
		fields = append(fields, reflect.StructField{Name: f.Name, Type: s.typeOf(expr), Tag: tag})
		exprs = append(exprs, expr)
	}
	value, ok := decode(reflect.StructOf(fields), object)
	var set []jen.Code
	for i, f := range fields {
		if given[jsonfield.ParseTag(f.Tag.Get("json"), f.Name).Key] == nil || !ok {
			continue
		}
		var code *jen.Statement
		code, ok = s.code(exprs[i], value.Field(i))
		set = append(set, gen.KeyValue(f.Name, code))
	}
	return set, ok
}

// value returns the value of type t that encodes to raw.
func (s shape) value(t ast.Expr, raw json.RawMessage) (*jen.Statement, bool) {
	value, ok := decode(s.typeOf(t), raw)
	if !ok {
		return nil, false
	}
	return s.code(t, value)
}

// Literal returns a value as Go source that is assignable to a type in the package of a folder, and
// false if there is none. text is JSON, or plain text for a string.
func Literal(p gen.Project, dir string, file gen.GoFile, text string, t types.Type) (string, bool) {
	own := shape{path: p.Import(dir)}
	if feature := p.Feature(path.Base(dir)); feature != nil && feature.Dir == dir {
		own.strings = slices.Collect(maps.Keys(feature.Strings))
	}
	if named, ok := types.Unalias(t).(*types.Named); ok && !derive.IsOpaque(named) {
		t = named.Underlying() // an untyped constant is assignable
	}
	written, err := parser.ParseExpr(types.TypeString(t, func(pkg *types.Package) string {
		if pkg.Path() == own.path {
			return ""
		}
		return pkg.Name()
	}))
	if err != nil {
		return "", false
	}
	for _, raw := range []string{text, strconv.Quote(text)} {
		if value, ok := own.value(written, json.RawMessage(raw)); ok {
			return file.Code(value), true
		}
	}
	return "", false
}

// decode returns the value of a type that encodes to raw, and false if there is none.
func decode(t reflect.Type, raw json.RawMessage) (reflect.Value, bool) {
	pointer := reflect.New(t)
	if strictjson.Unmarshal(raw, pointer.Interface()) != nil {
		return pointer.Elem(), false
	}
	again, err := json.Marshal(pointer.Interface())
	var values [2]any
	for i, text := range []json.RawMessage{raw, again} {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber() // 1.0 is not 1
		err = errors.Join(err, decoder.Decode(&values[i]))
	}
	return pointer.Elem(), err == nil && reflect.DeepEqual(values[0], values[1])
}

// knownTypes are the types that literals can have. int and uint have 64 bits everywhere.
var knownTypes = map[string]reflect.Type{
	"any": reflect.TypeFor[any](), "string": reflect.TypeFor[string](), "bool": reflect.TypeFor[bool](),
	"float64": reflect.TypeFor[float64](), "rune": reflect.TypeFor[rune](), "byte": reflect.TypeFor[byte](),
	"int": reflect.TypeFor[int64](), "int8": reflect.TypeFor[int8](), "int16": reflect.TypeFor[int16](),
	"int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](),
	"uint": reflect.TypeFor[uint64](), "uint8": reflect.TypeFor[uint8](), "uint16": reflect.TypeFor[uint16](),
	"uint32": reflect.TypeFor[uint32](), "uint64": reflect.TypeFor[uint64](),
	"time.Time": reflect.TypeFor[time.Time](), "time.Duration": reflect.TypeFor[time.Duration](),
	"json.RawMessage": reflect.TypeFor[json.RawMessage](),

	"date": reflect.TypeFor[civil.Date](), "duration": reflect.TypeFor[civil.Duration](),
}

// typeOf returns a type that encodes like t. It is struct{}, which has no literals, if t is
// unknown.
func (s shape) typeOf(t ast.Expr) reflect.Type {
	switch t := t.(type) {
	case *ast.StarExpr:
		return reflect.PointerTo(s.typeOf(t.X))
	case *ast.ArrayType:
		if t.Len == nil {
			return reflect.SliceOf(s.typeOf(t.Elt))
		}
	case *ast.MapType:
		if types.ExprString(t.Key) == "string" {
			return reflect.MapOf(knownTypes["string"], s.typeOf(t.Value))
		}
	case *ast.Ident, *ast.SelectorExpr:
		name := types.ExprString(t)
		if slices.Contains(s.strings, name) {
			name = "string"
		} else if named := s.named[name]; named != nil {
			name = named.Basic
		}
		if known := knownTypes[name]; known != nil {
			return known
		}
	}
	return reflect.TypeFor[struct{}]()
}

// code returns a value of type t as Go. It reports false for nil and for values without a literal.
func (s shape) code(t ast.Expr, v reflect.Value) (code *jen.Statement, ok bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		if v.IsNil() {
			return nil, false
		}
	}
	switch t := t.(type) {
	case *ast.StarExpr:
		code, ok = s.code(t.X, v.Elem())
		_, isConstant := s.constant(t.X, v.Elem())
		ident, isIdent := t.X.(*ast.Ident)
		isTyped := v.Elem().Kind() == reflect.Struct || v.Elem().Type().PkgPath() != "" || isConstant
		if !isTyped && (isIdent && !slices.Contains([]string{"string", "bool", "int", "float64"}, ident.Name) || s.named[types.ExprString(t.X)] != nil) {
			code = s.typeCode(t.X).Call(code)
		}
		return jen.New(code), ok
	case *ast.Ident:
		if name, ok := s.constant(t, v); ok {
			return jen.Qual(s.path, name), true
		}
	case *ast.ArrayType:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return jen.Index().Byte().Call(jen.Lit(string(v.Bytes()))), true
		}
		var items []jen.Code
		for i := range v.Len() {
			item, ok := s.code(t.Elt, v.Index(i))
			if !ok {
				return nil, false
			}
			items = append(items, item)
		}
		return s.typeCode(t).Values(items...), true
	case *ast.MapType:
		entries := jen.Dict{}
		for _, key := range v.MapKeys() {
			entry, ok := s.code(t.Value, v.MapIndex(key))
			if !ok {
				return nil, false
			}
			entries[jen.Lit(key.String())] = entry
		}
		return s.typeCode(t).Values(entries), true
	}
	switch value := v.Interface().(type) {
	case civil.Date:
		start := value.In(time.UTC)
		return jen.Qual(s.named[types.ExprString(t)].Path, "NewDate").Call(jen.Lit(start.Year()), jen.Qual("time", start.Month().String()), jen.Lit(start.Day())), true
	case civil.Duration:
		return s.typeCode(t).Call(gen.Duration(time.Duration(value))), true
	}
	return scalar(v)
}

// constant returns the constant of an enum that has a value, and whether it is known.
func (s shape) constant(t ast.Expr, v reflect.Value) (name string, ok bool) {
	name, ok = s.constants[types.ExprString(t)+" "+v.String()]
	return name, ok
}

// scalar is code for types without elements.
func scalar(v reflect.Value) (code *jen.Statement, ok bool) {
	switch value := v.Interface().(type) {
	case time.Time:
		return jen.Qual("time", "Date").Call(jen.Lit(value.Year()), jen.Lit(int(value.Month())), jen.Lit(value.Day()),
			jen.Lit(value.Hour()), jen.Lit(value.Minute()), jen.Lit(value.Second()), jen.Lit(value.Nanosecond()), jen.Qual("time", "UTC")), value.Location() == time.UTC
	case time.Duration:
		return gen.Duration(value), true
	case json.RawMessage:
		text, err := strictjson.Marshal(value)
		return jen.Qual("encoding/json", "RawMessage").Call(gen.TextLit(string(text))), err == nil
	case string: // which may be in an interface
		return jen.Lit(value), !strings.ContainsRune(value, utf8.RuneError)
	case float64:
		encoded, _ := json.Marshal(value)
		text := string(encoded)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return gen.Source(text), text != "-0.0" && v.Kind() == reflect.Float64
	}
	return gen.Source(fmt.Sprint(v)), v.Kind() == reflect.Bool || v.CanInt() || v.CanUint()
}

// typeCode returns a type as jennifer code. It supports the same types as typeOf.
func (s shape) typeCode(t ast.Expr) *jen.Statement {
	switch t := t.(type) {
	case *ast.StarExpr:
		return jen.Op("*").Add(s.typeCode(t.X))
	case *ast.ArrayType:
		return jen.Index().Add(s.typeCode(t.Elt))
	case *ast.MapType:
		return jen.Map(s.typeCode(t.Key)).Add(s.typeCode(t.Value))
	case *ast.SelectorExpr:
		if named := s.named[types.ExprString(t)]; named != nil {
			return jen.Qual(named.Path, named.Name)
		}
		if t.Sel.Name == "RawMessage" {
			return jen.Qual("encoding/json", t.Sel.Name)
		}
		return jen.Qual("time", t.Sel.Name)
	case *ast.Ident:
		if s.path != "" && knownTypes[t.Name] == nil {
			return jen.Qual(s.path, t.Name)
		}
		return jen.Id(t.Name)
	}
	return jen.Null()
}
