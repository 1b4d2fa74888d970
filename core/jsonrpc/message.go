package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/petrock/petrock/core/internal/jsonscan"
	"github.com/petrock/petrock/core/strictjson"
)

// A Message is a parsed request, notification or response, or a batch of them. Its params and
// result are still JSON.
type Message struct {
	raw     []byte
	isBatch bool
	fault   *MessageError // of an invalid message, else nil

	id        ID
	method    string          // empty in a response
	body      json.RawMessage // the params of a request or a notification, or the result of a response
	paramEnds jsonscan.Ends
	err       *Error // of a response
}

// Parse parses a message. It keeps raw, which must not be changed afterwards.
func (m *Message) Parse(raw []byte) {
	raw = trim(raw)
	if strictjson.First(raw) == '[' && !hasKind(strictjson.Check(raw), strictjson.Syntax) {
		*m = Message{raw: raw, isBatch: true}
	} else {
		m.parse(raw)
	}
}

// Raw returns the JSON of the message or batch.
func (m *Message) Raw() []byte { return m.raw }

// Fault describes an invalid message; it is nil if the message is valid. It does not check the
// messages of a batch.
func (m *Message) Fault() *MessageError { return m.fault }

// IsBatch reports whether the message is an array of messages.
func (m *Message) IsBatch() bool { return m.isBatch }

// maxBatch limits the messages in a batch. A parsed message takes far more memory than its bytes,
// and the response to an invalid one may be longer than the message.
const maxBatch = 1000

// Batch returns the messages of a batch, valid or not, or an error if the batch is refused as a
// whole.
func (m *Message) Batch() ([]Message, *Error) {
	var parts []Message
	n := 0
	err := strictjson.Array(m.raw, func(part []byte) error {
		if n++; n <= maxBatch {
			parts = append(parts, Message{})
			parts[n-1].parse(slices.Clip(part))
		}
		return nil
	})
	switch {
	case err != nil && !hasKind(err, strictjson.Duplicate): // that invalidates one message only
		return nil, jsonError(err)
	case n > maxBatch:
		return nil, Errorf(InvalidRequest, "a batch may hold at most %d messages, got %d", maxBatch, n)
	case n == 0:
		return nil, Errorf(InvalidRequest, "a batch must hold at least one message")
	}
	return parts, nil
}

// Requests returns the number of requests in the message or batch.
func (m *Message) Requests() (n int) {
	if m.IsRequest() {
		return 1
	}
	if m.isBatch {
		parts, _ := m.Batch()
		for _, part := range parts {
			n += part.Requests()
		}
	}
	return n
}

// IsRequest reports whether the message is a single request.
func (m *Message) IsRequest() bool { return m.method != "" && !m.id.IsZero() }

// IsResponse reports whether the message is a response, valid or not.
func (m *Message) IsResponse() bool {
	if m.fault != nil {
		return m.fault.Response
	}
	return !m.isBatch && m.method == ""
}

// ID returns the id, or the zero ID if it is missing or invalid.
func (m *Message) ID() ID { return m.id }

// Method returns the method of a request or a notification.
func (m *Message) Method() string { return m.method }

// Params returns the params of a request or a notification, a valid object or array, or nil.
func (m *Message) Params() json.RawMessage {
	if m.method == "" {
		return nil
	}
	return m.body
}

// Members calls member for each member of Params, which must be an object, with the unescaped key
// and the raw value. member must not modify them. If member returns an error, Members stops and
// returns it. It is faster than parsing Params, because Parse has found the ends of the values.
func (m *Message) Members(member func(key, value []byte) error) error {
	return jsonscan.Members(m.body, &m.paramEnds, member)
}

// Result returns the result of a successful response, or nil.
func (m *Message) Result() json.RawMessage {
	if m.method != "" {
		return nil
	}
	return m.body
}

// Err returns the error of a failed response, or nil.
func (m *Message) Err() *Error { return m.err }

// WithID returns the JSON of a valid request or response with another id.
func (m *Message) WithID(id ID) []byte {
	start, end := jsonscan.Member(m.raw, "id")
	return slices.Concat(m.raw[:start], []byte(id.raw), m.raw[end:])
}

// parse parses a message that is not a batch.
func (m *Message) parse(raw []byte) {
	*m = Message{raw: raw}
	if strictjson.First(raw) != '{' {
		err := Errorf(InvalidRequest, "a message must be an object, got %s", strictjson.Describe(raw))
		if invalid := strictjson.Check(raw); invalid != nil {
			err = jsonError(invalid)
		}
		m.fault = &MessageError{Err: err}
		return
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
		m.fault, m.id = &f, f.ID
	} else if err := e.message(m); err != nil {
		id, _ := ParseID(e.id)
		isNotification := strictjson.First(e.method) == '"' && e.id == nil
		f := &MessageError{ID: id, Response: e.isResponse(), Notification: isNotification, Err: Errorf(InvalidRequest, "%v", err)}
		*m = Message{raw: raw, fault: f, id: id}
	}
}

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

