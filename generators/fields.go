package generators

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
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

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
)

// A structure is a struct type that a generator writes, with the types of its enumerations.
type structure struct {
	name   string // of the type
	prefix string // of the types of its enumerations
	about  string // doc comment after the name; may be empty
	fields []gen.Field

	directives []string
	logged     bool // stored in the event log, where null and empty must stay distinct
}

func (s structure) write(file gen.GoFile) {
	s.writeType(file)
	s.writeEnums(file)
}

func (s structure) writeType(file gen.GoFile) {
	members := ""
	for _, f := range s.fields {
		members += s.member(file, f) + "\n"
	}
	writeDoc(file, s.name, s.about, s.directives)
	if members != "" {
		members = "\n" + members
	}
	file.Text("type " + s.name + " struct {" + members + "}")
}

// member returns the declaration of a field with its comment, and imports the package of its type.
func (s structure) member(file gen.GoFile, f gen.Field) string {
	typ := s.code().Type(f)
	for _, imported := range []string{"time", "encoding/json"} {
		if strings.Contains(typ, path.Base(imported)+".") {
			file.Use(imported)
		}
	}
	return f.Go + " " + typ + " `" + s.code().Tag(f) + "`" + f.Comment()
}

func (s structure) writeEnums(file gen.GoFile) {
	for _, f := range s.fields {
		enum, ok := f.Type.Enum()
		if !ok {
			continue
		}
		text := fmt.Sprintf("// %s is one of the values of %s.\ntype %[1]s string\n\n// The values of %[2]s.\nconst (\n", s.prefix+f.Go, f.Name)
		for _, value := range enum.Values {
			text += fmt.Sprintf("%s%s %[1]s = %[3]q\n", s.prefix+f.Go, value.Go, value.Text)
		}
		file.Text(text + ")")
	}
}

// writeDoc adds a doc comment. about follows the name; if it is empty, there are only directives.
func writeDoc(file gen.GoFile, name, about string, directives []string) {
	if about != "" {
		file.Comment("// " + name + " " + about)
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
	typ := shape{path: imported, name: s.name}
	for _, f := range s.fields {
		typ.fields = append(typ.fields, gen.StructField{Name: f.Go, Type: s.code().Type(f), Tag: s.code().Tag(f)})
		if enum, ok := f.Type.Enum(); ok {
			typ.strings = append(typ.strings, s.prefix+f.Go)
		} else if enum.Values != nil {
			typ.strings = append(typ.strings, enum.Name)
		}
	}
	return typ
}

func (s structure) code() gen.StructCode { return gen.StructCode{Prefix: s.prefix, Logged: s.logged} }

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

func anySample(f gen.Field) (any, bool) { return f.Sample(), true }

// samplesExcept returns requiredSample with another value for one field.
func samplesExcept(other gen.Field, value any) func(gen.Field) (any, bool) {
	return func(f gen.Field) (any, bool) {
		if f.Name == other.Name {
			return value, true
		}
		return requiredSample(f)
	}
}

// A shape is a struct type of the project. Tests contain literals of it: posts.Create{Title: "a"}.
type shape struct {
	path    string // import path of its package
	name    string
	fields  []gen.StructField
	strings []string // string types of its package
}

// literal returns the Go value that encodes to object. It reports false if there is none: a required
// field is missing, or a field is unknown or has another type.
func (s shape) literal(object json.RawMessage) (*jen.Statement, bool) {
	set, ok := s.members(object)
	return jen.Qual(s.path, s.name).Values(set...), ok
}

func (s shape) members(object json.RawMessage) ([]jen.Code, bool) {
	var given map[string]json.RawMessage
	if !ast.IsExported(s.name) || strictjson.Unmarshal(object, &given) != nil || given == nil {
		return nil, false
	}
	var set []jen.Code
	for _, f := range s.fields {
		key, options, ok := encodedAs(f)
		if ok && key == "" {
			continue
		}
		t, err := parser.ParseExpr(f.Type)
		if !ok || err != nil {
			return nil, false
		}
		raw, isGiven := given[key]
		delete(given, key)
		if !isGiven {
			if !slices.Contains(options, "omitzero") && !(slices.Contains(options, "omitempty") && s.canBeEmpty(t)) {
				return nil, false
			}
			continue
		}
		v, ok := s.value(t, raw)
		if !ok || v.empty && slices.Contains(options, "omitempty") || v.zero && slices.Contains(options, "omitzero") {
			return nil, false
		}
		set = append(set, gen.KeyValue(f.Name, v.code))
	}
	return set, len(given) == 0
}

// encodedAs returns the JSON key of a field, empty if it is not encoded, and the options of its tag.
// It reports false for embedded fields and the option string.
func encodedAs(f gen.StructField) (key string, options []string, ok bool) {
	tag := reflect.StructTag(f.Tag).Get("json")
	if tag == "-" || f.Name != "" && !ast.IsExported(f.Name) {
		return "", nil, true
	}
	key, rest, _ := strings.Cut(tag, ",")
	options = strings.Split(rest, ",")
	return cmp.Or(key, f.Name), options, f.Name != "" && !slices.Contains(options, "string")
}

// canBeEmpty reports whether omitempty leaves out the zero value of a type.
func (s shape) canBeEmpty(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.StarExpr, *ast.MapType:
		return true
	case *ast.ArrayType:
		return t.Len == nil
	case *ast.Ident:
		return predeclared[t.Name] != nil || slices.Contains(s.strings, t.Name)
	case *ast.SelectorExpr:
		return t.Sel.Name == "Duration" || t.Sel.Name == "RawMessage"
	}
	return false
}

