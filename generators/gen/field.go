package gen

import (
	"errors"
	"fmt"
	"go/token"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Field is a field of a component's input or output, written as
//
//	NAME[:TYPE[?][:LIMITS]] ["DESCRIPTION"]
//
//	title
//	limit:int:1..100 "How many at most"
//	status:enum(open,done)
//	due:time?
//	tags:[]string:1..10
//
// All parts are validated: names are identifiers, limits are number literals, and a description fits
// into a line comment. See [ParseField].
type Field struct {
	Name        string // the JSON key, as typed
	Go          string // the name in Go, exported: due_at is DueAt
	Type        FieldType
	Optional    bool
	Min, Max    string // limits as Go and JSON literals; "" for no limit
	Description string // one line of text; may be empty
}

// Comment returns the Go comment of the field, which is also its description in schemas: the
// description if there is one, else the name in words.
func (f Field) Comment() string {
	if f.Description != "" {
		return f.Description
	}
	text := strings.ReplaceAll(f.Name, "_", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// String returns the field in its canonical form, which [ParseField] reads.
func (f Field) String() string {
	var b strings.Builder
	b.WriteString(f.Name + ":" + f.Type.String())
	if f.Optional {
		b.WriteByte('?')
	}
	if f.Min != "" || f.Max != "" {
		b.WriteString(":" + f.Min + ".." + f.Max)
	}
	if f.Description != "" {
		b.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(f.Description) + `"`)
	}
	return b.String()
}

// Limits of the input.
const (
	maxFieldText = 10_000 // bytes; valid fields are shorter
	maxFields    = 100
)

// ParseField parses a field.
//
//   - The name starts with an ASCII letter; letters, digits and _ follow. It is the JSON key. A name
//     alone is a string.
//   - The types are string, int, int64, float, bool, time, duration, bytes, any, enum(a,b),
//     []TYPE and map[string]TYPE. A ? after the type makes the field optional.
//   - Limits are a..b, a.. or ..b. They apply to the value of a number, the characters of a string, or
//     the items of a list or map. For a length, n means exactly n.
//   - The description is in double quotes, after a space or a colon. \" is a quote, \\ a backslash.
//
// The error names the field, the invalid part and the remedy.
func ParseField(text string) (Field, error) {
	f, err := parse(strings.Trim(text, " "))
	if err != nil {
		return Field{}, fmt.Errorf("field %q: %w", Shorten(text), err)
	}
	return f, nil
}

func parse(text string) (f Field, err error) {
	switch {
	case text == "":
		return Field{}, errors.New("empty; try title:string")
	case len(text) > maxFieldText:
		return Field{}, fmt.Errorf("%d bytes, at most %d are allowed", len(text), maxFieldText)
	case !utf8.ValidString(text):
		return Field{}, errors.New("not valid UTF-8")
	}
	head, quoted, described := strings.Cut(text, `"`)
	if described {
		if f.Description, err = parseQuoted(quoted); err != nil {
			return Field{}, err
		}
		if head, err = cutSeparator(head); err != nil {
			return Field{}, err
		}
	}
	name, rest, typed := cut(head)
	if err := f.setName(name); err != nil {
		return Field{}, err
	}
	f.Type.Kind = KindString
	if !typed {
		return f, nil
	}
	if kind, value, ok := strings.Cut(rest, "="); ok {
		return Field{}, fmt.Errorf("a default is not part of a field; write %s:%s, then add default=%s to the schema tag of the field in Go, and run petrock sync", name, strings.TrimSpace(kind), strings.TrimSpace(value))
	}
	kind, limits, limited := cut(rest)
	kind, f.Optional = strings.CutSuffix(kind, "?")
	if bare, ok := strings.CutSuffix(limits, "?"); ok && !f.Optional { // ? may also follow the limits
		limits, f.Optional = strings.TrimRight(bare, " "), true
	}
	if f.Type, err = parseType(strings.TrimRight(kind, " "), 0); err != nil {
		return Field{}, err
	}
	if limited {
		f.Min, f.Max, err = parseLimits(limits, f.Type)
	}
	return f, err
}

func cutSeparator(head string) (string, error) {
	bare := strings.TrimRight(head, " ")
	bare, colon := strings.CutSuffix(bare, ":")
	if !colon && bare == head && head != "" {
		return "", errors.New(`a space or colon is missing before the description: title:string "Title of the post"`)
	}
	return bare, nil
}

// cut splits text at the first colon outside parentheses, and trims spaces.
func cut(text string) (before, after string, found bool) {
	skip := 0
	if mark := strings.IndexAny(text, "(:"); mark >= 0 && text[mark] == '(' {
		skip = max(mark, strings.IndexByte(text, ')'))
	}
	before, after, found = strings.Cut(text[skip:], ":")
	return strings.Trim(text[:skip]+before, " "), strings.Trim(after, " "), found
}

func (f *Field) setName(text string) error {
	name, err := ParseFieldName(text)
	if bare, ok := strings.CutSuffix(text, "?"); ok {
		if _, err := ParseFieldName(bare); err == nil {
			return fmt.Errorf("write the ? after the type, as in %s:string?", bare)
		}
	}
	switch {
	case err == nil:
		f.Name, f.Go = text, name.Go()
		return nil
	case text == "":
		return errors.New("the name is missing; try title:string")
	case strings.Contains(text, " "):
		first, rest, _ := strings.Cut(text, " ")
		if joined := strings.ReplaceAll(text, " ", "_"); !strings.Contains(rest, " ") && check(joined, "_", maxFieldName) == nil {
			return fmt.Errorf("a name has no spaces; write %s, or %s %q for a description", joined, first, rest)
		}
		return fmt.Errorf("%w; write a description in double quotes, and in a shell the whole field in single quotes", err)
	}
	return err
}

// ParseFields parses the fields of a component and joins all errors. Names must differ in Go, and in
// JSON when case is ignored, since many JSON readers ignore it.
func ParseFields(texts []string) ([]Field, error) {
	if len(texts) > maxFields {
		return nil, fmt.Errorf("%d fields, at most %d are allowed; use a map or a list for some of them", len(texts), maxFields)
	}
	var fields []Field
	var problems []error
	for _, text := range texts {
		f, err := ParseField(text)
		if err == nil {
			err = f.checkDistinct(fields)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		fields = append(fields, f)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return fields, nil
}

func (f Field) checkDistinct(others []Field) error {
	for _, other := range others {
		switch {
		case f.Name == other.Name:
			return fmt.Errorf("two fields are named %q; rename one", f.Name)
		case strings.EqualFold(f.Name, other.Name):
			return fmt.Errorf("field %q: the name of %q differs only in case, which JSON readers may ignore; rename one of them", Shorten(f.String()), Shorten(other.String()))
		case f.Go == other.Go:
			return fmt.Errorf("field %q: %q has the same Go name %s; rename one of them", Shorten(f.String()), Shorten(other.String()), f.Go)
		}
	}
	return nil
}

// first quotes the first character of a text, with its code point if it is not ASCII.
func first(text string) string {
	r, _ := utf8.DecodeRuneInString(text)
	if r > 0x7f {
		return fmt.Sprintf("%q (%U)", r, r)
	}
	return fmt.Sprintf("%q", r)
}

// A FieldKind is the kind of a type. Except for enums, lists and maps it is the whole type.
type FieldKind string

// The kinds.
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
	KindGo       FieldKind = "a Go type" // a type of the component's package
)

// A FieldType is the type of a field, or of the elements of a list or a map.
type FieldType struct {
	Kind   FieldKind
	Elem   *FieldType  // element type of a list or a map; otherwise nil
	Name   string      // of a Go type; otherwise empty
	Values []EnumValue // of an enum, or of a Go type that is one; otherwise nil
}

// maxDepth is the maximum nesting of lists and maps.
const maxDepth = 4

const typesHint = "string, int, int64, float, bool, time, duration, bytes, any, enum(a,b), []TYPE, map[string]TYPE, and Go types of the package, such as Ticket"

// String returns the type as typed: map[string][]int.
func (t FieldType) String() string {
	switch {
	case t.Elem != nil:
		return string(t.Kind) + t.Elem.String()
	case t.Kind == KindGo:
		return t.Name
	case t.Kind == KindEnum:
		texts := make([]string, len(t.Values))
		for i, value := range t.Values {
			texts[i] = value.Text
		}
		return "enum(" + strings.Join(texts, ",") + ")"
	}
	return string(t.Kind)
}

// parseType parses a type inside depth lists and maps.
func parseType(text string, depth int) (FieldType, error) {
	for _, kind := range []FieldKind{KindList, KindMap} {
		rest, ok := strings.CutPrefix(text, string(kind))
		switch {
		case !ok || text == "[]byte":
			continue
		case depth == maxDepth:
			return FieldType{}, fmt.Errorf("lists and maps are nested more than %d deep; use any instead", maxDepth)
		case rest == "":
			return FieldType{}, fmt.Errorf("%q lacks the element type; try %sstring", text, kind)
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
		return FieldType{}, errors.New("the type is missing after the colon; the types are " + typesHint)
	}
	better := suggestType(text)
	if token.IsExported(text) && token.IsIdentifier(text) && better == "" {
		return FieldType{Kind: KindGo, Name: text}, nil
	}
	return FieldType{}, fmt.Errorf("%q is not a type%s; the types are %s", Shorten(text), better, typesHint)
}

// suggestType suggests a type for the name of a type in another language.
func suggestType(text string) string {
	lower, name := strings.ToLower(text), text
	if !token.IsExported(text) { // else it may be a Go type
		name = lower
	}
	for better, names := range map[string]string{
		"string":         "str text char uuid url email",
		"int":            "integer int8 int16 int32 uint uint8 uint16 uint32 uint64 long",
		"float":          "double float32 decimal",
		"bool":           "boolean",
		"time":           "time.time date datetime date-time timestamp",
		"duration":       "time.duration",
		"bytes":          "byte []byte blob binary base64",
		"any":            "interface{} json json.rawmessage",
		"map[string]any": "object map dict",
		"[]string":       "array list slice",
		"enum(a,b)":      "enum",
	} {
		if slices.Contains(strings.Fields(names), name) {
			return "; try " + better
		}
	}
	if lower == text { // else String, Int
		return ""
	}
	if _, err := parseType(lower, maxDepth); err != nil {
		return ""
	}
	return "; try " + Shorten(lower)
}

// OtherSample returns a valid value of the field that differs from [Field.Sample], for generated tests.
// It returns false if the limits allow none, and for durations, bytes, any, lists and maps.
func (f Field) OtherSample() (any, bool) {
	switch f.Type.Kind {
	case KindString:
		const other = "changed"
		n := f.size(int64(len(other)))
		return strings.Repeat(other, n/len(other)+1)[:n], n > 0
	case KindInt, KindInt64:
		n := f.Sample().(int64)
		switch {
		case n < math.MaxInt64 && (f.Max == "" || n < parseInt(f.Max)):
			return n + 1, true
		case n > math.MinInt64 && (f.Min == "" || n > parseInt(f.Min)):
			return n - 1, true
		}
	case KindFloat:
		n := f.Sample().(float64)
		for _, other := range []float64{n + 1, n - 1, n/2 + parseFloat(f.Min)/2, n/2 + parseFloat(f.Max)/2} {
			if other != n && (f.Min == "" || other >= parseFloat(f.Min)) && (f.Max == "" || other <= parseFloat(f.Max)) {
				return other, true
			}
		}
	case KindBool:
		return false, true
	case KindTime:
		return "2026-02-03T16:05:06Z", true
	case KindEnum, KindGo:
		if len(f.Type.Values) == 0 {
			return nil, false
		}
		last := f.Type.Values[len(f.Type.Values)-1].Text
		return last, len(f.Type.Values) > 1
	}
	return nil, false
}

const maxDescription = 1000 // characters

// parseQuoted parses a description from its opening quote to its closing quote. It trims spaces.
func parseQuoted(text string) (string, error) {
	var b strings.Builder
	escaped, closed := false, false
	for _, r := range text {
		switch {
		case closed:
			return "", errors.New(`unexpected text after the description; write a quote inside it as \"`)
		case escaped && r != '"' && r != '\\':
			return "", fmt.Errorf(`unknown escape \%c in the description; use \" or \\`, printable(r))
		case escaped:
			escaped = false
			b.WriteRune(r)
		case r == '\\':
			escaped = true
		case r == '"':
			closed = true
		case !IsText(r):
			return "", fmt.Errorf("%s is not allowed in the description; write one line of plain text", first(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	if !closed {
		return "", errors.New(`the description is not closed; end it with "`)
	}
	description := strings.TrimSpace(b.String())
	if strings.HasPrefix(description, "+build") { // gofmt would move the comment to the top of the file
		return "", errors.New("the description starts with +build, which Go reads as a build constraint; start with another word")
	}
	if n := utf8.RuneCountInString(description); n > maxDescription {
		return "", fmt.Errorf("the description has %d characters, at most %d are allowed", n, maxDescription)
	}
	return description, nil
}

// IsText reports whether a description may contain a character. Line breaks would end the Go comment.
// Other control, invisible and bidirectional characters could hide text. Joiners are allowed: some
// scripts and emoji need them.
func IsText(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r == nonJoiner || r == joiner || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return utf8.RuneError
}
