package statestream

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strconv"

	"github.com/petrock/petrock/core/app/internal/panics"
	"github.com/petrock/petrock/core/strictjson"
)

// Read reads the stream of a state, to which state points. It is as strict as an exact
// [strictjson.Decoder].
func Read(in io.Reader, state any) error {
	r := &reader{typeCache: newTypeCache(), in: bufio.NewReaderSize(in, 4*maxPiece), decoder: &strictjson.Decoder{Exact: true}}
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

// A reader reads a stream. It decodes lines with many parts in other goroutines.
type reader struct {
	typeCache
	in      *bufio.Reader
	long    []byte // a line that is longer than the buffer
	decoder *strictjson.Decoder
}

// line returns the next line. It is valid until the next call.
func (r *reader) line() ([]byte, error) {
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
func (r *reader) value(v reflect.Value, line []byte) error {
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

func (r *reader) structure(v reflect.Value, parts int) error {
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

func (r *reader) mapping(v reflect.Value, parts int) error {
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
func (r *reader) list(v reflect.Value, parts int) error {
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

// A batch is the parts of a map or list in one line.
type batch struct {
	line []byte
	into reflect.Value // pointer to a map or slice
	done chan error    // has a buffer
}

func (b *batch) decode(d *strictjson.Decoder) {
	defer func() {
		if p := recover(); p != nil {
			b.done <- panics.Error(p)
		}
	}()
	b.done <- d.Decode(b.line, b.into.Interface())
}

// batches decodes lines that start with a bracket into values of type t, and calls add with each,
// in order. It returns the line after them.
func (r *reader) batches(t reflect.Type, bracket byte, add func(parts reflect.Value) error) (line []byte, err error) {
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
