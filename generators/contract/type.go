package contract

import (
	"fmt"
	"strconv"
	"strings"
)

// A Type is the parsed type of a field.
type Type struct {
	Kind Kind
	Name string // name of a basic type, a struct type of the shape, or an opaque type
	Enum string // name of the enum that a string is; may be empty
	Len  int    // length of an array
	Key  *Type  // key type of a map
	Elem *Type  // element type of a pointer, slice, array or map
}

// A Kind is a kind of type.
type Kind int

// The kinds. An opaque type has its own JSON or text marshalling.
const (
	Basic Kind = iota
	Any
	Bytes
	Struct
	Opaque
	Pointer
	Slice
	Array
	Map
)

// ParseType parses the type of a [Field]. It is in Go syntax, with named types other than structs
// replaced by their underlying types. A name with a dot is an opaque type: its import path, which
// begins with ./ for a package of the project, and its name. Any other name that is not a basic
// type is in [Shape].Types.
func ParseType(text string) (Type, error) {
	fail := func() (Type, error) { return Type{}, fmt.Errorf("%q is not a type", text) }
	nested := func(outer Type, rest string) (Type, error) {
		elem, err := ParseType(rest)
		outer.Elem = &elem
		return outer, err
	}
	switch rest, _ := strings.CutPrefix(text, "*"); {
	case rest != text:
		return nested(Type{Kind: Pointer}, rest)
	case text == "[]byte":
		return Type{Kind: Bytes, Name: text}, nil
	case strings.HasPrefix(text, "[]"):
		return nested(Type{Kind: Slice}, text[2:])
	case strings.HasPrefix(text, "["):
		length, rest, ok := strings.Cut(text[1:], "]")
		n, err := strconv.Atoi(length)
		if !ok || err != nil || n < 0 {
			return fail()
		}
		return nested(Type{Kind: Array, Len: n}, rest)
	case strings.HasPrefix(text, "map["):
		end := closingBracket(text[3:])
		if end < 0 {
			return fail()
		}
		key, err := ParseType(text[4 : 3+end])
		if err != nil {
			return fail()
		}
		return nested(Type{Kind: Map, Key: &key}, text[3+end+1:])
	case text == "any":
		return Type{Kind: Any, Name: text}, nil
	case isBasic(text):
		return Type{Kind: Basic, Name: text}, nil
	case text == "":
		return fail()
	case strings.Contains(text, "."):
		return Type{Kind: Opaque, Name: text}, nil
	}
	return Type{Kind: Struct, Name: text}, nil
}

// ParseType parses the type of the field with its enums.
func (f Field) ParseType() (Type, error) {
	t, err := ParseType(f.Type)
	if err != nil || f.Named == "" {
		return t, err
	}
	named, err := ParseType(f.Named)
	t.setEnums(named)
	return t, err
}

// setEnums sets the names of enums from the same type with enums in place of strings.
func (t *Type) setEnums(named Type) {
	if t.Kind == Basic && named.Kind != Basic {
		t.Enum = named.Name
	}
	if t.Elem != nil && named.Elem != nil {
		t.Elem.setEnums(*named.Elem)
	}
	if t.Key != nil && named.Key != nil {
		t.Key.setEnums(*named.Key)
	}
}

// closingBracket returns the index of the bracket that closes the one that text begins with, or -1.
func closingBracket(text string) int {
	depth := 0
	for i, r := range text {
		switch r {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func isBasic(name string) bool { return name == "string" || name == "bool" || bits(name) != 0 }

// bits returns the size of a number type, and 0 for other types.
func bits(name string) int {
	return map[string]int{
		"int": 64, "int8": 8, "int16": 16, "int32": 32, "int64": 64, "float32": 32, "float64": 64,
		"uint": 64, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64,
	}[name]
}

// Holds reports whether a basic type can represent all values of another exactly.
func Holds(wide, narrow string) bool {
	if wide == narrow {
		return true
	}
	isFloat := func(name string) bool { return strings.HasPrefix(name, "float") }
	isUnsigned := func(name string) bool { return strings.HasPrefix(name, "uint") }
	w, n := bits(wide), bits(narrow)
	switch {
	case w == 0 || n == 0, isFloat(narrow) && !isFloat(wide), isUnsigned(wide) && !isUnsigned(narrow):
		return false
	case isFloat(wide) != isFloat(narrow), isUnsigned(wide) != isUnsigned(narrow):
		return w > n
	}
	return w >= n
}
