package contract

import (
	"cmp"
	"fmt"
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
func (old Shape) LostValues(now Shape) (lost []string) {
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
		"./core/civil.Date": `"2026-01-01"`, "./core/civil.Duration": `"1h"`,
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

// A Change is one difference between two shapes.
type Change struct {
	Path     string // JSON names of the field and its parents, joined by dots
	What     string // such as "was removed"
	Breaking bool   // whether events of the old shape do not fit the new one
	Added    bool   // whether the field was added
	Removed  bool   // whether the field was removed
	Version  int    // the older version of the command that changed; 0 for the current one
}

// Changes lists the differences between a shape and a newer one that matter to events.
func (old Shape) Changes(now Shape) []Change {
	c := comparer{old: old, now: now, seen: map[[2]string]bool{}}
	c.compareFields("", old.Fields, now.Fields)
	return c.found
}

const (
	removed = "was removed"
	added   = "was added"
)

// Breaks reports whether events of the old shape do not fit the new one.
func (old Shape) Breaks(now Shape) bool {
	return slices.ContainsFunc(old.Changes(now), func(c Change) bool { return c.Breaking })
}

// Describe describes changes in one line: field url was removed, href was added.
func Describe(changes []Change) string {
	var phrases []string
	for _, c := range changes {
		if c.Version > 0 {
			c.Path += fmt.Sprintf(" of version %d", c.Version)
		}
		phrase := strings.TrimSpace(c.Path + " " + c.What)
		if c.Path != "" && len(phrases) == 0 {
			phrase = "field " + phrase
		}
		phrases = append(phrases, phrase)
	}
	return strings.Join(phrases, ", ")
}

// Renamed returns OLD=NEW if one field was removed and one added, which is probably a rename.
// Otherwise it returns an empty string.
func Renamed(changes []Change) string {
	if len(changes) != 2 || !changes[0].Removed || !changes[1].Added || changes[0].Version > 0 {
		return ""
	}
	return changes[0].Path + "=" + changes[1].Path
}

type comparer struct {
	old, now Shape
	seen     map[[2]string]bool // pairs of struct types compared so far
	found    []Change
}

func (c *comparer) note(path, what string, breaking bool) {
	c.found = append(c.found, Change{Path: path, What: what, Breaking: breaking})
}

func (c *comparer) compareFields(path string, old, now []Field) {
	if path != "" {
		path += "."
	}
	for _, was := range old {
		is, ok := findField(now, was.Name)
		switch at := path + was.Name; {
		case !ok:
			c.found = append(c.found, Change{Path: at, What: removed, Breaking: true, Removed: true})
		case was.Optional && !is.Optional:
			c.note(at, "is no longer optional", true)
		case was.Quoted != is.Quoted || !c.fits(at, was.Type, is.Type):
			c.note(at, "changed from "+was.encodedType()+" to "+is.encodedType(), true)
		case was.Go != is.Go && slices.ContainsFunc(old, func(f Field) bool { return f.Go == is.Go && f.Name != was.Name }):
			c.note(at, "is now read as "+is.Go+", which was another field", true)
		case was.Optional != is.Optional:
			c.note(at, "became optional", false)
		}
	}
	for _, is := range now {
		if _, ok := findField(old, is.Name); !ok {
			c.found = append(c.found, Change{Path: path + is.Name, What: added, Breaking: !is.Optional, Added: true})
		}
	}
}

func (f Field) encodedType() string {
	if f.Quoted {
		return f.Type + " in a string"
	}
	return f.Type
}

// fits reports whether values of the old type can be read as the new one, with the same meaning. It
// does not count differences inside structs, but notes them.
func (c *comparer) fits(path, old, now string) bool {
	was, oldErr := ParseType(old)
	is, err := ParseType(now)
	return oldErr == nil && err == nil && c.typeFits(path, was, is)
}

func (c *comparer) typeFits(path string, was, is Type) bool {
	switch {
	case is.Kind == Any:
		return true
	case is.Kind == Pointer && was.Kind != Pointer:
		return c.typeFits(path, was, *is.Elem)
	case was.Kind == Array && is.Kind == Slice:
		return c.typeFits(path, *was.Elem, *is.Elem)
	case was.Kind != is.Kind:
		return false // a pointer may have been null
	}
	switch was.Kind {
	case Basic:
		return Holds(is.Name, was.Name)
	case Opaque:
		return was.Name == is.Name
	case Array:
		return was.Len == is.Len && c.typeFits(path, *was.Elem, *is.Elem)
	case Pointer, Slice:
		return c.typeFits(path, *was.Elem, *is.Elem)
	case Map:
		return c.typeFits(path, *was.Key, *is.Key) && c.typeFits(path, *was.Elem, *is.Elem)
	case Struct:
		if pair := [2]string{was.Name, is.Name}; !c.seen[pair] {
			c.seen[pair] = true
			c.compareFields(path, c.old.Types[was.Name], c.now.Types[is.Name])
		}
	}
	return true
}
