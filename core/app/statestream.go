package app

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/plumbing/jsonfield"
	"github.com/petrock/petrock/core/strictjson"
)

// A state stream is a state as lines, which are encoded and decoded one by one. A value whose JSON
// is short is one line. Any other is a line "(" with its number of parts, the parts, and a line
// ")":
//
//   - for each field of a struct, in order, a line {"KEY":VALUE}, or a line "KEY" and a long value;
//   - for the entries of a map, sorted, lines {"KEY":VALUE,…}, or a line "KEY" and a long value;
//   - for the elements of a slice or array, lines [VALUE,…], or a long value.
//
// The same state always has the same stream. Values of types with methods for JSON are one line.

// maxPiece is the size in bytes from which a value with parts takes several lines.
const maxPiece = 32 << 10

// stateTypes caches the properties of types that decide the lines of a stream.
type stateTypes struct {
	splits map[reflect.Type]split
	fields map[reflect.Type][]streamField
}

// A split tells whether values of a type have parts.
type split int

const (
	whole split = iota // no: the type has methods for JSON, or no parts
	fixed              // a fixed number, so that a value is one line anyway
	many               // any number
)

// A streamField is a field of a struct.
type streamField struct {
	key    string
	index  []int
	single reflect.Type // struct with this field only
}

func newStateTypes() stateTypes {
	return stateTypes{map[reflect.Type]split{}, map[reflect.Type][]streamField{}}
}

// splitOf returns whether values of a type have parts.
func (t stateTypes) splitOf(of reflect.Type) split {
	s, known := t.splits[of]
	if !known {
		t.splits[of] = fixed // for types that contain themselves
		s = t.findSplit(of)
		t.splits[of] = s
	}
	return s
}

