package gen

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
	"": "string", KindFloat: "float64", KindTime: "time.Time", KindDuration: "time.Duration", KindBytes: "[]byte",
}

// EnumName returns the name of the type of the field's enum, without a prefix: the Go name, in the
// singular for a list or map.
func (f Field) EnumName() string {
	if f.Type.Elem == nil {
		return f.Go
	}
	return singularIdent(f.Go)
}

// EnumCode declares the type of the field's enum, named typ, and its constants. It returns "" if the
// field has no enum.
func (f Field) EnumCode(typ string) string {
	enum, ok := f.Type.Enum()
	if !ok {
		return ""
	}
	text := fmt.Sprintf("\n// %s is one of the values of %s.\ntype %[1]s string\n\n// The values of %[2]s.\nconst (\n", typ, f.Name)
	for _, value := range enum.Values {
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
	if f.Min != "" {
		limits = append(limits, "min="+f.Min)
	}
	if f.Max != "" {
		limits = append(limits, "max="+f.Max)
	}
	if limits = append(limits, settings...); len(limits) > 0 {
		text += ` schema:"` + strings.Join(limits, ",") + `"`
	}
	return text
}

// DocSentence returns a description as it follows a name in a doc comment: "Sends a mail." is
// "sends a mail.", and "A ticket with its comments." is "is a ticket with its comments."
func DocSentence(description string) string {
	first, size := utf8.DecodeRuneInString(description)
	if next, _ := utf8.DecodeRuneInString(description[size:]); size == 0 || unicode.IsUpper(next) { // an abbreviation
		return description
	}
	text := string(unicode.ToLower(first)) + description[size:]
	switch word, _, _ := strings.Cut(text, " "); word {
	case "a", "an", "the", "all", "every", "each", "one": // not a verb
		return "is " + text
	}
	return text
}
