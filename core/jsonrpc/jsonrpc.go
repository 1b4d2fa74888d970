// Package jsonrpc has the messages of JSON-RPC 2.0, their errors, and transports that carry them.
//
// # For servers
//
// A handler of a server fails a request with a code of its choice by returning an [*Error], which
// [Errorf] makes:
//
//	return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "no city %q", name)
//
// [Code] has the codes of JSON-RPC. If a server does not use standard input and output, it needs a
// [Transport]: [NewLines] makes one of a reader and a writer, and [Pipe] connects two peers in one
// process.
//
// # For proxies and tests
//
// A Transport carries messages as opaque bytes. [Message.Parse] parses and checks one. A proxy
// forwards [Message.Raw], or [Message.WithID] if it needs its own ids. [AppendRequest],
// [AppendNotification], [AppendResult] and [AppendError] encode messages.
//
// Package core/plumbing/peer runs a connection: it matches answers to calls and schedules handlers.
//
// # Decisions
//
// Where JSON-RPC leaves a choice, or a peer breaks its rules:
//
//   - An id is a string or an integer, and is echoed byte for byte. Any other id is an
//     [InvalidRequest].
//   - Keys are case-sensitive: "ID" is not "id". Unknown keys are ignored.
//   - A duplicate key anywhere in a message is an [InvalidRequest], as is nesting beyond
//     [strictjson.MaxDepth]. Invalid UTF-8 is a [ParseError].
//   - params may be an object or an array; null counts as absent.
//   - A batch is refused as a whole if it is empty, not valid JSON, nested too deeply, or longer
//     than 1000 messages. Otherwise each of its messages is valid or invalid by itself.
//   - Data that is too large or not valid JSON still counts as a response if it looks like one, so
//     that the call that waits for it can fail.
package jsonrpc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/internal/burst"
	"github.com/petrock/petrock/core/strictjson"
)

// A Code is the code of an [Error]. It implements error, so errors.Is(err, jsonrpc.InvalidParams)
// works.
type Code int

// The codes that JSON-RPC defines.
const (
	ParseError     Code = -32700 // the message is not valid JSON
	InvalidRequest Code = -32600 // the message is valid JSON, but not a valid request
	MethodNotFound Code = -32601
	InvalidParams  Code = -32602
	InternalError  Code = -32603
)

func (c Code) Error() string {
	names := map[Code]string{
		ParseError:     "parse error",
		InvalidRequest: "invalid request",
		MethodNotFound: "method not found",
		InvalidParams:  "invalid params",
		InternalError:  "internal error",
	}
	return cmp.Or(names[c], fmt.Sprintf("error %d", int(c)))
}

// An Error is the error of a response. If a handler returns one, it is sent to the peer unchanged.
// A [Code] is sent as an Error with that code, and any other error as an [InternalError].
type Error struct {
	Code    Code            `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Errorf returns an [Error] with the code and the formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return e.Message }

// Is reports whether target is the code of e or an [Error] with the same code.
func (e *Error) Is(target error) bool {
	switch t := target.(type) {
	case Code:
		return e.Code == t
	case *Error:
		return e.Code == t.Code
	}
	return false
}

// asError returns the error to send for err, see [AppendError].
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	code, _ := errors.AsType[Code](err)
	return &Error{Code: cmp.Or(code, InternalError), Message: err.Error()}
}

// A MessageError describes a message that is invalid or was lost.
type MessageError struct {
	ID           ID     // of the message, or zero if unknown
	Response     bool   // whether the message is a response
	Notification bool   // whether the message is a notification
	Err          *Error // the error to send to the peer, unless the message is one of these
}

func (e *MessageError) Error() string { return e.Err.Message }

// ErrClosed is returned if the connection has ended.
var ErrClosed = burst.ErrClosed

// An ID identifies a request. It is a JSON string or integer, kept byte for byte. The zero ID means
// that there is no id, as in a notification.
type ID struct {
	raw string
}

// NullID is the id of an error response if the id of the request is unknown and the peer insists on
// an id, see [AppendError].
var NullID = ID{"null"}

// IntID returns n as an ID.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// ParseID parses the JSON of an id.
func ParseID(raw []byte) (ID, error) {
	raw = trim(raw)
	if _, isText := strictjson.Unquote(raw); isText || isInteger(raw) {
		return ID{string(raw)}, nil
	}
	return ID{}, errors.New("an id must be a string or an integer")
}

// IsZero reports whether id is the zero ID.
func (id ID) IsZero() bool { return id.raw == "" }

// String returns the id as JSON, byte for byte.
func (id ID) String() string { return id.raw }

func (id ID) MarshalJSON() ([]byte, error) {
	if id.IsZero() {
		return []byte("null"), nil
	}
	return []byte(id.raw), nil
}

func (id *ID) UnmarshalJSON(raw []byte) error {
	parsed, err := ParseID(raw)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Key returns the canonical form of the id, for maps: ids are equal if their keys are, but "a" and
// "\u0061" are the same id with different bytes.
func (id ID) Key() string {
	switch {
	case id.raw == "-0":
		return "0"
	case strings.Contains(id.raw, `\`):
		text, _ := strictjson.Unquote([]byte(id.raw))
		return `"` + text + `"`
	}
	return id.raw
}

// isInteger reports whether raw is a JSON number without a fraction and an exponent.
func isInteger(raw []byte) bool {
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return false
	}
	return !slices.ContainsFunc(digits, func(c byte) bool { return c < '0' || c > '9' })
}

// trim removes the white space of JSON, which has fewer characters than that of Unicode.
func trim(raw []byte) []byte {
	if n := len(raw); n > 0 && (raw[0] <= ' ' || raw[n-1] <= ' ') {
		return bytes.Trim(raw, " \t\r\n")
	}
	return raw
}