// jsonError returns the error response for a message that strictjson refuses.
func jsonError(err error) *Error {
	if e, ok := errors.AsType[*strictjson.Error](err); ok && e.Kind != strictjson.Syntax {
		return Errorf(InvalidRequest, "%v", err)
	}
	return Errorf(ParseError, "not JSON: %v", err)
}

func (e *envelope) isResponse() bool { return e.method == nil && (e.result != nil || e.err != nil) }

// message fills in m. It returns an error unless the members form a request, a notification or a
// response.
func (e *envelope) message(m *Message) (err error) {
	if string(e.version) != `"2.0"` {
		if version, _ := strictjson.Unquote(e.version); version != "2.0" {
			return errors.New(`"jsonrpc" must be "2.0"`)
		}
	}
	// A response may have a null id: its sender did not know the id of the request.
	if e.id != nil && !(e.isResponse() && string(e.id) == "null") {
		if m.id, err = ParseID(e.id); err != nil {
			return err
		}
	}
	if e.isResponse() {
		return e.response(m)
	}
	if e.result != nil || e.err != nil {
		return errors.New("a message cannot be both a request and a response")
	}
	method, ok := strictjson.Unquote(e.method)
	if !ok {
		return errors.New(`"method" must be a string`)
	}
	if method == "" {
		return errors.New(`"method" must not be empty`)
	}
	m.method = method
	switch strictjson.First(e.params) {
	case '{', '[':
		m.paramEnds = e.paramEnds
		m.body = slices.Clip(e.params) // the next bytes may be another message of the batch
	case 0, 'n':
	default:
		return fmt.Errorf(`"params" must be an object or an array, got %s`, strictjson.Describe(e.params))
	}
	return nil
}

// response completes m as a response.
func (e *envelope) response(m *Message) error {
	if e.result != nil && e.err != nil {
		return errors.New("a response cannot hold both a result and an error")
	}
	m.body = slices.Clip(e.result)
	if e.err != nil {
		if strictjson.First(e.err) != '{' {
			return fmt.Errorf("the error of a response must be an object, got %s", strictjson.Describe(e.err))
		}
		m.err = new(Error)
		if err := strictjson.Unmarshal(e.err, m.err); err != nil {
			return fmt.Errorf("read the error of a response: %w", err)
		}
	}
	return nil
}

// hasKind reports whether err is a [*strictjson.Error] of a kind.
func hasKind(err error, kind strictjson.Kind) bool {
	e, ok := errors.AsType[*strictjson.Error](err)
	return ok && e.Kind == kind
}

// AppendRequest appends a request, or a notification if id is zero. params must encode to an object
// or an array; nil omits them. A [json.RawMessage] is checked and not changed, and an [Appender]
// encodes itself.
func AppendRequest(dst []byte, id ID, method string, params any) ([]byte, error) {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if !id.IsZero() {
		dst = append(dst, `"id":`...)
		dst = append(dst, id.raw...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"method":`...)
	dst = strictjson.AppendString(dst, method)
	if raw, ok := params.(json.RawMessage); params == nil || ok && raw == nil {
		return append(dst, '}'), nil
	}
	dst = append(dst, `,"params":`...)
	start := len(dst)
	dst, err := appendJSON(dst, params)
	if err != nil {
		return nil, fmt.Errorf("encode the params of %s: %w", method, err)
	}
	if first := strictjson.First(dst[start:]); first != '{' && first != '[' {
		return nil, fmt.Errorf("encode the params of %s: must be an object or an array, got %s", method, strictjson.Describe(dst[start:]))
	}
	return append(dst, '}'), nil
}

// AppendNotification appends a notification, see [AppendRequest].
func AppendNotification(dst []byte, method string, params any) ([]byte, error) {
	return AppendRequest(dst, ID{}, method, params)
}

// AppendResult appends a successful response. result is encoded like the params of [AppendRequest],
// but may be any value. If it cannot be encoded, dst is unchanged.
func AppendResult(dst []byte, id ID, result any) ([]byte, error) {
	msg := append(dst, `{"jsonrpc":"2.0","id":`...)
	msg = append(msg, id.raw...)
	msg, err := appendJSON(append(msg, `,"result":`...), result)
	if err != nil {
		return dst, err
	}
	return append(msg, '}'), nil
}

// AppendError appends an error response. An [*Error] is sent unchanged; its data must be valid
// JSON. A [Code] is sent as an Error with that code, and any other error as an [InternalError]. A
// zero id is omitted; [NullID] writes null.
func AppendError(dst []byte, id ID, err error) []byte {
	e := asError(err)
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if !id.IsZero() {
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

// An Appender is a value of params or a result that writes its own JSON.
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
