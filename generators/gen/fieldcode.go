package gen

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A StructCode says how fields are written in a struct.
type StructCode struct {
	Prefix string // of the types of enums: the field status has the type Prefix + Status
	Logged bool   // stored in the event log, so that null and empty must stay distinct
}

// Type returns the Go type of a field. An optional field is a pointer, unless its type can be nil.
func (s StructCode) Type(f Field) string {
	if f.Optional && !f.Type.MayBeNil() {
		return "*" + s.typeOf(f, f.Type)
	}
	return s.typeOf(f, f.Type)
}

// MayBeNil reports whether values of the type can be nil in Go.
func (t FieldType) MayBeNil() bool {
	return slices.Contains([]FieldKind{KindList, KindMap, KindBytes, KindAny}, t.Kind)
}

// Enum returns the enum that a type is or contains.
func (t FieldType) Enum() (FieldType, bool) {
	for t.Elem != nil {
		t = *t.Elem
	}
	return t, t.Kind == KindEnum
}

func (s StructCode) typeOf(f Field, t FieldType) string {
	switch t.Kind {
	case "":
		return "string"
	case KindFloat:
		return "float64"
	case KindTime:
		return "time.Time"
	case KindDuration:
		return "time.Duration"
	case KindBytes:
		return "[]byte"
	case KindEnum:
		return s.Prefix + f.Go
	case KindGo:
		return t.Name
	case KindList, KindMap:
		return string(t.Kind) + s.typeOf(f, *t.Elem)
	case KindAny:
		if s.Logged { // decoding into any would change the value
			return "json.RawMessage"
		}
	}
	return string(t.Kind) // the same in Go
}

// Tag returns the struct tag of a field, without its quotes. settings are further settings of the tag
// schema, such as default=20.
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

// DocSentence returns a description as it follows a name in a doc comment: "Sends a mail." is "sends a
// mail.", and "A ticket with its comments." is "is a ticket with its comments."
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
