package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// A liar answers the handshake and pings correctly, and tool calls with anything.
func liar(t jsonrpc.Transport, answer []byte) {
	for {
		raw, err := t.Receive()
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(raw, &m) != nil || m.ID == nil || m.Method == "" {
			continue
		}
		switch m.Method {
		case "initialize":
			t.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"liar","version":"1"}}}`, m.ID))
		case "ping":
			t.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID))
		default:
			t.Send(bytes.ReplaceAll(answer, []byte("ID"), m.ID))
		}
	}
}

// Whatever the server sends, a call ends, and does not affect the next one.
func FuzzClient(f *testing.F) {
	for _, answer := range []string{
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"a"}],"structuredContent":{},"isError":true,"_meta":{"k":1}}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"hologram"},null]}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a","inputSchema":{}},7],"nextCursor":null}}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-1,"message":"no","data":[]}}`,
		`{"jsonrpc":"2.0","id":ID,"result":null}`, `{"jsonrpc":"2.0","id":ID,"result":[]}`,
		`{"jsonrpc":"2.0","id":ID,"method":"roots/list"}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":"x"}}`,
		`[{"jsonrpc":"2.0","id":ID,"result":{}}]`, `hello`, `{"id":ID,`,
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		synctest.Test(t, func(t *testing.T) { lieTo(t, answer) })
	})
}

func lieTo(t *testing.T, answer []byte) {
	ours, theirs := jsonrpc.Pipe()
	go liar(theirs, answer)
	c, err := client.Over(t.Context(), ours, client.Options{Revision: mcp.LatestHandshake, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if result, err := c.CallTool(t.Context(), "any", nil, client.OnProgress(func(client.Progress) {})); (result == nil) == (err == nil) {
		t.Errorf("a call returns %+v, %v; want either a result or an error", result, err)
	}
	_, _ = c.Tools(t.Context())
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("a ping gives %v", err)
	}
}
