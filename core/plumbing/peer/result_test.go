package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/petrock/petrock/core/jsonrpc"
)

// rawTalk is talk, but returns the output unchanged.
func rawTalk(t testing.TB, handle func(context.Context, *Request) (any, error), input string) string {
	t.Helper()
	var out bytes.Buffer
	conn := NewConn(jsonrpc.NewLines(strings.NewReader(input), &out, jsonrpc.LinesOptions{}), Options{Handle: handle, Logger: slog.New(slog.DiscardHandler)})
	if err := conn.Run(t.Context()); err != nil {
		t.Errorf("Run: %v", err)
	}
	return out.String()
}

type panicky struct{}

func (panicky) MarshalJSON() ([]byte, error) { panic("no JSON of me") }

type refusing struct{}

func (refusing) MarshalJSON() ([]byte, error) { return nil, errors.New("not today") }

// appending is an Appender that can fail or panic.
type appending string

func (a appending) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `"half`...)
	switch a {
	case "fail":
		return dst, errors.New("not today")
	case "panic":
		panic("nor ever")
	}
	return append(dst, `way"`...), nil
}

func TestResults(t *testing.T) {
	tests := []struct {
		result any
		want   string
	}{
		{nil, `1 null`},
		{"<&>", `1 "<&>"`},
		{json.RawMessage(`{"a": 1}`), `1 {"a": 1}`},
		{json.RawMessage("{\n\t\"a\":\r\n 1\n}\n"), "1 { \t\"a\":\r  1 }"},
		{json.RawMessage(nil), `1 null`},
		{json.RawMessage{}, `1 error -32603`},
		{json.RawMessage(`{`), `1 error -32603`},
		{json.RawMessage(`1 2`), `1 error -32603`},
		{make(chan int), `1 error -32603`},
		{func() {}, `1 error -32603`},
		{refusing{}, `1 error -32603`},
		{panicky{}, `1 error -32603`},
		{map[string]any{"a": panicky{}}, `1 error -32603`},
		{appending(""), `1 "halfway"`},
		{appending("fail"), `1 error -32603`},
		{appending("panic"), `1 error -32603`},
	}
	for _, test := range tests {
		handle := func(_ context.Context, req *Request) (any, error) { return test.result, nil }
		equal(t, talk(t, Options{Handle: handle}, Dialect{}, `{"jsonrpc":"2.0","id":1,"method":"m"}`), test.want)
	}
}

func assign(to map[string]int) { to["a"] = 1 }

func TestHandlersThatDoNotReturn(t *testing.T) {
	ways := map[string]func(){
		"panic":     func() { panic("catastrophe") },
		"panic nil": func() { panic(nil) },
		"nil map":   func() { assign(nil) },
		"goexit":    runtime.Goexit,
	}
	for name, end := range ways {
		for _, release := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, released %t", name, release), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log bytes.Buffer
					p := newPeer(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Handle: func(ctx context.Context, req *Request) (any, error) {
						if req.Method() == "end" {
							if release {
								req.Release()
							}
							end()
						}
						return echo(ctx, req)
					}})
					p.send(`{"jsonrpc":"2.0","id":1,"method":"end"}`)
					p.expect(`1 error -32603`)
					synctest.Wait()
					if !strings.Contains(log.String(), "result_test.go") || !strings.Contains(log.String(), "method=end") {
						t.Errorf(`the log is %s; want a stack with "result_test.go" and "method=end" in it`, log.String())
					}
					p.send(`{"jsonrpc":"2.0","method":"end"}`, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
					p.expect(`1 {}`)
					p.conn.SetDialect(Dialect{Batches: true})
					p.send(`[{"jsonrpc":"2.0","id":1,"method":"end"},{"jsonrpc":"2.0","id":2,"method":"m"}]`)
					p.expect(`[1 error -32603; 2 {}]`)
					p.end()
				})
			})
		}
	}
}
