package strictjson

import (
	"bytes"
	"encoding/json"
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
