package strictjson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// misfit is the error for the checked object at data[at], which has unknown keys or lacks required
// ones. It names them all.
func misfit(fields []field, data []byte, at int) error {
	e := &TypeError{}
	for _, f := range fields {
		if f.required {
			e.Missing = append(e.Missing, f.name)
		}
	}
	_, _ = members(data, at, func(key []byte, i int) (int, error) {
		name := string(key)
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			e.Unknown = append(e.Unknown, name)
		}
		e.Missing = slices.DeleteFunc(e.Missing, func(m string) bool { return m == name })
		return skip(data, i), nil
	})
	parts := append(listed(e.Unknown, "unknown"), listed(e.Missing, "missing")...)
	noun := "field "
	if len(e.Unknown) > 1 || len(e.Unknown) == 0 && len(e.Missing) > 1 {
		noun = "fields "
	}
	e.Msg = noun + strings.Join(parts, ", ")
	return e
}

// listed says of names what they are, such as "a", "b" are unknown. It is empty for none.
func listed(names []string, are string) []string {
	const most = 10
	var quoted []string
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, strconv.Quote(name))
	}
	text := strings.Join(quoted, ", ")
	switch {
	case len(names) == 0:
		return nil
	case len(names) == 1:
		return []string{text + " is " + are}
	case len(names) > most:
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return []string{text + " are " + are}
}
