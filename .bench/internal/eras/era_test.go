package eras

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

func TestPost(t *testing.T) {
	for _, era := range All() {
		for _, r := range []Request{
			era.Call("s-1", 7, "add", `{"a":1}`),
			{Session: "s-1", ID: 8, Method: "tools/list"},
			{Session: "s-1", ID: 9, Method: "x", Meta: `"progressToken":1`},
			Initialized("s-1"),
			{Session: "s-1", Question: `"q"`, Answer: `{}`},
		} {
			request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(era.Post(r))))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(request.Body)
			if err != nil || int64(len(body)) != request.ContentLength || !json.Valid(body) {
				t.Errorf("%s: %s, %v", era.Name, body, err)
			}
			if got := request.Header.Get("Mcp-Protocol-Version"); got != era.Version {
				t.Errorf("%s: version %q", era.Name, got)
			}
			if hasID := request.Header.Get("Mcp-Session-Id") != ""; hasID != era.Sessions() {
				t.Errorf("%s: headers %v", era.Name, request.Header)
			}
			if hasMethod := request.Header.Get("Mcp-Method") != ""; hasMethod != (!era.Sessions() && r.Method != "") {
				t.Errorf("%s: headers %v", era.Name, request.Header)
			}
		}
	}
}
