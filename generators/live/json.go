package live

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// Keys of _meta in revision 2026-07-28.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
	latest           = "2026-07-28"
)

// parse parses a message that is forwarded.
func parse(raw []byte) *jsonrpc.Message {
	m := new(jsonrpc.Message)
	m.Parse(raw)
	return m
}

// param returns a member of the params of a message, by its path.
func param(m *jsonrpc.Message, path ...string) json.RawMessage { return member(m.Params(), path...) }

// idParam returns a member of the params that is the id of another message.
func idParam(m *jsonrpc.Message, path ...string) jsonrpc.ID {
	id, _ := jsonrpc.ParseID(param(m, path...)) // an invalid one is that of no message
	return id
}

func notification(method string, params json.RawMessage) []byte {
	return request(jsonrpc.ID{}, method, params)
}

// request returns a request. params are an object, or nil.
func request(id jsonrpc.ID, method string, params json.RawMessage) []byte {
	raw, _ := jsonrpc.AppendRequest(nil, id, method, params) // fails only for other params
	return raw
}

// cancellation returns the notification that cancels a request.
func cancellation(id jsonrpc.ID) []byte {
	return notification("notifications/cancelled", object(nil).with("requestId", rawID(id)).json())
}

func rawID(id jsonrpc.ID) json.RawMessage { return json.RawMessage(id.String()) }

// response returns a successful response. result is valid JSON.
func response(id jsonrpc.ID, result json.RawMessage) []byte {
	raw, _ := jsonrpc.AppendResult(nil, id, result) // fails only for other results
	return raw
}

// failedResponse returns the error response that stands for an invalid or lost one.
func failedResponse(f *jsonrpc.MessageError) *jsonrpc.Message {
	return parse(jsonrpc.AppendError(nil, f.ID, f.Err))
}

func member(value json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		value = strictjson.Member(value, name)
	}
	return value
}

// isTrue reports whether a member of an object is true.
func isTrue(value json.RawMessage, path ...string) bool {
	return string(member(value, path...)) == "true"
}

// text returns the value of a JSON string, or "".
func text(raw []byte) string {
	s, _ := strictjson.Unquote(raw)
	return s
}

func quote(s string) json.RawMessage { return strictjson.AppendString(nil, s) }

func elements(list json.RawMessage) (all [][]byte) {
	_ = strictjson.Array(list, func(value []byte) error { // a value that is not an array has no elements
		all = append(all, value)
		return nil
	})
	return all
}

func array(all [][]byte) json.RawMessage {
	return slices.Concat([]byte("["), bytes.Join(all, []byte(",")), []byte("]"))
}

// An object is a JSON object whose members keep their order.
type object []byte

func (o object) with(key string, value []byte) object {
	if value == nil {
		return o
	}
	return strictjson.AppendMember(o, key, value)
}

func (o object) json() json.RawMessage { return slices.Concat([]byte("{"), []byte(o), []byte("}")) }

// without returns the members of an object, except some.
func without(value json.RawMessage, names ...string) object {
	out := object(nil)
	_ = strictjson.Object(value, func(key, v []byte) error { // a value that is not an object has no members
		if !slices.Contains(names, string(key)) {
			out = out.with(string(key), v)
		}
		return nil
	})
	return out
}
