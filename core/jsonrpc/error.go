package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

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
	switch c {
	case ParseError:
		return "parse error"
	case InvalidRequest:
		return "invalid request"
	case MethodNotFound:
		return "method not found"
	case InvalidParams:
		return "invalid params"
	case InternalError:
		return "internal error"
	}
	return fmt.Sprintf("error %d", int(c))
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

// asError gives any error of a handler the form it is sent in.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var code Code
	if errors.As(err, &code) {
		return &Error{Code: code, Message: err.Error()}
	}
	return &Error{Code: InternalError, Message: err.Error()}
}

// ErrClosed is returned for what cannot happen because the connection has ended.
var ErrClosed = errors.New("the connection is closed")

// ErrCancelled is the cause of a context that ended because the peer gave up the request.
var ErrCancelled = errors.New("the peer cancelled the request")
