package canned

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func TestServe(t *testing.T) {
	for _, test := range []struct {
		line, id, result string // no id: no answer; no result: an error
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `1`, initialized},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``, ``},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, ``, ``},
		{`{"jsonrpc":"2.0","id":"x","method":"tools/list"}`, `"x"`, list},
		{`{"jsonrpc":"2.0","id":12345678,"method":"tools/call","params":{"name":"add","arguments":{}}}`, `12345678`, called},
		{`{"jsonrpc":"2.0","id":3,"method":"ping"}`, `3`, pinged},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/calls"}`, `4`, ``},
	} {
		var out bytes.Buffer
		if err := Serve(strings.NewReader(test.line+"\n"), &out); err != nil {
			t.Fatal(err)
		}
		if test.id == "" {
			if out.Len() > 0 {
				t.Errorf("%s: an answer: %s", test.line, &out)
			}
			continue
		}
		var answer struct {
			JSONRPC           string
			ID, Result, Error json.RawMessage
		}
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil || !bytes.HasSuffix(out.Bytes(), []byte("}\n")) {
			t.Fatalf("%s: answered %q: %v", test.line, &out, err)
		}
		if answer.JSONRPC != "2.0" || string(answer.ID) != test.id || string(answer.Result) != test.result {
			t.Errorf("%s: answered %s", test.line, &out)
		}
		if (answer.Error != nil) != (test.result == "") {
			t.Errorf("%s: an error, or none where there should be one: %s", test.line, &out)
		}
	}
}

// chunks is a reader that returns one chunk at a time, and a writer that records the number of
// unread chunks at each write.
type chunks struct {
	left   []string
	writes []int // how many chunks were left
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.left[0])
	c.left = c.left[1:]
	return n, nil
}

func (c *chunks) Write(p []byte) (int, error) {
	c.writes = append(c.writes, len(c.left))
	return len(p), nil
}

func TestServeWritesOnceForWhatCameTogether(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	c := &chunks{left: []string{ping + ping + ping, ping}}
	if err := Serve(c, c); err != nil {
		t.Fatal(err)
	}
	if len(c.writes) != 2 || c.writes[0] != 1 || c.writes[1] != 0 {
		t.Errorf("chunks left at each write: %v, want [1 0]", c.writes)
	}
}
