package strictjson

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

func (p plans) decodeStruct(fields []field) decoder {
	byName := make(map[string]int, len(fields))
	required := 0
	for i, f := range fields {
		if byName[f.name] = i; p.exact && f.required {
			required++
		}
	}
	return func(data []byte, at int, v reflect.Value) (int, error) {
		next := 0  // keys mostly come in the order of the fields
		found := 0 // required keys; none comes twice in checked data
		end, err := members(data, at, func(key []byte, i int) (int, error) {
			if next >= len(fields) || fields[next].name != string(key) {
				known, ok := byName[string(key)]
				if !ok && p.exact {
					return i, misfit(fields, data, at)
				}
				if !ok {
					return skip(data, i), nil
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

func decodeMap(t reflect.Type, elem decoder) decoder {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if data[at] == 'n' {
			v.SetZero()
			return at + len("null"), nil
		}
		if v.IsNil() && data[at] == '{' {
			v.Set(reflect.MakeMap(t))
		}
		k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		return members(data, at, func(key []byte, at int) (int, error) {
			k.SetZero()
			e.SetZero()
			err := decodeKey(string(key), k)
			end := at
			if err == nil {
				end, err = elem(data, at, e)
			}
			if err != nil {
				return end, within(string(key), err)
			}
			v.SetMapIndex(k, e)
			return end, nil
		})
	}
}

// decodeKey sets a map's key from the text that it is in JSON.
func decodeKey(text string, k reflect.Value) error {
	if u, ok := k.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return typeError(u.UnmarshalText([]byte(text)))
	}
	switch k.Kind() {
	case reflect.String:
		k.SetString(text)
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n, err := strconv.ParseInt(text, 10, k.Type().Bits()); err == nil {
			k.SetInt(n)
			return nil
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if n, err := strconv.ParseUint(text, 10, k.Type().Bits()); err == nil {
			k.SetUint(n)
			return nil
		}
	}
	return &TypeError{Msg: "a key that does not fit in " + k.Type().String()}
}

func decodeSlice(elem decoder) decoder {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if data[at] == 'n' {
			v.SetZero()
			return at + len("null"), nil
		}
		if data[at] == '[' {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		n := 0
		return elements(data, at, func(at int) (int, error) {
			v.Grow(1)
			v.SetLen(n + 1)
			end, err := elem(data, at, v.Index(n))
			if err != nil {
				err = within(n, err)
			}
			n++
			return end, err
		})
	}
}

func (p plans) decodeArray(elem decoder) decoder {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		n := 0
		end, err := elements(data, at, func(at int) (int, error) {
			if n++; n > v.Len() {
				return skip(data, at), nil
			}
			end, err := elem(data, at, v.Index(n-1))
			if err != nil {
				err = within(n-1, err)
			}
			return end, err
		})
		if err == nil && p.exact && n != v.Len() {
			err = &TypeError{Msg: fmt.Sprintf("must have %d elements, has %d", v.Len(), n)}
		}
		for ; n < v.Len() && data[at] == '['; n++ {
			v.Index(n).SetZero()
		}
		return end, err
	}
}

// within adds one step, a key or an index, to the front of an error's path.
func within[Step string | int](step Step, err error) error {
	var e *TypeError
	if !errors.As(err, &e) {
		return err
	}
	var path Path
	switch s := any(step).(type) {
	case string:
		path = path.Key(s)
	case int:
		path = path.Index(s)
	}
	return &TypeError{Path: path.Join(e.Path), Msg: e.Msg, Unknown: e.Unknown, Missing: e.Missing}
}
