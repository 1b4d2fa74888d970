package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// The output is JSON-RPC for any input, and a valid request at the end is answered once.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		"", "\n\n\r\n", sentinel, "{", "[", `"`, `{"a":"` + "\n" + `"}`, "\x00\xff\xfe",
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,2,{"b":null}]}}` + "\n" + `{"jsonrpc":"2.0","method":"m"}`,
		`[{"jsonrpc":"2.0","id":"\u0061","method":"release"},{"jsonrpc":"2.0","id":"a","method":"panic"},1,[],{}]`,
		`{"jsonrpc":"2.0","id":1,"result":{}}` + "\r\n" + `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"no"}` + "\n" + `{"jsonrpc":"2.0","id":1.5,"method":"m"}`,
		`{"jsonrpc":"2.0","id":3,"method":"m","params":["` + strings.Repeat("long", 200) + `"]}`,
		`{"jsonrpc":"2.0","id":3,"method":"call"}`, "[]\n[[]]\n[1,2]", strings.Repeat("[", 500), strings.Repeat(`{"a":`, 300),
	} {
		f.Add([]byte(seed), true, false)
		f.Add([]byte(seed), false, true)
	}
	f.Fuzz(func(t *testing.T, input []byte, batches, nullID bool) {
		const id = `"c0ffee-the-end"`
		if bytes.Contains(input, []byte("c0ffee")) || bytes.Contains(input, []byte(`\u`)) && bytes.Contains(input, []byte("ffee")) {
			return
		}
		input = append(bytes.Clone(input), "\n"+`{"jsonrpc":"2.0","id":`+id+`,"method":"m"}`...)
		var out bytes.Buffer
		conn := NewConn(jsonrpc.NewLines(bytes.NewReader(input), &out, jsonrpc.LinesOptions{MaxMessage: 600}), Options{
			Handle: func(ctx context.Context, req *Request) (any, error) {
				switch req.Method() {
				case "panic":
					panic("asked for")
				case "release":
					req.Release()
				}
				return echo(ctx, req)
			},
			Grace:  time.Minute,
			Logger: slog.New(slog.DiscardHandler),
		})
		conn.SetDialect(Dialect{Batches: batches, NullID: nullID})
		if err := conn.Run(t.Context()); err != nil {
			t.Fatalf("Run: %v", err)
		}
		ends := 0
		for line := range bytes.Lines(out.Bytes()) {
			checkOutput(t, bytes.TrimSuffix(line, []byte("\n")), nullID)
			if bytes.Contains(line, []byte(`"id":`+id)) {
				ends++
			}
		}
		if ends != 1 {
			t.Fatalf("the last request is answered %d times, want once; input %q, output %q", ends, input, out.String())
		}
	})
}

// checkOutput checks that line is a response or an array of them.
func checkOutput(t *testing.T, line []byte, nullID bool) {
	if !json.Valid(line) {
		t.Fatalf("wrote %q, which is not JSON", line)
	}
	if line[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(line, &list); err != nil || len(list) == 0 {
			t.Fatalf("wrote %q, which is not a batch with at least one message: %v", line, err)
		}
		for _, part := range list {
			if part[0] != '{' {
				t.Fatalf("a batch contains another batch: %q", line)
			}
			checkOutput(t, part, nullID)
		}
		return
	}
	g := gist(t, line)
	if strings.HasPrefix(g, "- ") && nullID || strings.HasPrefix(g, "null ") && !nullID {
		t.Fatalf("the id of %q has the wrong form; want null in the answer to a request that cannot be read: %t", line, nullID)
	}
}
