package strictjson

import (
	"encoding"
	"errors"
	"reflect"
	"strconv"
)

func decodeStruct(fields map[string]field) decoder {
	return func(raw []byte, v reflect.Value) error {
		if raw[0] != '{' {
			return mismatch("an object", raw)
		}
		return Object(raw, func(key, value []byte) error {
			f, ok := fields[string(key)]
			if !ok {
				return nil
			}
			return within(string(key), f.decode(value, f.of(v)))
		})
	}
}

func decodeMap(t reflect.Type, elem decoder) decoder {
	return func(raw []byte, v reflect.Value) error {
		if raw[0] == 'n' {
			v.SetZero()
			return nil
		}
		if raw[0] != '{' {
			return mismatch("an object", raw)
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(t))
		}
		return Object(raw, func(key, value []byte) error {
			k := reflect.New(t.Key()).Elem()
			if err := decodeKey(string(key), k); err != nil {
				return within(string(key), err)
			}
			e := reflect.New(t.Elem()).Elem()
			if err := elem(value, e); err != nil {
				return within(string(key), err)
			}
			v.SetMapIndex(k, e)
			return nil
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
	return func(raw []byte, v reflect.Value) error {
		if raw[0] == 'n' {
			v.SetZero()
			return nil
		}
		if raw[0] != '[' {
			return mismatch("an array", raw)
		}
		n := 0
		out := reflect.MakeSlice(v.Type(), 0, 0)
		zero := reflect.Zero(v.Type().Elem())
		err := Array(raw, func(value []byte) error {
			out = reflect.Append(out, zero)
			err := within(n, elem(value, out.Index(n)))
			n++
			return err
		})
		v.Set(out)
		return err
	}
}

func decodeArray(elem decoder) decoder {
	return func(raw []byte, v reflect.Value) error {
		if raw[0] != '[' {
			return mismatch("an array", raw)
		}
		n := 0
		err := Array(raw, func(value []byte) error {
			if n++; n > v.Len() {
				return nil
			}
			return within(n-1, elem(value, v.Index(n-1)))
		})
		for ; n < v.Len(); n++ {
			v.Index(n).SetZero()
		}
		return err
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
	return &TypeError{Path: path.Join(e.Path), Msg: e.Msg}
}
