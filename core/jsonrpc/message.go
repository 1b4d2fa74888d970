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

	"github.com/petrock/petrock/core/strictjson"
)

// A message is one line of a conversation, taken apart but not decoded.
type message struct {
	id     ID
	method string // empty in a response
	params json.RawMessage
	result json.RawMessage
	err    *Error // of a response
	broken *Error // what is wrong with it, if it is the answer to a call
}

// A faulty message is answered with an error that carries the id, if there is
// one to be seen; what looks like a response or a notification is not answered at all.
type fault struct {
	id           ID
	response     bool
	notification bool
	err          *Error
}

// envelope is what stands at the top level of a message.
type envelope struct {
	version, id, method, params, result, err []byte
}

func (e *envelope) member(key, value []byte) error {
	switch string(key) {
	case "jsonrpc":
		e.version = value
	case "id":
		e.id = value
	case "method":
		e.method = value
	case "params":
		e.params = value
	case "result":
		e.result = value
	case "error":
		e.err = value
	}
	return nil
}

// parse takes a message apart. It returns either the message or its fault.
func parse(raw []byte) (message, *fault) {
	if strictjson.First(raw) != '{' {
		if err := strictjson.Check(raw); err != nil {
			return message{}, &fault{err: broken(err)}
		}
		return message{}, &fault{err: Errorf(InvalidRequest, "a message must be an object, got %s", strictjson.Describe(raw))}
	}
	var e envelope
	if err := strictjson.Object(raw, e.member); err != nil {
		var p peek
		p.feed(raw)
		f := p.whose()
		f.err = broken(err)
		if f.err.Code == ParseError && !f.response {
			// Only a call of ours that waits is worth a guess at what was meant.
			f = fault{err: f.err}
		}
		return message{}, &f
	}
	m, err := e.message()
	if err != nil {
		id, _ := ParseID(e.id)
		return message{}, &fault{id, e.isResponse(), e.isNotification(), Errorf(InvalidRequest, "%v", err)}
	}
	return m, nil
}

func broken(err error) *Error {
	var e *strictjson.Error
	if errors.As(err, &e) && e.Kind != strictjson.Syntax {
		return Errorf(InvalidRequest, "%v", err)
	}
	return Errorf(ParseError, "not JSON: %v", err)
}

func (e *envelope) isResponse() bool {
	return e.method == nil && (e.result != nil || e.err != nil)
}

func (e *envelope) isNotification() bool {
	return strictjson.First(e.method) == '"' && e.id == nil
}

// message checks that the parts make a request, a notification or a response.
func (e *envelope) message() (m message, err error) {
	if string(e.version) != `"2.0"` {
		if version, _ := strictjson.Unquote(e.version); version != "2.0" {
			return m, errors.New(`"jsonrpc" must be "2.0"`)
		}
	}
	// A response may carry a null id: its sender could not tell which request it answers.
	if e.id != nil && !(e.isResponse() && string(e.id) == "null") {
		if isInteger(e.id) {
			m.id = ID{string(e.id)}
		} else if m.id, err = ParseID(e.id); err != nil {
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
		m.params = slices.Clip(e.params) // what follows may be another message of the batch
	case 0, 'n':
	default:
		return m, fmt.Errorf(`"params" must be an object or an array, got %s`, strictjson.Describe(e.params))
	}
	return m, nil
}

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
			return m, fmt.Errorf("reading the error of a response: %w", err)
		}
	}
	return m, nil
}

// An Appender is a value that writes its own JSON.
type Appender interface {
	// AppendJSON appends exactly one JSON value to dst. What it appends is sent as it
	// is and not checked. If it returns an error, what it appended is dropped.
	AppendJSON(dst []byte) ([]byte, error)
}

// appendJSON encodes v. What claims to be JSON already is checked and left as it is.
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

// A Code is the number that tells the kind of an [Error]. It is an error
// itself, so that errors.Is(err, jsonrpc.InvalidParams) works.
type Code int

// The codes that JSON-RPC itself defines.
const (
	ParseError     Code = -32700 // the message is not JSON
	InvalidRequest Code = -32600 // the message is JSON, but not a request
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

// An Error is an error as it stands in a response. A handler that returns one
// decides what the peer sees; any other error is sent as an [InternalError].
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

// Is reports whether target is the code of e, or an [Error] with the same code.
func (e *Error) Is(target error) bool {
	switch t := target.(type) {
	case Code:
		return e.Code == t
	case *Error:
		return e.Code == t.Code
	}
	return false
}

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

// ErrClosed is returned for what cannot happen because the connection has ended.
var ErrClosed = errors.New("the connection is closed")

// ErrCancelled is the cause of a context that ended because the peer gave up the request.
var ErrCancelled = errors.New("the peer cancelled the request")
