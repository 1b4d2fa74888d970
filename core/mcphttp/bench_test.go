package mcphttp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
)

// A discardWriter is a response writer that discards the response.
type discardWriter http.Header

func (s discardWriter) Header() http.Header         { return http.Header(s) }
func (s discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (s discardWriter) WriteHeader(int)             {}

// BenchmarkHTTPCall measures a call without net/http, in a session and stateless.
func BenchmarkHTTPCall(b *testing.B) {
	type numbers struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	s := mcp.NewServer(mcp.Implementation{Name: "bench", Version: "1"}, mcp.Options{Logger: quietLogger()})
	add := func(_ context.Context, in numbers) (numbers, error) { return numbers{A: in.A + in.B}, nil }
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false}`)
	if err := mcp.AddTool(s, mcp.Tool{Name: "add", InputSchema: schema, OutputSchema: schema}, add); err != nil {
		b.Fatal(err)
	}
	h := mcphttp.NewHandler(s, mcphttp.Options{})
	for _, era := range []struct{ name, meta, headers string }{
		{"sessions", "", ""},
		{"stateless", "," + strings.Replace(meta, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"},`, 1), strings.Join(statelessHeaders("tools/call", "add"), "\n")},
	} {
		b.Run(era.name, func(b *testing.B) {
			w := discardWriter{}
			header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			send := func(body string) {
				r := &http.Request{Method: "POST", Header: header, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)), RemoteAddr: "127.0.0.1:1"}
				h.ServeHTTP(w, r)
			}
			if era.headers == "" {
				send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
				header["Mcp-Session-Id"] = []string{w.Header().Get("Mcp-Session-Id")}
				send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			}
			for line := range strings.Lines(era.headers) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				header.Set(name, value)
			}
			b.ReportAllocs()
			for b.Loop() {
				send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}` + era.meta + `}}`)
			}
		})
	}
}
