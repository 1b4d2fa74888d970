package live

import (
	"encoding/json"
	"slices"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A message is a JSON-RPC message that is forwarded. Its fields are parts of raw.
type message struct {
	raw, id, method, params, result, err []byte
}

// parse reads the members of a message. It reports false if raw is not an object.
func parse(raw []byte) (m message, ok bool) {
	m.raw = raw
	err := strictjson.Object(raw, func(key, value []byte) error {
		switch string(key) {
		case "id":
			m.id = value
		case "method":
			m.method = value
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.err = value
		}
		return nil
	})
	return m, err == nil
}

func (m message) isRequest() bool  { return m.method != nil && m.id != nil }
func (m message) isResponse() bool { return m.method == nil && m.id != nil }

// name returns the method of a request or a notification.
func (m message) name() string { return text(m.method) }

// withID returns the message with another id.
func (m message) withID(id []byte) []byte {
	start := cap(m.raw) - cap(m.id) // m.id is a part of m.raw
	return slices.Concat(m.raw[:start], id, m.raw[start+len(m.id):])
}

// param returns a member of the params, by its path.
func (m message) param(path ...string) json.RawMessage { return member(m.params, path...) }

func member(value json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		value = strictjson.Member(value, name)
	}
	return value
}

// text returns the value of a JSON string, or "".
func text(raw []byte) string {
	if n := len(raw); n > 1 && raw[0] == '"' && !slices.Contains(raw, '\\') {
		return string(raw[1 : n-1])
	}
	s, _ := strictjson.Unquote(raw)
	return s
}

func quote(s string) json.RawMessage { return strictjson.AppendString(nil, s) }

// An object is a JSON object whose members keep their order.
type object []byte

func (o object) with(key string, value []byte) object {
	if value == nil {
		return o
	}
	return strictjson.AppendMember(o, key, value)
}

func (o object) json() json.RawMessage { return slices.Concat([]byte("{"), []byte(o), []byte("}")) }

func request(id []byte, method string, params json.RawMessage) []byte {
	return object(nil).with("jsonrpc", quote("2.0")).with("id", id).with("method", quote(method)).with("params", params).json()
}

func notification(method string, params json.RawMessage) []byte {
	return request(nil, method, params)
}

func response(id []byte, result json.RawMessage) []byte {
	return object(nil).with("jsonrpc", quote("2.0")).with("id", id).with("result", result).json()
}

func failure(id []byte, err error) []byte {
	e, ok := err.(*jsonrpc.Error)
	if !ok {
		e = &jsonrpc.Error{Code: jsonrpc.InternalError, Message: err.Error()}
	}
	parsed, _ := jsonrpc.ParseID(id) // it was valid in the request
	return jsonrpc.AppendError(nil, parsed, e)
}
