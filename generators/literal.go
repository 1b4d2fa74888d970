package generators

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/types"
	"maps"
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
		v, ok := s.value(t, raw, false)
		if !ok || v.empty && slices.Contains(options, "omitempty") || v.zero && slices.Contains(options, "omitzero") {
			return nil, false
		}
		set = append(set, gen.KeyValue(f.Name, v.code))
	}
	return set, len(given) == 0
}

// encodedAs returns the JSON key of a field, empty if it is not encoded, and the options of its tag. It
// reports false for embedded fields and the option string.
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
		return predeclared(t.Name) != nil || slices.Contains(s.strings, t.Name)
	case *ast.SelectorExpr:
		return slices.Contains([]string{"time.Duration", "json.RawMessage"}, types.ExprString(t))
	}
	return false
}

// predeclared returns a pointer to a value of a predeclared type, and nil for other types.
func predeclared(name string) any {
	return map[string]any{
		"any": new(any), "string": new(string), "bool": new(bool), "float64": new(float64), "rune": new(rune), "byte": new(byte),
		"int": new(int64), "int8": new(int8), "int16": new(int16), "int32": new(int32), "int64": new(int64),
		"uint": new(uint64), "uint8": new(uint8), "uint16": new(uint16), "uint32": new(uint32), "uint64": new(uint64),
	}[name]
}

type goValue struct {
	code        *jen.Statement
	empty, zero bool // omitempty or omitzero would leave it out
	converts    bool // the type of code differs, such as int for int64
}

// value returns the value of type t that encodes to raw. elided omits the type of a composite literal,
// as inside of a slice or map.
func (s shape) value(t ast.Expr, raw json.RawMessage, elided bool) (goValue, bool) {
	if strictjson.First(raw) == 'n' {
		return goValue{}, false
	}
	switch t := t.(type) {
	case *ast.StarExpr:
		v, ok := s.value(t.X, raw, false)
		if v.converts {
			v.code = s.typeCode(t.X).Call(v.code)
		}
		return goValue{code: jen.New(v.code)}, ok
	case *ast.ArrayType:
		return s.list(t, raw, elided)
	case *ast.MapType:
		return s.dictionary(t, raw, elided)
	case *ast.SelectorExpr:
		return special(types.ExprString(t), raw)
	case *ast.Ident:
		switch {
		case t.Name == "any":
			return s.anyValue(raw)
		case predeclared(t.Name) != nil:
			return basic(t.Name, raw)
		case slices.Contains(s.strings, t.Name):
			v, ok := basic("string", raw)
			v.converts = true
			return v, ok
		}
	}
	return goValue{}, false
}

func (s shape) list(t *ast.ArrayType, raw json.RawMessage, elided bool) (goValue, bool) {
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
		v, ok := s.value(t.Elt, item, true)
		if !ok {
			return goValue{}, false
		}
		items = append(items, v.code)
	}
	return goValue{code: s.composite(t, elided).Values(items...), empty: len(items) == 0}, true
}

func (s shape) dictionary(t *ast.MapType, raw json.RawMessage, elided bool) (goValue, bool) {
	var entries map[string]json.RawMessage
	if types.ExprString(t.Key) != "string" || strictjson.First(raw) != '{' || strictjson.Unmarshal(raw, &entries) != nil {
		return goValue{}, false
	}
	var items []jen.Code
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		v, ok := s.value(t.Value, entries[key], true)
		if !ok {
			return goValue{}, false
		}
		items = append(items, jen.Lit(key).Op(":").Add(v.code))
	}
	return goValue{code: s.composite(t, elided).Values(items...), empty: len(items) == 0}, true
}

func (s shape) composite(t ast.Expr, elided bool) *jen.Statement {
	if elided {
		return jen.Null()
	}
	return s.typeCode(t)
}

func (s shape) anyValue(raw json.RawMessage) (goValue, bool) {
	kind := "float64"
	switch strictjson.First(raw) {
	case '"':
		kind = "string"
	case 't', 'f':
		kind = "bool"
	case '[':
		return s.value(&ast.ArrayType{Elt: ast.NewIdent("any")}, raw, false)
	case '{':
		return s.value(&ast.MapType{Key: ast.NewIdent("string"), Value: ast.NewIdent("any")}, raw, false)
	}
	v, ok := basic(kind, raw)
	return goValue{code: v.code}, ok // a non-nil interface is neither empty nor zero
}

// basic returns the value of a predeclared type that encodes to raw.
func basic(name string, raw json.RawMessage) (goValue, bool) {
	pointer := predeclared(name)
	if strictjson.Unmarshal(raw, pointer) != nil {
		return goValue{}, false
	}
	v, text := reflect.ValueOf(pointer).Elem(), strings.TrimSpace(string(raw))
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
		return goValue{code: jen.Qual("encoding/json", "RawMessage").Call(rawLit(text))}, err == nil
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
		if s.path != "" && predeclared(t.Name) == nil {
			return jen.Qual(s.path, t.Name)
		}
		return jen.Id(t.Name)
	}
	return jen.Null()
}
