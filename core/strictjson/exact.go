package strictjson

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decodeExactStruct is decodeStruct for objects that have every required key and no unknown one.
func decodeExactStruct(fields []field) decoder {
	byName := make(map[string]int, len(fields))
	required := 0
	for i, f := range fields {
		byName[f.name] = i
		if f.required {
			required++
		}
	}
	return func(data []byte, at int, v reflect.Value) (int, error) {
		next := 0  // keys mostly come in the order of the fields
		found := 0 // required keys; none comes twice in checked data
		end, err := members(data, at, func(key []byte, i int) (int, error) {
			if next >= len(fields) || fields[next].name != string(key) {
				known, ok := byName[string(key)]
				if !ok {
					return i, misfit(fields, data, at)
				}
				next = known
			}
			f := &fields[next]
			next++
			if f.required {
				found++
			}
			end, err := f.decode(data, i, f.of(v))
			if err != nil {
				err = within(string(key), err)
			}
			return end, err
		})
		if err == nil && found < required {
			err = misfit(fields, data, at)
		}
		return end, err
	}
}

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

// exactLength is for the decoder of arrays of n elements.
func exactLength(n int, d decoder) decoder {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		count := 0
		end, err := elements(data, at, func(at int) (int, error) {
			count++
			return skip(data, at), nil
		})
		if err == nil && count != n {
			err = &TypeError{Msg: fmt.Sprintf("must have %d elements, has %d", n, count)}
		}
		if err != nil {
			return end, err
		}
		return d(data, at, v)
	}
}