// predeclared are the predeclared types that JSON can encode. int and uint have 64 bits everywhere.
var predeclared = map[string]reflect.Type{
	"any": reflect.TypeFor[any](), "string": reflect.TypeFor[string](), "bool": reflect.TypeFor[bool](),
	"float64": reflect.TypeFor[float64](), "rune": reflect.TypeFor[rune](), "byte": reflect.TypeFor[byte](),
	"int": reflect.TypeFor[int64](), "int8": reflect.TypeFor[int8](), "int16": reflect.TypeFor[int16](),
	"int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](),
	"uint": reflect.TypeFor[uint64](), "uint8": reflect.TypeFor[uint8](), "uint16": reflect.TypeFor[uint16](),
	"uint32": reflect.TypeFor[uint32](), "uint64": reflect.TypeFor[uint64](),
}

type goValue struct {
	code        *jen.Statement
	empty, zero bool // omitempty or omitzero would leave it out
	converts    bool // the type of code differs, such as int for int64
}

// value returns the value of type t that encodes to raw.
func (s shape) value(t ast.Expr, raw json.RawMessage) (goValue, bool) {
	if strictjson.First(raw) == 'n' {
		return goValue{}, false
	}
	switch t := t.(type) {
	case *ast.StarExpr:
		v, ok := s.value(t.X, raw)
		if v.converts {
			v.code = s.typeCode(t.X).Call(v.code)
		}
		return goValue{code: jen.New(v.code)}, ok
	case *ast.ArrayType:
		return s.list(t, raw)
	case *ast.MapType:
		return s.dictionary(t, raw)
	case *ast.SelectorExpr:
		return special(types.ExprString(t), raw)
	case *ast.Ident:
		switch {
		case t.Name == "any":
			v, ok := basic("string", raw)
			return goValue{code: v.code}, ok // a non-nil interface is neither empty nor zero
		case predeclared[t.Name] != nil:
			return basic(t.Name, raw)
		case slices.Contains(s.strings, t.Name):
			v, ok := basic("string", raw)
			v.converts = true
			return v, ok
		}
	}
	return goValue{}, false
}

func (s shape) list(t *ast.ArrayType, raw json.RawMessage) (goValue, bool) {
	if t.Len != nil {
		return goValue{}, false
	}
	if name := types.ExprString(t.Elt); name == "byte" || name == "uint8" {
		var text string
		data, err := []byte(nil), strictjson.Unmarshal(raw, &text)
		if err == nil {
			data, err = base64.StdEncoding.DecodeString(text)
		}
		code := jen.Index().Byte().Call(jen.Lit(string(data)))
		return goValue{code: code, empty: len(data) == 0}, err == nil && base64.StdEncoding.EncodeToString(data) == text
	}
	var list []json.RawMessage
	if strictjson.First(raw) != '[' || strictjson.Unmarshal(raw, &list) != nil {
		return goValue{}, false
	}
	var items []jen.Code
	for _, item := range list {
		v, ok := s.value(t.Elt, item)
		if !ok {
			return goValue{}, false
		}
		items = append(items, v.code)
	}
	return goValue{code: s.typeCode(t).Values(items...), empty: len(items) == 0}, true
}

