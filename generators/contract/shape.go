package contract

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A Shape is the fields of the events of one version of a command.
type Shape struct {
	Fields []Field            `json:"fields"`
	Types  map[string][]Field `json:"types,omitempty"` // the struct types that the fields use, by name

	// Enums are the constants of the enums that the fields use, by the name in [Field].Named.
	// Events are not checked against them: the types of old versions have them.
	Enums map[string][]Constant `json:"enums,omitempty"`
}

// A Constant is a value of an enum.
type Constant struct {
	Go    string `json:"go"` // name in Go
	Value string `json:"value"`
}

// LostValues returns the values of enums that a newer shape no longer has, sorted.
func (old Shape) LostValues(now Shape) []string {
	var lost []string
	for name, values := range now.Enums {
		for _, was := range old.Enums[name] {
			if !slices.ContainsFunc(values, func(is Constant) bool { return is.Value == was.Value }) {
				lost = append(lost, was.Value)
			}
		}
	}
	slices.Sort(lost)
	return lost
}

// A Field is a struct field as encoding/json writes it.
type Field struct {
	Name     string `json:"name"`               // JSON name
	Go       string `json:"go"`                 // Go name
	Type     string `json:"type"`               // see [ParseType]
	Named    string `json:"named,omitempty"`    // Type with the names of enums instead of string, if it has any
	Optional bool   `json:"optional,omitempty"` // events may omit it
	Quoted   bool   `json:"quoted,omitempty"`   // its value is a JSON string that contains the value
}

// Promoted returns the shape of an embedded struct: its fields that are promoted.
func (s Shape) Promoted(embedded string) Shape {
	promoted := Shape{Types: s.Types, Enums: s.Enums}
	for _, f := range s.Fields {
		if rest, ok := strings.CutPrefix(f.Go, embedded+"."); ok {
			f.Go = rest
			promoted.Fields = append(promoted.Fields, f)
		}
	}
	return promoted
}

// Field returns a field. The path is the JSON names of nested fields, joined by dots.
func (s Shape) Field(path string) (field Field, ok bool) {
	fields := s.Fields
	for name := range strings.SplitSeq(path, ".") {
		if field, ok = findField(fields, name); !ok {
			return Field{}, false
		}
		fields = s.Types[s.structIn(field)]
	}
	return field, true
}

// Owner returns the struct type that has a field, which is empty for a field of the shape itself,
// and the name of the field.
func (s Shape) Owner(path string) (structure, name string) {
	at := strings.LastIndex(path, ".")
	if at < 0 {
		return "", path
	}
	field, _ := s.Field(path[:at])
	return s.structIn(field), path[at+1:]
}

func findField(fields []Field, name string) (Field, bool) {
	at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if at < 0 {
		return Field{}, false
	}
	return fields[at], true
}

// structOf returns the name of the struct type that a type is, points to or contains. It is empty
// for other types.
func (s Shape) structOf(t Type) string {
	for t.Elem != nil {
		t = *t.Elem
	}
	if t.Kind != Struct {
		return ""
	}
	return t.Name
}

// structIn is structOf for the type of a field.
func (s Shape) structIn(f Field) string {
	t, err := ParseType(f.Type)
	if err != nil {
		return ""
	}
	return s.structOf(t)
}

// PathOf returns the path of the first field that has the given struct type.
func (s Shape) PathOf(structure string) string {
	seen := map[string]bool{}
	var find func(prefix string, fields []Field) string
	find = func(prefix string, fields []Field) string {
		for _, f := range fields {
			name := s.structIn(f)
			if name == structure {
				return prefix + f.Name
			}
			if name == "" || seen[name] {
				continue
			}
			seen[name] = true
			if found := find(prefix+f.Name+".", s.Types[name]); found != "" {
				return found
			}
		}
		return ""
	}
	return find("", s.Fields)
}

// Names returns the names of the fields, separated by commas.
func (s Shape) Names() string {
	var names []string
	for _, f := range s.Fields {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// Example returns an event of the shape as JSON, without optional fields that have no value. It
// returns false if a required field has an opaque type.
func (s Shape) Example() (text string, ok bool) {
	text = s.object(s.Fields, nil)
	return text, text != ""
}

// example returns a value of a type, or an empty string if none is known. Recursive types end in
// null and in empty lists and maps. within has the enclosing struct types.
func (s Shape) example(t Type, within []string) string {
	const maxItems = 100
	value := ""
	if t.Elem != nil && !slices.Contains(within, s.structOf(*t.Elem)) {
		value = s.example(*t.Elem, within)
	}
	switch {
	case len(s.Enums[t.Enum]) > 0:
		return strconv.Quote(s.Enums[t.Enum][0].Value)
	case t.Kind == Struct:
		return s.object(s.Types[t.Name], append(slices.Clip(within), t.Name))
	case t.Kind == Pointer:
		return cmp.Or(value, "null")
	case t.Kind == Slice && value == "":
		return "[]"
	case t.Kind == Slice:
		return "[" + value + "]"
	case t.Kind == Array && value != "" && t.Len <= maxItems:
		return "[" + strings.TrimSuffix(strings.Repeat(value+",", t.Len), ",") + "]"
	case t.Kind == Map && t.Key.Name == "string" && value != "":
		return `{"example":` + value + "}"
	case t.Kind == Map:
		return "{}"
	case bits(t.Name) > 0:
		return "1"
	}
	return map[string]string{
		"string": `"example"`, "bool": "true", "any": `"example"`, "[]byte": `"ZXhhbXBsZQ=="`,
		"time.Time": `"2026-01-01T00:00:00Z"`, "encoding/json.RawMessage": `"example"`,
	}[t.Name]
}

func (s Shape) object(fields []Field, within []string) string {
	var members []string
	for _, f := range fields {
		t, err := f.ParseType()
		value := s.example(t, within)
		if f.Optional && slices.Contains([]string{"", "null", "[]", "{}"}, value) {
			continue
		}
		if err != nil || value == "" {
			return ""
		}
		if f.Quoted {
			value = strconv.Quote(value)
		}
		members = append(members, strconv.Quote(f.Name)+":"+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}
