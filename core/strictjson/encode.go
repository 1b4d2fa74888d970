package strictjson

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Marshal is json.Marshal without the escapes that only HTML needs.
func Marshal(v any) (json.RawMessage, error) {
	// Without an encoder it is quicker, and nearly always the same.
	if raw, err := json.Marshal(v); err != nil || !bytes.Contains(raw, []byte(`\u`)) {
		return raw, err
	}
	return Append(nil, v)
}

// Append appends what [Marshal] makes of v to dst.
func Append(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MarshalOutput is [Marshal] for what somebody is told as a whole: nothing in a list or a map is an empty list or
// map all the same.
func MarshalOutput(v any) (json.RawMessage, error) {
	text, err := Marshal(v)
	if err != nil || string(text) != "null" {
		return text, err
	}
	t := reflect.TypeOf(v)
	switch {
	case t == nil || t.Implements(reflect.TypeFor[json.Marshaler]()):
	case t.Kind() == reflect.Map:
		return []byte("{}"), nil
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return []byte("[]"), nil
	}
	return text, nil
}
