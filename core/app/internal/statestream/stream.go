// Package statestream encodes the state of a feature as a stream, and decodes it: for snapshots,
// and to compare states.
//
// A stream is lines, which are encoded and decoded one by one. A value whose JSON is short is one
// line. Any other is a line "(" with its number of parts, the parts, and a line ")":
//
//   - for each field of a struct, in order, a line {"KEY":VALUE}, or a line "KEY" and a long value;
//   - for the entries of a map, sorted, lines {"KEY":VALUE,…}, or a line "KEY" and a long value;
//   - for the elements of a slice or array, lines [VALUE,…], or a long value.
//
// The same state always has the same stream. Values of types with methods for JSON are one line.
package statestream

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/plumbing/jsonfield"
)

// Check returns an error if a stream cannot hold all of a state of a type.
func Check(t reflect.Type) error {
	return checkEncodable(t, t.Name(), map[reflect.Type]bool{})
}

// checkEncodable returns an error if JSON loses a part of a type: unexported fields, the types of
// interface values, or, with omitempty, empty maps, which become nil.
func checkEncodable(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	if p := reflect.PointerTo(t); seen[t] || p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return checkEncodable(t.Elem(), path, seen)
	case reflect.Map:
		return errors.Join(checkEncodable(t.Key(), path, seen), checkEncodable(t.Elem(), path, seen))
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return fmt.Errorf("%s is a %s", path, t.Kind())
	case reflect.Struct:
		for field := range t.Fields() {
			if !field.IsExported() || strings.HasPrefix(field.Tag.Get("json"), "-") {
				return fmt.Errorf("%s.%s is not encoded as JSON", path, field.Name)
			}
			if _, options, _ := strings.Cut(field.Tag.Get("json"), ","); field.Type.Kind() == reflect.Map && slices.Contains(strings.Split(options, ","), "omitempty") {
				return fmt.Errorf("%s.%s is omitted when empty and becomes nil (remove omitempty)", path, field.Name)
			}
			if err := checkEncodable(field.Type, path+"."+field.Name, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxPiece is the size in bytes from which a value with parts takes several lines.
const maxPiece = 32 << 10

// typeCache caches the properties of types that decide the lines of a stream.
type typeCache struct {
	splits map[reflect.Type]split
	fields map[reflect.Type][]field
}

// A split tells whether values of a type have parts.
type split int

const (
	whole split = iota // no: the type has methods for JSON, or no parts
	fixed              // a fixed number, so that a value is one line anyway
	many               // any number
)

// A field is a field of a struct.
type field struct {
	key    string
	index  []int
	single reflect.Type // struct with this field only
}

func newTypeCache() typeCache {
	return typeCache{map[reflect.Type]split{}, map[reflect.Type][]field{}}
}

// splitOf returns whether values of a type have parts.
func (t typeCache) splitOf(of reflect.Type) split {
	s, known := t.splits[of]
	if !known {
		t.splits[of] = fixed // for types that contain themselves
		s = t.findSplit(of)
		t.splits[of] = s
	}
	return s
}

func (t typeCache) findSplit(of reflect.Type) split {
	p := reflect.PointerTo(of)
	if p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return whole
	}
	switch of.Kind() {
	case reflect.Map:
		return many
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return whole
		}
		return many
	case reflect.Pointer, reflect.Array:
		return max(fixed, t.splitOf(of.Elem()))
	case reflect.Struct:
		s := fixed
		for _, f := range jsonfield.Encoded(of) {
			if f.Indirect {
				return whole // the field is absent if the embedded pointer is nil
			}
			s = max(s, t.splitOf(f.Type))
		}
		return s
	}
	return whole
}

// fieldsOf returns the fields of a struct type with parts.
func (t typeCache) fieldsOf(of reflect.Type) []field {
	if found, ok := t.fields[of]; ok {
		return found
	}
	var all []field
	for _, f := range jsonfield.Encoded(of) {
		_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		tag := reflect.StructTag("json:" + strconv.Quote(f.Key+","+options))
		all = append(all, field{f.Key, f.Index, reflect.StructOf([]reflect.StructField{{Name: "F", Type: f.Type, Tag: tag}})})
	}
	t.fields[of] = all
	return all
}

// isShort reports whether the JSON of a value fits into budget, approximately. It reduces budget.
func (t typeCache) isShort(v reflect.Value, budget *int) bool {
	const each = 16 // bytes of a number, or of quotes, comma and key
	*budget -= each
	isWhole := t.splitOf(v.Type()) == whole
	switch v.Kind() {
	case reflect.String:
		*budget -= v.Len()
	case reflect.Pointer:
		return v.IsNil() || t.isShort(v.Elem(), budget)
	case reflect.Slice, reflect.Array:
		if isWhole {
			*budget -= v.Len()
			break
		}
		for i := 0; i < v.Len() && *budget > 0; i++ {
			t.isShort(v.Index(i), budget)
		}
	case reflect.Map:
		for entries := v.MapRange(); !isWhole && *budget > 0 && entries.Next(); {
			*budget -= each
			t.isShort(entries.Value(), budget)
		}
	case reflect.Struct:
		if isWhole {
			break
		}
		for _, f := range t.fieldsOf(v.Type()) {
			t.isShort(v.FieldByIndex(f.index), budget)
		}
	}
	return *budget > 0
}
