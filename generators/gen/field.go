package gen

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/petrock/petrock/core/plumbing/terminal"
)

// A Field is a field of a component's input or output, written as
//
//	NAME[:TYPE[?][:LIMITS][:/PATTERN/][=DEFAULT]] ["DESCRIPTION"]
//
//	title
//	limit:int:1..100=20 "How many at most"
//	status:enum(open,done)
//	due:date?
//	code:string:/^[A-Z]{3}$/
//	tags:[]string:1..10
//	owner:desk.Member
//
// All parts are validated: names are identifiers, limits are number literals, a default matches the
// type, the limits and the pattern, and a description fits into a line comment. See [ParseField].
type Field struct {
	Name        string // the JSON key, as typed
	Go          string // the name in Go, exported: due_at is DueAt
	Type        FieldType
	Optional    bool
	Min, Max    string  // limits as Go and JSON literals; "" for no limit
	Pattern     string  // regular expression for strings; may be empty
	Default     *string // text of the value of an input field that is left out; nil for none
	Description string  // one line of text; may be empty
}

// Comment returns the line comment of the field, with a space before it. It is empty if the field
// has no description.
func (f Field) Comment() string {
	if f.Description == "" {
		return ""
	}
	return " // " + f.Description
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
	if f.Pattern != "" {
		b.WriteString(":/" + f.Pattern + "/")
	}
	if f.Default != nil && plainDefault.MatchString(*f.Default) {
		b.WriteString("=" + *f.Default)
	} else if f.Default != nil {
		b.WriteString("=" + strconv.Quote(*f.Default))
	}
	if f.Description != "" {
		b.WriteString(" " + strconv.Quote(f.Description))
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
//   - The name starts with an ASCII letter; letters, digits and _ follow. It is the JSON key. A
//     name alone is a string.
//   - The types are string, int, int64, float, bool, time, date, duration, uri, email, uuid, bytes,
//     any, enum(a,b), []TYPE, map[string]TYPE, the Go types of the package, such as Ticket, and
//     those of other packages of the project, such as desk.Member; number and float64 mean float.
//     A ? after the type, the limits or the pattern makes the field optional.
//   - Limits are a..b, a.. or ..b. They apply to the value of a number, the characters of a string,
//     or the items of a list or map. For a length, n means exactly n.
//   - The pattern is a regular expression of Go in slashes, for a string or the strings in a list
//     or map. \/ is a slash.
//   - The default is the value of an input that the caller leaves out. It may be in double quotes,
//     and must be if it has spaces.
//   - The description is in double quotes, after a space or a colon. \" is a quote, \\ a backslash.
//
// initialisms are those of the project, see [Project]. The error names the field, the invalid part
// and the remedy.
func ParseField(text string, initialisms ...string) (Field, error) {
	f, err := parse(strings.Trim(text, " "), initialisms)
	if err != nil {
		return Field{}, fmt.Errorf("field %q: %w", Shorten(text), err)
	}
	return f, nil
}

func parse(text string, initialisms []string) (f Field, err error) {
	switch {
	case text == "":
		return Field{}, errors.New("empty; try title:string")
	case len(text) > maxFieldText:
		return Field{}, fmt.Errorf("%d bytes, at most %d are allowed", len(text), maxFieldText)
	case !utf8.ValidString(text):
		return Field{}, errors.New("not valid UTF-8")
	}
	head, err := f.split(text)
	if err != nil {
		return Field{}, err
	}
	name, rest, typed := cut(head)
	parsed, err := ParseFieldName(name, initialisms...)
	if err != nil {
		return Field{}, fmt.Errorf(`%w; write NAME:TYPE "DESCRIPTION"`, err)
	}
	f.Name, f.Go = name, parsed.Go()
	f.Type.Kind = KindString
	if !typed {
		return f, f.checkRules()
	}
	kind, limits, limited := cut(rest)
	kind, isOptional := strings.CutSuffix(kind, "?")
	if bare, ok := strings.CutSuffix(limits, "?"); ok && !isOptional { // ? may also follow the limits
		limits, isOptional = strings.TrimRight(bare, " "), true
	}
	f.Optional = f.Optional || isOptional
	if f.Type, err = parseType(strings.TrimRight(kind, " "), 0, initialisms); err != nil {
		return Field{}, err
	}
	if limited {
		if f.Min, f.Max, err = parseLimits(limits, f.Type); err != nil {
			return Field{}, err
		}
	}
	return f, f.checkRules()
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

// ParseFields parses the fields of a component and joins all errors. Names must differ in Go, and
// in JSON when case is ignored, since many JSON readers ignore it.
func ParseFields(texts []string, initialisms ...string) ([]Field, error) {
	if len(texts) > maxFields {
		return nil, fmt.Errorf("%d fields, at most %d are allowed; use a map or a list for some of them", len(texts), maxFields)
	}
	var fields []Field
	var problems []error
	for _, text := range texts {
		f, err := ParseField(text, initialisms...)
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
		case f.EnumCode("") != "" && other.EnumCode("") != "" && f.EnumName() == other.EnumName():
			return fmt.Errorf("field %q: the enum of %q has the same Go name %s; rename one of them", Shorten(f.String()), Shorten(other.String()), f.EnumName())
		}
	}
	return nil
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
	KindDate     FieldKind = "date"
	KindDuration FieldKind = "duration"
	KindURI      FieldKind = "uri"
	KindEmail    FieldKind = "email"
	KindUUID     FieldKind = "uuid"
	KindBytes    FieldKind = "bytes"
	KindAny      FieldKind = "any"
	KindEnum     FieldKind = "enum"
	KindList     FieldKind = "[]"
	KindMap      FieldKind = "map[string]"
	KindGo       FieldKind = "a Go type" // a type of the project
)

// kinds are the kinds that are written as their names.
var kinds = []string{"string", "int", "int64", "float", "bool", "time", "date", "duration", "uri", "email", "uuid", "bytes", "any"}

// A FieldType is the type of a field, or of the elements of a list or a map.
type FieldType struct {
	Kind   FieldKind
	Elem   *FieldType  // element type of a list or a map; otherwise nil
	Name   string      // of a Go type, with that of its package if it is another one; otherwise empty
	Values []EnumValue // of an enum, or of a Go type that is one; otherwise nil
	Go     *GoType     // a Go type that [Project.Type] has found; otherwise nil
}

// maxDepth is the maximum nesting of lists and maps.
const maxDepth = 4

var typesHint = strings.Join(kinds, ", ") + ", enum(a,b), []TYPE, map[string]TYPE, and Go types of the project, such as Ticket or desk.Member"

// projectType matches a type of another package: desk.Member or ./internal/desk.Member.
var projectType = regexp.MustCompile(`^(\./)?[A-Za-z0-9_/-]+\.[A-Z][A-Za-z0-9_]*$`)

// String returns the type as typed: map[string][]int.
func (t FieldType) String() string {
	switch {
	case t.Elem != nil:
		return string(t.Kind) + t.Elem.String()
	case t.Kind == KindGo:
		return t.Name
	case t.Kind == KindEnum:
		return "enum(" + strings.Join(t.texts(), ",") + ")"
	}
	return string(t.Kind)
}

func (t FieldType) texts() (texts []string) {
	for _, value := range t.Values {
		texts = append(texts, value.Text)
	}
	return texts
}

// MayBeNil reports whether values of the type can be nil in Go.
func (t FieldType) MayBeNil() bool {
	return slices.Contains([]FieldKind{KindList, KindMap, KindBytes, KindAny}, t.Kind)
}

// IsText reports whether the Go type is a string, or a string type.
func (t FieldType) IsText() bool { return t.Kind == KindEnum || goTypes[t.Kind] == "string" }

// Enum returns the enum that a type is or contains.
func (t FieldType) Enum() (FieldType, bool) {
	for t.Elem != nil {
		t = *t.Elem
	}
	return t, t.Kind == KindEnum
}

// parseType parses a type inside depth lists and maps.
func parseType(text string, depth int, initialisms []string) (FieldType, error) {
	for _, kind := range []FieldKind{KindList, KindMap} {
		rest, ok := strings.CutPrefix(text, string(kind))
		switch {
		case !ok:
			continue
		case depth == maxDepth:
			return FieldType{}, fmt.Errorf("lists and maps are nested more than %d deep; use any instead", maxDepth)
		case rest == "":
			return FieldType{}, fmt.Errorf("%q lacks the element type; try %sstring", text, kind)
		}
		elem, err := parseType(rest, depth+1, initialisms)
		return FieldType{Kind: kind, Elem: &elem}, err
	}
	if inside, ok := strings.CutPrefix(text, "enum("); ok {
		list, closed := strings.CutSuffix(inside, ")")
		if !closed {
			return FieldType{}, errors.New("enum( is not closed; end it with )")
		}
		values, err := ParseValues([]string{list}, initialisms...)
		return FieldType{Kind: KindEnum, Values: values}, err
	}
	instead := typeWords[strings.ToLower(text)]
	switch {
	case slices.Contains(kinds, text):
		return FieldType{Kind: FieldKind(text)}, nil
	case text == "float64" || text == "number":
		return FieldType{Kind: KindFloat}, nil
	case text == "":
		return FieldType{}, errors.New("the type is missing after the colon; the types are " + typesHint)
	case token.IsExported(text) && token.IsIdentifier(text), instead == "" && projectType.MatchString(text):
		return FieldType{Kind: KindGo, Name: text}, nil
	}
	hint := terminal.Suggest(text, kinds)
	if instead != "" {
		hint = "; did you mean " + instead + "?"
	}
	return FieldType{}, fmt.Errorf("%q is not a type; the types are %s%s", Shorten(text), typesHint, hint)
}

// parseQuoted parses a description in double quotes.
func parseQuoted(text string) (string, error) {
	quoted, err := strconv.QuotedPrefix(text)
	switch {
	case err != nil:
		return "", errors.New(`the description is not closed, or has an unknown escape; end it with ", and write \" and \\ in it`)
	case quoted != text:
		return "", errors.New(`unexpected text after the description; write a quote inside it as \"`)
	}
	description, err := strconv.Unquote(quoted)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(strings.TrimSpace(description), "+build") { // gofmt would move the comment to the top of the file
		return "", errors.New("the description starts with +build, which Go reads as a build constraint; start with another word")
	}
	return ParseDescription(description)
}

// A StructCode determines how fields are written in a Go struct.
type StructCode struct {
	Prefix string // of the types of enums: that of the field status is Prefix + Status
	Logged bool   // stored in the event log, so that null and empty must stay distinct
}

// Type returns the Go type of a field. An optional field is a pointer, unless its type can be nil.
func (s StructCode) Type(f Field) string {
	if f.Optional && !f.Type.MayBeNil() {
		return "*" + s.typeOf(f, f.Type)
	}
	return s.typeOf(f, f.Type)
}

func (s StructCode) typeOf(f Field, t FieldType) string {
	switch {
	case t.Kind == KindEnum:
		return s.Prefix + f.EnumName()
	case t.Kind == KindGo:
		return t.Name
	case t.Elem != nil:
		return string(t.Kind) + s.typeOf(f, *t.Elem)
	case t.Kind == KindAny && s.Logged: // decoding into any would change the value
		return "json.RawMessage"
	}
	return cmp.Or(goTypes[t.Kind], string(t.Kind))
}

// goTypes are the Go types of the kinds whose names differ.
var goTypes = map[FieldKind]string{
	"": "string", KindString: "string", KindURI: "string", KindEmail: "string", KindUUID: "string", KindFloat: "float64",
	KindTime: "time.Time", KindDate: "civil.Date", KindDuration: "civil.Duration", KindBytes: "[]byte",
}

// EnumName returns the name of the type of the field's enum, without a prefix: the Go name, in the
// singular for a list or map.
func (f Field) EnumName() string {
	if f.Type.Elem == nil {
		return f.Go
	}
	return singularIdent(f.Go)
}

// EnumCode declares the type of the field's enum, named typ, and its constants. It returns "" if
// the field has no enum.
func (f Field) EnumCode(typ string) string {
	enum, ok := f.Type.Enum()
	if !ok {
		return ""
	}
	return fmt.Sprintf("\n// %s is one of the values of %s.\n", typ, f.Name) + enum.Declare(typ, f.Name)
}

// Declare declares an enum, named typ, without its doc comment, and its constants. of is what has
// the values.
func (t FieldType) Declare(typ, of string) string {
	text := fmt.Sprintf("type %s string\n\n// The values of %s.\nconst (\n", typ, of)
	for _, value := range t.Values {
		text += fmt.Sprintf("%s%s %[1]s = %[3]q\n", typ, value.Go, value.Text)
	}
	return text + ")\n"
}

// Tag returns the struct tag of a field, without its quotes. settings are further settings of the
// tag schema, such as default=20.
func (s StructCode) Tag(f Field, settings ...string) string {
	text := `json:"` + f.Name
	switch {
	case f.Optional && s.Logged && f.Type.MayBeNil():
		text += ",omitzero"
	case f.Optional:
		text += ",omitempty"
	}
	text += `"`
	var limits []string
	for _, limit := range [][2]string{{"min=", f.Min}, {"max=", f.Max}, {"pattern=", tagValue(f.Pattern)}, {"format=", f.Format()}} {
		if limit[1] != "" {
			limits = append(limits, limit[0]+limit[1])
		}
	}
	if f.Default != nil {
		limits = append(limits, "default="+tagValue(*f.Default))
	}
	if limits = append(limits, settings...); len(limits) > 0 {
		text += " schema:" + strconv.Quote(strings.Join(limits, ","))
	}
	return text
}

// Format returns the format of a string, or of the strings in a list or map, as the struct tag
// schema has it, or "".
func (f Field) Format() string {
	inner, _ := f.Type.Enum()
	if slices.Contains([]FieldKind{KindURI, KindEmail, KindUUID}, inner.Kind) {
		return string(inner.Kind)
	}
	return ""
}

// tagValue returns a value of a setting of the tag schema, in single quotes if it needs them.
func tagValue(text string) string {
	if !strings.ContainsAny(text, ",'") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// DocSentence returns the doc comment of name with a description: "Sends a mail." becomes "Name
// sends a mail.", "A ticket." becomes "Name is a ticket.", and "How it is set up." becomes "Name:
// how it is set up." One that begins with the name stays, as does an empty one.
func DocSentence(name, description string) string {
	if description == "" || strings.HasPrefix(description, name+" ") {
		return description
	}
	first, size := utf8.DecodeRuneInString(description)
	if next, _ := utf8.DecodeRuneInString(description[size:]); unicode.IsUpper(next) { // an abbreviation
		return name + ": " + description
	}
	text := string(unicode.ToLower(first)) + description[size:]
	word, _, _ := strings.Cut(text, " ")
	switch word = strings.TrimRight(word, ".,:;"); {
	case slices.Contains([]string{"a", "an", "the", "all", "every", "each", "one"}, word):
		return name + " is " + text
	case strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss"): // a verb, as in "sends"
		return name + " " + text
	}
	return name + ": " + text
}
