package gen

import "strings"

// A Field is a field of a component's input or output, as people and agents type it:
//
//	NAME:TYPE[?][:LIMITS] ["DESCRIPTION"]
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
	Min, Max    string // limits as literals of Go and JSON; "" if there is none
	Description string // one line of text; may be empty
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