func (t stateTypes) findSplit(of reflect.Type) split {
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
func (t stateTypes) fieldsOf(of reflect.Type) []streamField {
	if found, ok := t.fields[of]; ok {
		return found
	}
	var all []streamField
	for _, f := range jsonfield.Encoded(of) {
		_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		tag := reflect.StructTag("json:" + strconv.Quote(f.Key+","+options))
		all = append(all, streamField{f.Key, f.Index, reflect.StructOf([]reflect.StructField{{Name: "F", Type: f.Type, Tag: tag}})})
	}
	t.fields[of] = all
	return all
}

// isShort reports whether the JSON of a value fits into budget, approximately. It reduces budget.
func (t stateTypes) isShort(v reflect.Value, budget *int) bool {
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

// A stateWriter writes a state stream.
type stateWriter struct {
	stateTypes
	out     io.Writer
	limit   int          // maxPiece, except in tests
	piece   bytes.Buffer // the line so far
	encoder *json.Encoder
}

// writeState writes the stream of a state.
func writeState(out io.Writer, state any) error {
	return newStateWriter(out, maxPiece).value(reflect.ValueOf(state), 0)
}

func newStateWriter(out io.Writer, limit int) *stateWriter {
	w := &stateWriter{stateTypes: newStateTypes(), out: out, limit: limit}
	w.encoder = json.NewEncoder(&w.piece)
	w.encoder.SetEscapeHTML(false)
	return w
}

// value writes a value.
func (w *stateWriter) value(v reflect.Value, depth int) error {
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
func (w *stateWriter) isOneLine(v reflect.Value) bool {
	budget := w.limit
	return w.splitOf(v.Type()) != many || w.isShort(v, &budget)
}

// appendJSON appends the JSON of a value to the line.
func (w *stateWriter) appendJSON(v reflect.Value) error {
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
func (w *stateWriter) line(v reflect.Value) error {
	if err := w.appendJSON(v); err != nil {
		return err
	}
	return w.endLine()
}

// keyed writes a key and a long value.
func (w *stateWriter) keyed(key string, v reflect.Value, depth int) error {
	w.appendKey(key)
	if err := w.endLine(); err != nil {
		return err
	}
	return w.value(v, depth)
}

func (w *stateWriter) endLine() error {
	w.piece.WriteByte('\n')
	_, err := w.out.Write(w.piece.Bytes())
	w.piece.Reset()
	return err
}

// open writes the first line of a long value, and shut the last.
func (w *stateWriter) open(parts int) error {
	fmt.Fprintf(&w.piece, "(%d", parts)
	return w.endLine()
}

func (w *stateWriter) shut() error {
	w.piece.WriteByte(')')
	return w.endLine()
}

func (w *stateWriter) appendKey(key string) {
	w.piece.Write(strictjson.AppendString(w.piece.AvailableBuffer(), key))
}

func (w *stateWriter) structure(v reflect.Value, depth int) error {
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
func (w *stateWriter) part(v reflect.Value, key *string, depth int) error {
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
func (w *stateWriter) lastPart(bracket byte) error {
	if w.piece.Len() > 0 {
		w.piece.WriteByte(bracket)
		if err := w.endLine(); err != nil {
			return err
		}
	}
	return w.shut()
}

func (w *stateWriter) mapping(v reflect.Value, depth int) error {
	if err := w.open(v.Len()); err != nil {
		return err
	}
	err := eachSorted(v, func(key string, elem reflect.Value) error { return w.part(elem, &key, depth) })
	if err != nil {
		return err
	}
	return w.lastPart('}')
}

func (w *stateWriter) list(v reflect.Value, depth int) error {
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

// A stateReader reads a state stream. It decodes lines with many parts in other goroutines.
type stateReader struct {
	stateTypes
	in      *bufio.Reader
	long    []byte // a line that is longer than the buffer
	decoder *strictjson.Decoder
}

// A batch is the parts of a map or list in one line.
type batch struct {
	line []byte
	into reflect.Value // pointer to a map or slice
	done chan error    // has a buffer
}

func (b *batch) decode(d *strictjson.Decoder) {
	defer func() {
		if p := recover(); p != nil {
			b.done <- panicError(p)
		}
	}()
	b.done <- d.Decode(b.line, b.into.Interface())
}

// batches decodes lines that start with a bracket into values of type t, and calls add with each,
// in order. It returns the line after them.
func (r *stateReader) batches(t reflect.Type, bracket byte, add func(parts reflect.Value) error) (line []byte, err error) {
	ahead := runtime.GOMAXPROCS(0) + 1
	var pending, free []*batch
	defer func() {
		for _, b := range pending {
			<-b.done
		}
	}()
	for isLast := false; !isLast; {
		if line, err = r.line(); err != nil {
			return nil, err
		}
		if isLast = line[0] != bracket; !isLast {
			b := &batch{into: reflect.New(t), done: make(chan error, 1)}
			if n := len(free); n > 0 {
				b, free = free[n-1], free[:n-1]
			}
			b.line = append(b.line[:0], line...)
			pending = append(pending, b)
			go b.decode(r.decoder)
		}
		for len(pending) > 0 && (isLast || len(pending) > ahead) {
			b := pending[0]
			pending = pending[1:]
			if err := <-b.done; err != nil {
				return nil, err
			}
			if err := add(b.into.Elem()); err != nil {
				return nil, err
			}
			free = append(free, b)
		}
	}
	return line, nil
}

// readState reads the stream of a state, to which state points. It is as strict as an exact
// [strictjson.Decoder].
func readState(in io.Reader, state any) error {
	r := &stateReader{stateTypes: newStateTypes(), in: bufio.NewReaderSize(in, 4*maxPiece), decoder: &strictjson.Decoder{Exact: true}}
	line, err := r.line()
	if err != nil {
		return err
	}
	if err := r.value(reflect.ValueOf(state).Elem(), line); err != nil {
		return err
	}
	if _, err := r.in.ReadByte(); err != io.EOF {
		return cmp.Or(err, errors.New("there is more after its end"))
	}
	return nil
}

// line returns the next line. It is valid until the next call.
func (r *stateReader) line() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = append(r.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = r.in.ReadSlice('\n')
			r.long = append(r.long, line...)
		}
		line = r.long
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && len(line) < 2 {
		err = errors.New("an empty line")
	}
	return line, err
}

// value reads a value, whose first line is line, into v.
func (r *stateReader) value(v reflect.Value, line []byte) error {
	if line[0] != '(' {
		return r.decoder.Decode(line, v.Addr().Interface())
	}
	parts, err := strconv.Atoi(string(line[1 : len(line)-1]))
	if err != nil || parts < 0 {
		return fmt.Errorf("a wrong number of parts: %w", err)
	}
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		return r.structure(v, parts)
	case reflect.Map:
		return r.mapping(v, parts)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), parts, parts))
		return r.list(v, parts)
	case reflect.Array:
		return r.list(v, parts)
	}
	return fmt.Errorf("parts of a %v", v.Type())
}

func (r *stateReader) structure(v reflect.Value, parts int) error {
	fields := r.fieldsOf(v.Type())
	if parts != len(fields) {
		return fmt.Errorf("%v has %d fields, not %d", v.Type(), len(fields), parts)
	}
	for _, f := range fields {
		line, err := r.line()
		if err != nil {
			return err
		}
		field := v.FieldByIndex(f.index)
		if key, ok := strictjson.Unquote(line[:len(line)-1]); ok {
			if key != f.key {
				return fmt.Errorf("field %q is unknown, %q is missing", key, f.key)
			}
			if line, err = r.line(); err != nil {
				return err
			}
			if err := r.value(field, line); err != nil {
				return err
			}
			continue
		}
		single := reflect.New(f.single)
		if err := r.decoder.Decode(line, single.Interface()); err != nil {
			return err
		}
		field.Set(single.Elem().Field(0))
	}
	if line, err := r.line(); err != nil || line[0] != ')' {
		return cmp.Or(err, fmt.Errorf("%v has more than %d fields", v.Type(), parts))
	}
	return nil
}

func (r *stateReader) mapping(v reflect.Value, parts int) error {
	t := v.Type()
	v.Set(reflect.MakeMapWithSize(t, parts))
	key, elem := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	add := func(entries reflect.Value) error {
		for each := entries.MapRange(); each.Next(); {
			key.SetIterKey(each)
			elem.SetIterValue(each)
			v.SetMapIndex(key, elem)
		}
		entries.Clear() // for the next line
		return nil
	}
	for {
		line, err := r.batches(t, '{', add)
		switch {
		case err != nil:
			return err
		case line[0] == ')' && v.Len() != parts:
			return fmt.Errorf("%v has %d entries, not %d", t, v.Len(), parts)
		case line[0] == ')':
			return nil
		}
		keys := reflect.New(reflect.MapOf(t.Key(), reflect.TypeFor[bool]()))
		if err := r.decoder.Decode(fmt.Appendf(nil, "{%s:true}", line), keys.Interface()); err != nil {
			return err
		}
		if line, err = r.line(); err != nil {
			return err
		}
		long := reflect.New(t.Elem()).Elem()
		if err := r.value(long, line); err != nil {
			return err
		}
		for _, key := range keys.Elem().MapKeys() {
			v.SetMapIndex(key, long)
		}
	}
}

// list reads the elements of a slice or array.
func (r *stateReader) list(v reflect.Value, parts int) error {
	at := 0
	add := func(elems reflect.Value) error {
		if at+elems.Len() > v.Len() {
			return fmt.Errorf("%v has %d elements or more, not %d", v.Type(), at+elems.Len(), v.Len())
		}
		at += reflect.Copy(v.Slice(at, v.Len()), elems)
		return nil
	}
	for {
		line, err := r.batches(reflect.SliceOf(v.Type().Elem()), '[', add)
		switch {
		case err != nil:
			return err
		case line[0] == ')' && (at != v.Len() || at != parts):
			return fmt.Errorf("%v has %d elements, not %d", v.Type(), at, v.Len())
		case line[0] == ')':
			return nil
		}
		long := reflect.New(v.Type().Elem()).Elem()
		if err := r.value(long, line); err != nil {
			return err
		}
		if err := add(reflect.Append(reflect.Zero(reflect.SliceOf(v.Type().Elem())), long)); err != nil {
			return err
		}
	}
}
