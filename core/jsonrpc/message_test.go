package jsonrpc_test

import (
	"testing"

	"github.com/petrock/petrock/core/jsonrpc"
)

func TestMessage(t *testing.T) {
	for raw, want := range map[string]struct {
		id, method, result, fault string
		request, response         bool
	}{
		`{"jsonrpc":"2.0","id":"a","method":"m","params":{}}`:                     {id: `"a"`, method: "m", request: true},
		`{"jsonrpc":"2.0","method":"m"}`:                                          {method: "m"},
		`{"jsonrpc":"2.0","id":7,"result":{"x":1}}`:                               {id: "7", result: `{"x":1}`, response: true},
		`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}`:              {id: "7", response: true},
		`{"jsonrpc":"2.0","id":1.5,"method":"m"}`:                                 {fault: "an id must be a string or an integer"},
		`{"jsonrpc":"2.0","id":7,"error":3}`:                                      {id: "7", fault: "the error of a response must be an object, got a number", response: true},
		`{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1,"message":"both"}}`: {id: "7", fault: "a response cannot hold both a result and an error", response: true},
	} {
		var m jsonrpc.Message
		m.Parse([]byte(raw))
		fault := ""
		if m.Fault() != nil {
			fault = m.Fault().Message
		}
		if got := m.ID().String(); got != want.id {
			t.Errorf("Parse(%s).ID() = %s, want %s", raw, got, want.id)
		}
		if m.Method() != want.method || string(m.Result()) != want.result || fault != want.fault {
			t.Errorf("Parse(%s) = method %q, result %s, fault %q, want %q, %s, %q", raw, m.Method(), m.Result(), fault, want.method, want.result, want.fault)
		}
		if m.IsRequest() != want.request || m.IsResponse() != want.response {
			t.Errorf("Parse(%s) = request %v, response %v, want %v, %v", raw, m.IsRequest(), m.IsResponse(), want.request, want.response)
		}
	}
}

func TestMessageWithID(t *testing.T) {
	var m jsonrpc.Message
	m.Parse([]byte(` {"method":"id","id": "id" ,"jsonrpc":"2.0"}`))
	const want = `{"method":"id","id": 12 ,"jsonrpc":"2.0"}`
	if got := string(m.WithID(jsonrpc.IntID(12))); got != want {
		t.Errorf("WithID(12) = %s, want %s", got, want)
	}
}

func TestMessageRequests(t *testing.T) {
	var m jsonrpc.Message
	m.Parse([]byte(`[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},3]`))
	if n := m.Requests(); n != 1 {
		t.Errorf("Requests() = %d, want 1", n)
	}
}
