package canned

import (
	"bytes"

	"github.com/petrock/petrock/bench/internal/wire"
)

var methodKey = []byte(`"method":"`)

// The results of the floor. The sum is that of the benchmark's calls.
const (
	initialized = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"0.1.0"}}`
	list        = `{"tools":[{"name":"add","description":"Adds two numbers.","inputSchema":{"type":"object","properties":{"a":{"type":"number","description":"First number"},"b":{"type":"number","description":"Second number"}},"required":["a","b"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"sum":{"type":"number","description":"The two numbers together"}},"required":["sum"],"additionalProperties":false}}]}`
	called      = `{` + sum + `}`
	sum         = `"content":[{"type":"text","text":"{\"sum\":5.5}"}],"structuredContent":{"sum":5.5}`
	pinged      = `{}`

	// Results of revision 2026-07-28 have more fields.
	stateless = `{"resultType":"complete",` + sum + `,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"floor","version":"0.1.0"}}}`
)

// Append appends the response to a message, or nothing for a notification.
func Append(to, message []byte) []byte { return appendResult(to, message, resultOf(message)) }

// AppendStateless appends the response to a call of revision 2026-07-28.
func AppendStateless(to, message []byte) []byte { return appendResult(to, message, stateless) }

// appendResult appends the response to a line, or nothing for a notification. If result is "", it
// appends the error "method not found".
func appendResult(to, line []byte, result string) []byte {
	begin, end, ok := wire.ID(line)
	if !ok {
		return to
	}
	to = append(to, `{"jsonrpc":"2.0","id":`...)
	to = append(to, line[begin:end]...)
	switch result {
	case "":
		to = append(to, `,"error":{"code":-32601,"message":"method not found"}`...)
	default:
		to = append(to, `,"result":`...)
		to = append(to, result...)
	}
	return append(to, "}\n"...)
}

// resultOf returns the result for the method of a line, or "" for an unknown one.
func resultOf(line []byte) string {
	i := bytes.Index(line, methodKey)
	if i < 0 {
		return ""
	}
	method, _, _ := bytes.Cut(line[i+len(methodKey):], []byte{'"'})
	switch string(method) {
	case "tools/call":
		return called
	case "tools/list":
		return list
	case "initialize":
		return initialized
	case "ping":
		return pinged
	}
	return ""
}
