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

	"github.com/petrock/petrock/core/internal/jsonscan"
	"github.com/petrock/petrock/core/strictjson"
)

// A message is a parsed request, notification or response. Its params and result are still JSON.
type message struct {
	id     ID
	method string // empty in a response
	params json.RawMessage

	paramEnds jsonscan.Ends

	result  json.RawMessage
	err     *Error // of a response
	invalid *Error // why a response is invalid, else nil
}

// IsRequest reports whether the message is a single request.
func (m *message) IsRequest() bool { return m.method != "" && !m.id.IsZero() }

// An envelope holds the top-level members of a message.
type envelope struct {
	version, id, method, params, result, err []byte

	paramEnds jsonscan.Ends
}

func (e *envelope) member(key, value []byte, ends jsonscan.Ends) error {
	switch string(key) {
	case "jsonrpc":
		e.version = value
	case "id":
		e.id = value
	case "method":
		e.method = value
	case "params":
		e.params, e.paramEnds = value, ends
	case "result":
		e.result = value
	case "error":
		e.err = value
	}
	return nil
}

// parse parses a message. It returns either the message or its error.
func parse(raw []byte) (message, *MessageError) {
	if strictjson.First(raw) != '{' {
		if err := strictjson.Check(raw); err != nil {
			return message{}, &MessageError{Err: jsonError(err)}
		}
		return message{}, &MessageError{Err: Errorf(InvalidRequest, "a message must be an object, got %s", strictjson.Describe(raw))}
	}
	var e envelope
	if err := jsonscan.Object(raw, e.member); err != nil {
		var s envelopeScanner
		s.feed(raw)
		f := s.fault()
		f.Err = jsonError(err)
		if f.Err.Code == ParseError && !f.Response {
			// Trust the id of a syntax error only to fail a pending call.
			f = MessageError{Err: f.Err}
		}
		return message{}, &f
	}
	m, err := e.message()
	if err != nil {
		id, _ := ParseID(e.id)
		return message{}, &MessageError{id, e.isResponse(), e.isNotification(), Errorf(InvalidRequest, "%v", err)}
	}
	return m, nil
}

// jsonError returns the error response for a message that strictjson refuses.
func jsonError(err error) *Error {
	if e, ok := errors.AsType[*strictjson.Error](err); ok && e.Kind != strictjson.Syntax {
		return Errorf(InvalidRequest, "%v", err)
	}
	return Errorf(ParseError, "not JSON: %v", err)
}

func (e *envelope) isResponse() bool { return e.method == nil && (e.result != nil || e.err != nil) }

func (e *envelope) isNotification() bool { return strictjson.First(e.method) == '"' && e.id == nil }

// message checks that the members form a request, a notification or a response.
func (e *envelope) message() (m message, err error) {
	if string(e.version) != `"2.0"` {
		if version, _ := strictjson.Unquote(e.version); version != "2.0" {
			return m, errors.New(`"jsonrpc" must be "2.0"`)
		}
	}
	// A response may have a null id: its sender did not know the id of the request.
	if e.id != nil && !(e.isResponse() && string(e.id) == "null") {
		if m.id, err = ParseID(e.id); err != nil {
			return m, err
		}
	}
	if e.isResponse() {
		return e.response(m)
	}
	if e.result != nil || e.err != nil {
		return m, errors.New("a message cannot be both a request and a response")
	}
	method, ok := strictjson.Unquote(e.method)
	if !ok {
		return m, errors.New(`"method" must be a string`)
	}
	if method == "" {
		return m, errors.New(`"method" must not be empty`)
	}
	m.method = method
	switch strictjson.First(e.params) {
	case '{', '[':
		m.paramEnds = e.paramEnds
		m.params = slices.Clip(e.params) // the next bytes may be another message of the batch
	case 0, 'n':
	default:
		return m, fmt.Errorf(`"params" must be an object or an array, got %s`, strictjson.Describe(e.params))
	}
	return m, nil
}

// response completes m, which has the id, as a response.
func (e *envelope) response(m message) (message, error) {
	if e.result != nil && e.err != nil {
		return m, errors.New("a response cannot hold both a result and an error")
	}
	m.result = slices.Clip(e.result)
	if e.err != nil {
		if strictjson.First(e.err) != '{' {
			return m, fmt.Errorf("the error of a response must be an object, got %s", strictjson.Describe(e.err))
		}
		m.err = new(Error)
		if err := strictjson.Unmarshal(e.err, m.err); err != nil {
			return m, fmt.Errorf("read the error of a response: %w", err)
		}
	}
	return m, nil
}

// An Appender is a value that writes its own JSON.
type Appender interface {
	// AppendJSON appends exactly one JSON value to dst. The value is sent without further checks.
	// If AppendJSON returns an error, the appended bytes are dropped.
	AppendJSON(dst []byte) ([]byte, error)
}

// appendJSON appends v as JSON. A json.RawMessage is checked and not changed.
func appendJSON(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case json.RawMessage:
		if v != nil {
			return append(dst, v...), strictjson.Check(v)
		}
	case Appender:
		return v.AppendJSON(dst)
	}
	return strictjson.Append(dst, v)
}

// appendError appends an error response. If the id is zero, it is omitted, or null if nullID is
// set.
func appendError(dst []byte, id ID, e *Error, nullID bool) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if id.IsZero() && nullID {
		dst = append(dst, `,"id":null`...)
	} else if !id.IsZero() {
		dst = append(dst, `,"id":`...)
		dst = append(dst, id.raw...)
	}
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = strictjson.AppendString(dst, e.Message)
	if len(e.Data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, `}}`...)
}

// An ID identifies a request. It is a JSON string or integer, kept byte for byte. The zero ID means
// that there is no id, as in a notification.
type ID struct {
	raw string
}

// IntID returns n as an ID.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// whiteSpace holds the white space of JSON, which has fewer characters than that of Unicode.
const whiteSpace = " \t\r\n"

// ParseID parses the JSON of an id.
func ParseID(raw []byte) (ID, error) {
	raw = bytes.Trim(raw, whiteSpace)
	if isInteger(raw) {
		return ID{string(raw)}, nil
	}
	if _, ok := strictjson.Unquote(raw); ok {
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

// key returns the canonical form of the id. Ids are equal if their keys are.
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

// isInteger reports whether raw is a JSON number without a fraction and an exponent.
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

// asError returns the error response for the error of a handler, see [Error].
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	code, ok := errors.AsType[Code](err)
	if !ok {
		code = InternalError
	}
	return &Error{Code: code, Message: err.Error()}
}

// ErrClosed is returned if the connection has ended.
var ErrClosed = errors.New("the connection is closed")

// ErrCancelled is the cause of the context of a request that the peer cancelled.
var ErrCancelled = errors.New("the peer cancelled the request")
