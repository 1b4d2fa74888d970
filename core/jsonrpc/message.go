package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

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

// broken is the error for input that is no acceptable JSON.
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

func appendResult(dst []byte, id ID, result any) ([]byte, error) {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id.raw...)
	dst = append(dst, `,"result":`...)
	dst, err := appendJSON(dst, result)
	return append(dst, '}'), err
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
