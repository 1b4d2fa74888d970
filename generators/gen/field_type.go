package gen

import (
	"errors"
	"fmt"
	"strings"
)

// A FieldKind is what sort of type a type is. Its text is how it is typed, but for lists and maps.
type FieldKind string

// The kinds of types.
const (
	KindString   FieldKind = "string"
	KindInt      FieldKind = "int"
	KindInt64    FieldKind = "int64"
	KindFloat    FieldKind = "float"
	KindBool     FieldKind = "bool"
	KindTime     FieldKind = "time"
	KindDuration FieldKind = "duration"
	KindBytes    FieldKind = "bytes"
	KindAny      FieldKind = "any"
	KindEnum     FieldKind = "enum"
	KindList     FieldKind = "[]"
	KindMap      FieldKind = "map[string]"
)

// A FieldType is the type of a field, or of what is in a list or a map.
type FieldType struct {
	Kind   FieldKind
	Elem   *FieldType  // of the items of a List and the values of a Map; otherwise nil
	Values []EnumValue // of an Enum; otherwise nil
}

// deepest is how many lists and maps may be inside one another.
const deepest = 4

// types is what can be typed, for messages.
const typesHint = "string, int, int64, float, bool, time, duration, bytes, any, enum(a,b), []TYPE and map[string]TYPE"

// String is the type as it is typed: map[string][]int.
func (t FieldType) String() string {
	switch {
	case t.Elem != nil:
		return string(t.Kind) + t.Elem.String()
	case t.Kind == KindEnum:
		texts := make([]string, len(t.Values))
		for i, value := range t.Values {
			texts[i] = value.Text
		}
		return "enum(" + strings.Join(texts, ",") + ")"
	}
	return string(t.Kind)
}

// parseType reads a type that is inside of depth lists and maps.
func parseType(text string, depth int) (FieldType, error) {
	for _, kind := range []FieldKind{KindList, KindMap} {
		rest, ok := strings.CutPrefix(text, string(kind))
		switch {
		case !ok || text == "[]byte":
			continue
		case depth == deepest:
			return FieldType{}, fmt.Errorf("more than %d lists and maps are inside one another; take any instead", deepest)
		case rest == "":
			return FieldType{}, fmt.Errorf("%q lacks the type of what is in it; try %sstring", text, kind)
		}
		elem, err := parseType(rest, depth+1)
		return FieldType{Kind: kind, Elem: &elem}, err
	}
	if inside, ok := strings.CutPrefix(text, "enum("); ok {
		values, err := parseValues(inside)
		return FieldType{Kind: KindEnum, Values: values}, err
	}
	switch kind := FieldKind(text); kind {
	case KindString, KindInt, KindInt64, KindFloat, KindBool, KindTime, KindDuration, KindBytes, KindAny:
		return FieldType{Kind: kind}, nil
	case "float64", "number":
		return FieldType{Kind: KindFloat}, nil
	}
	if text == "" {
		return FieldType{}, errors.New("there is no type behind the colon; the types are " + typesHint)
	}
	better, own := meant(text), ""
	if better == "" {
		own = "; for a type of your own take string here, and change the struct in the file afterwards"
	}
	return FieldType{}, fmt.Errorf("%q is no type%s; the types are %s%s", Shorten(text), better, typesHint, own)
}

// meant says which type somebody may have meant who is used to another language.
func meant(text string) string {
	better := ""
	switch strings.ToLower(text) {
	case "str", "text", "char", "uuid", "url", "email":
		better = "string"
	case "integer", "int8", "int16", "int32", "uint", "uint8", "uint16", "uint32", "uint64", "long":
		better = "int"
	case "double", "float32", "decimal":
		better = "float"
	case "boolean":
		better = "bool"
	case "time.time", "date", "datetime", "date-time", "timestamp":
		better = "time"
	case "time.duration":
		better = "duration"
	case "byte", "[]byte", "blob", "binary", "base64":
		better = "bytes"
	case "interface{}", "json", "json.rawmessage":
		better = "any"
	case "object", "map", "dict":
		better = "map[string]any"
	case "array", "list", "slice":
		better = "[]string"
	case "enum":
		better = "enum(a,b)"
	default:
		lower := strings.ToLower(text) // String, Int
		if lower == text {
			return ""
		}
		if _, err := parseType(lower, deepest); err != nil {
			return ""
		}
		better = Shorten(lower)
	}
	return "; try " + better
}
