package jsonrpc

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// An ID names a request: a JSON string or whole number, kept as the bytes that
// came. The zero ID is no id at all, which makes a request a notification.
type ID struct {
	raw string
}

// IntID is the id that a number is written as.
func IntID(n int64) ID {
	return ID{strconv.FormatInt(n, 10)}
}

// whiteSpace is what JSON may have around a value; Unicode has more.
const whiteSpace = " \t\r\n"

// ParseID reads an id from its JSON.
func ParseID(raw []byte) (ID, error) {
	raw = bytes.Trim(raw, whiteSpace)
	if isInteger(raw) {
		return ID{string(raw)}, nil
	}
	if _, ok := strictjson.Unquote(raw); ok {
		return ID{string(raw)}, nil
	}
	return ID{}, errors.New("an id must be a string or a whole number")
}

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// String is the id as JSON, exactly as it came.
func (id ID) String() string { return id.raw }

// MarshalJSON implements [json.Marshaler].
func (id ID) MarshalJSON() ([]byte, error) {
	if id.IsZero() {
		return []byte("null"), nil
	}
	return []byte(id.raw), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (id *ID) UnmarshalJSON(raw []byte) error {
	parsed, err := ParseID(raw)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// key is what two spellings of the same id have in common.
func (id ID) key() string {
	switch {
	case id.raw == "-0":
		return "0"
	case strings.Contains(id.raw, `\`):
		text, _ := strictjson.Unquote([]byte(id.raw))
		return `"` + text + `"`
	}
	return id.raw
}

func isInteger(raw []byte) bool {
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
