package gen

import "strings"

// A Field is one field of what a component takes or gives.
type Field struct {
	Name        string // the key in JSON, as it was typed
	Go          string // the name in Go, exported: due_at is DueAt
	Type        FieldType
	Optional    bool
	Min, Max    string // limits, as literals that Go and JSON read alike; "" if there is none
	Description string // one line of text; "" if none was given
}

// String is the field as [ParseField] reads it, in the one form that equal fields share.
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
