package statestream

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"

	"github.com/petrock/petrock/core/strictjson"
)

// Write writes the stream of a state.
func Write(out io.Writer, state any) error {
	return newWriter(out, maxPiece).value(reflect.ValueOf(state), 0)
}

// A writer writes a stream.
type writer struct {
	typeCache
	out     io.Writer
	limit   int          // maxPiece, except in tests
	piece   bytes.Buffer // the line so far
	encoder *json.Encoder
}

func newWriter(out io.Writer, limit int) *writer {
	w := &writer{typeCache: newTypeCache(), out: out, limit: limit}
	w.encoder = json.NewEncoder(&w.piece)
	w.encoder.SetEscapeHTML(false)
	return w
}

// value writes a value.
func (w *writer) value(v reflect.Value, depth int) error {
	if w.isOneLine(v) {
		return w.line(v)
	}
	if depth >= strictjson.MaxDepth {
		return fmt.Errorf("the state is nested deeper than %d levels", strictjson.MaxDepth)
	}
	depth++
	switch v.Kind() {
	case reflect.Pointer:
		return w.value(v.Elem(), depth)
	case reflect.Struct:
		return w.structure(v, depth)
	case reflect.Map:
		return w.mapping(v, depth)
	}
	return w.list(v, depth)
}

// isOneLine reports whether a value is one line, or a part of one.
func (w *writer) isOneLine(v reflect.Value) bool {
	budget := w.limit
	return w.splitOf(v.Type()) != many || w.isShort(v, &budget)
}

// appendJSON appends the JSON of a value to the line.
func (w *writer) appendJSON(v reflect.Value) error {
	if v.CanAddr() && v.Kind() != reflect.Pointer {
		v = v.Addr()
	}
	if err := w.encoder.Encode(v.Interface()); err != nil {
		return err
	}
	w.piece.Truncate(w.piece.Len() - len("\n"))
	return nil
}

// line writes the JSON of a value as a line.
func (w *writer) line(v reflect.Value) error {
	if err := w.appendJSON(v); err != nil {
		return err
	}
	return w.endLine()
}

// keyed writes a key and a long value.
func (w *writer) keyed(key string, v reflect.Value, depth int) error {
	w.appendKey(key)
	if err := w.endLine(); err != nil {
		return err
	}
	return w.value(v, depth)
}

func (w *writer) endLine() error {
	w.piece.WriteByte('\n')
	_, err := w.out.Write(w.piece.Bytes())
	w.piece.Reset()
	return err
}

// open writes the first line of a long value, and shut the last.
func (w *writer) open(parts int) error {
	fmt.Fprintf(&w.piece, "(%d", parts)
	return w.endLine()
}

func (w *writer) shut() error {
	w.piece.WriteByte(')')
	return w.endLine()
}

func (w *writer) appendKey(key string) {
	w.piece.Write(strictjson.AppendString(w.piece.AvailableBuffer(), key))
}

func (w *writer) structure(v reflect.Value, depth int) error {
	fields := w.fieldsOf(v.Type())
	if err := w.open(len(fields)); err != nil {
		return err
	}
	for _, f := range fields {
		value := v.FieldByIndex(f.index)
		if w.isOneLine(value) {
			single := reflect.New(f.single).Elem()
			single.Field(0).Set(value)
			if err := w.line(single); err != nil {
				return err
			}
			continue
		}
		if err := w.keyed(f.key, value, depth); err != nil {
			return err
		}
	}
	return w.shut()
}

// part appends a part of a map or list to the current line, or writes it as a long value.
func (w *writer) part(v reflect.Value, key *string, depth int) error {
	brackets := "[]"
	if key != nil {
		brackets = "{}"
	}
	oneLine := w.isOneLine(v)
	if w.piece.Len() > 0 && (!oneLine || w.piece.Len() >= w.limit) {
		w.piece.WriteByte(brackets[1])
		if err := w.endLine(); err != nil {
			return err
		}
	}
	switch {
	case !oneLine && key != nil:
		return w.keyed(*key, v, depth)
	case !oneLine:
		return w.value(v, depth)
	case w.piece.Len() == 0:
		w.piece.WriteByte(brackets[0])
	default:
		w.piece.WriteByte(',')
	}
	if key != nil {
		w.appendKey(*key)
		w.piece.WriteByte(':')
	}
	return w.appendJSON(v)
}

// lastPart ends the line of the last parts.
func (w *writer) lastPart(bracket byte) error {
	if w.piece.Len() > 0 {
		w.piece.WriteByte(bracket)
		if err := w.endLine(); err != nil {
			return err
		}
	}
	return w.shut()
}

func (w *writer) mapping(v reflect.Value, depth int) error {
	if err := w.open(v.Len()); err != nil {
		return err
	}
	err := eachSorted(v, func(key string, elem reflect.Value) error { return w.part(elem, &key, depth) })
	if err != nil {
		return err
	}
	return w.lastPart('}')
}

func (w *writer) list(v reflect.Value, depth int) error {
	if err := w.open(v.Len()); err != nil {
		return err
	}
	for i := range v.Len() {
		if err := w.part(v.Index(i), nil, depth); err != nil {
			return err
		}
	}
	return w.lastPart(']')
}

// eachSorted calls f with the entries of a map, sorted by the text of their keys.
func eachSorted(v reflect.Value, f func(key string, elem reflect.Value) error) error {
	key := reflect.New(v.Type().Key()).Elem()
	if key.Kind() == reflect.String {
		keys := make([]string, 0, v.Len()) // strings need less memory than values
		for entries := v.MapRange(); entries.Next(); {
			key.SetIterKey(entries)
			keys = append(keys, key.String())
		}
		slices.Sort(keys)
		for _, text := range keys {
			key.SetString(text)
			if err := f(text, v.MapIndex(key)); err != nil {
				return err
			}
		}
		return nil
	}
	type textKey struct {
		text string
		key  reflect.Value
	}
	keys := make([]textKey, 0, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		k := textKey{key: entries.Key()}
		switch marshaler, ok := k.key.Interface().(encoding.TextMarshaler); {
		case ok:
			text, err := marshaler.MarshalText()
			if err != nil {
				return err
			}
			k.text = string(text)
		case k.key.CanInt():
			k.text = strconv.FormatInt(k.key.Int(), 10)
		default:
			k.text = strconv.FormatUint(k.key.Uint(), 10)
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b textKey) int { return cmp.Compare(a.text, b.text) })
	for _, k := range keys {
		if err := f(k.text, v.MapIndex(k.key)); err != nil {
			return err
		}
	}
	return nil
}
