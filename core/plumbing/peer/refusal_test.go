package peer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/jsonrpc"
)

func TestInvalidMessages(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct{ in, want string }{
		// Invalid JSON.
		{`{"jsonrpc":"2.0","id":1,"method":"m"`, `- error -32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"m"}}`, `- error -32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"m",}`, `- error -32700`},
		{`{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]`, `- error -32700`},
		{`{'jsonrpc':'2.0','id':1,'method':'m'}`, `- error -32700`},
		{`{"jsonrpc":"2.0","id":01,"method":"m"}`, `- error -32700`},
		{`nonsense`, `- error -32700`},
		{"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"m"}`, `- error -32700`},
		{"\u00a0", `- error -32700`},
		{"\v" + `{"jsonrpc":"2.0","id":1,"method":"m"}`, `- error -32700`},
		{"\x00", `- error -32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"m"}{"jsonrpc":"2.0","id":2,"method":"m"}`, `- error -32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"` + "\xff" + `"}`, `- error -32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"` + "\xed\xa0\x80" + `"}}`, `- error -32700`},
		{`{"jsonrpc":"2.0","id":"` + "\xc0\x80" + `","method":"m"}`, `- error -32700`},
		{`[`, `- error -32700`},

		// Valid JSON, but not a message.
		{`1`, `- error -32600`},
		{`"x"`, `- error -32600`},
		{`null`, `- error -32600`},
		{`{}`, `- error -32600`},
		{`{"foo":"boo"}`, `- error -32600`},
		{`{"jsonrpc":"2.0","id":1}`, `1 error -32600`},
		{`{"jsonrpc":"2.0","method":1,"params":"bar"}`, `- error -32600`},
		{`{"jsonrpc":"2.0","id":1,"method":1}`, `1 error -32600`},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, `1 error -32600`},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, `1 error -32600`},
		{`{"jsonrpc":"1.0","id":1,"method":"m"}`, `1 error -32600`},
		{`{"jsonrpc":2.0,"id":1,"method":"m"}`, `1 error -32600`},
		{`{"id":"x","method":"m"}`, `"x" error -32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":1}`, `1 error -32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, `1 error -32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, `1 error -32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","error":{}}`, `1 error -32600`},

		// Duplicate keys and nesting.
		{`{"jsonrpc":"2.0","id":1,"method":"m","method":"m"}`, `1 error -32600`},
		{`{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}`, `- error -32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","\u0069d":2}`, `- error -32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":{"b":1,"\u0062":2}}}`, `1 error -32600`},
		{`{"jsonrpc":"2.0","params":{"id":7,"id":8},"method":"m","id":1}`, `1 error -32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":` + deep(255) + `}`, `1 ` + deep(255)},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":` + deep(256) + `}`, `1 error -32600`},
		{`{"jsonrpc":"2.0","method":"m","params":` + deep(100_000) + `,"id":1}`, `1 error -32600`},
		{deep(100_000), `- error -32600`},

		// Keys are case-sensitive.
		{`{"jsonrpc":"2.0","ID":1,"id":2,"Method":"x","method":"m","PARAMS":[1]}`, `2 {}`},
		{`{"jsonrpc":"2.0","id":1,"Method":"m"}`, `1 error -32600`},
		{`{"JSONRPC":"2.0","id":1,"method":"m"}`, `1 error -32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","Result":1,"ERROR":2}`, `1 {}`},

		// Valid messages.
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, `1 {}`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, `1 []`},
		{` {"jsonrpc" : "2\u002e0" , "\u0069d" : 1 , "method" : "\u006d" , "params" : {} , "extra" : [ ] } `, `1 {}`},
		{`{"jsonrpc":"2.0","id":1,"method":"no such"}`, `1 error -32601`},
	}
	for _, test := range tests {
		name := test.in[:min(len(test.in), 60)]
		equal(t, talk(t, Options{}, Dialect{}, test.in), test.want)
		want := test.want
		if strings.HasPrefix(want, "- ") {
			want = "null " + want[2:]
		}
		equal(t, talk(t, Options{}, Dialect{NullID: true}, test.in), want)
		if t.Failed() {
			t.Fatalf("the checks at %s failed; see above", name)
		}
	}
}

func TestInvalidNotificationsAndResponsesAreNotAnswered(t *testing.T) {
	for _, in := range []string{
		`{"jsonrpc":"2.0","method":"no"}`,
		`{"jsonrpc":"2.0","method":""}`,
		`{"jsonrpc":"2.0","method":"m","params":1}`,
		`{"jsonrpc":"1.0","method":"m"}`,
		`{"jsonrpc":"2.0","method":"m","params":{"a":1,"a":2}}`,
		`{"jsonrpc":"2.0","method":"m","params":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`,
		`{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}`,
		`{"jsonrpc":"2.0","id":null,"error":3}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"result":1}`,
		`{"id":1,"result":["` + strings.Repeat("x", jsonrpc.DefaultMaxMessage) + `"]}`,
	} {
		if got := talk(t, Options{}, Dialect{Batches: true}, in); got != nil {
			t.Errorf("%.80s: got %q, want nil", in, got)
		}
		if len(in) > 1000 || strings.Contains(in, "[[") {
			continue // too much for any batch
		}
		if got := talk(t, Options{}, Dialect{Batches: true}, "["+in+"]"); got != nil {
			t.Errorf("in a batch, %.80s: got %q, want nil", in, got)
		}
	}
}

func TestHandlerErrors(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{errors.New("oh"), `{"code":-32603,"message":"oh"}`},
		{jsonrpc.Errorf(jsonrpc.InvalidParams, "a <b>"), `{"code":-32602,"message":"a <b>"}`},
		{fmt.Errorf("wrapped: %w", jsonrpc.Errorf(jsonrpc.InvalidParams, "a")), `{"code":-32602,"message":"a"}`},
		{jsonrpc.MethodNotFound, `{"code":-32601,"message":"method not found"}`},
		{fmt.Errorf("no x: %w", jsonrpc.InvalidParams), `{"code":-32602,"message":"no x: invalid params"}`},
		{&jsonrpc.Error{Code: 5, Message: "\xff\n", Data: []byte(`{"a": 1}`)}, `{"code":5,"message":"\ufffd\n","data":{"a": 1}}`},
		{&jsonrpc.Error{Code: 5, Message: "m", Data: []byte("[1,\n2]")}, `{"code":5,"message":"m","data":[1, 2]}`},
		{&jsonrpc.Error{Code: 5, Message: "m", Data: []byte(`{`)}, `{"code":5,"message":"m"}`},
		{(*jsonrpc.Error)(nil), `{"code":-32603,"message":"internal error in m"}`},
	}
	for _, test := range tests {
		got := rawTalk(t, func(context.Context, *Request) (any, error) { return nil, test.err }, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
		if want := `{"jsonrpc":"2.0","id":1,"error":` + test.want + "}\n"; got != want {
			t.Errorf("%#v\ngot  %swant %s", test.err, got, want)
		}
	}
}