func (s shape) dictionary(t *ast.MapType, raw json.RawMessage) (goValue, bool) {
	var entries map[string]json.RawMessage
	if types.ExprString(t.Key) != "string" || strictjson.First(raw) != '{' || strictjson.Unmarshal(raw, &entries) != nil {
		return goValue{}, false
	}
	var items []jen.Code
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		v, ok := s.value(t.Value, entries[key])
		if !ok {
			return goValue{}, false
		}
		items = append(items, jen.Lit(key).Op(":").Add(v.code))
	}
	return goValue{code: s.typeCode(t).Values(items...), empty: len(items) == 0}, true
}

// basic returns the value of a predeclared type that encodes to raw.
func basic(name string, raw json.RawMessage) (goValue, bool) {
	pointer := reflect.New(predeclared[name])
	if strictjson.Unmarshal(raw, pointer.Interface()) != nil {
		return goValue{}, false
	}
	v, text := pointer.Elem(), strings.TrimSpace(string(raw))
	result := goValue{code: jen.Id(text), empty: v.IsZero(), zero: v.IsZero()}
	switch name {
	case "string":
		result.code = jen.Lit(v.String())
		return result, !strings.ContainsRune(v.String(), utf8.RuneError)
	case "bool":
	case "float64":
		if !strings.ContainsAny(text, ".e") {
			result.code = jen.Id(text + ".0")
		}
	default:
		result.converts = name != "int"
	}
	again, _ := json.Marshal(v.Interface())
	return result, string(again) == text && text != "-0"
}

func special(name string, raw json.RawMessage) (goValue, bool) {
	switch name {
	case "time.Time":
		var text string
		if strictjson.Unmarshal(raw, &text) != nil {
			return goValue{}, false
		}
		at, err := time.Parse(time.RFC3339Nano, text)
		ok := err == nil && strings.HasSuffix(text, "Z") && at.Format(time.RFC3339Nano) == text
		code := jen.Qual("time", "Date").Call(jen.Lit(at.Year()), jen.Lit(int(at.Month())), jen.Lit(at.Day()),
			jen.Lit(at.Hour()), jen.Lit(at.Minute()), jen.Lit(at.Second()), jen.Lit(at.Nanosecond()), jen.Qual("time", "UTC"))
		return goValue{code: code, zero: at.IsZero()}, ok
	case "time.Duration":
		v, ok := basic("int64", raw)
		n, _ := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
		v.code, v.converts = gen.Duration(time.Duration(n)), false
		return v, ok
	case "json.RawMessage":
		text, err := compact(raw)
		return goValue{code: jen.Qual("encoding/json", "RawMessage").Call(textLit(text))}, err == nil
	}
	return goValue{}, false
}

// typeCode returns a type as jennifer code. It supports the same types as value.
func (s shape) typeCode(t ast.Expr) *jen.Statement {
	switch t := t.(type) {
	case *ast.StarExpr:
		return jen.Op("*").Add(s.typeCode(t.X))
	case *ast.ArrayType:
		return jen.Index().Add(s.typeCode(t.Elt))
	case *ast.MapType:
		return jen.Map(s.typeCode(t.Key)).Add(s.typeCode(t.Value))
	case *ast.SelectorExpr:
		if t.Sel.Name == "RawMessage" {
			return jen.Qual("encoding/json", t.Sel.Name)
		}
		return jen.Qual("time", t.Sel.Name)
	case *ast.Ident:
		if s.path != "" && predeclared[t.Name] == nil {
			return jen.Qual(s.path, t.Name)
		}
		return jen.Id(t.Name)
	}
	return jen.Null()
}
