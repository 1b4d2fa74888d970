package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
			fault = m.Fault().Err.Message
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

func TestMessageBatch(t *testing.T) {
	for raw, want := range map[string]struct {
		ids, fault string
		code       jsonrpc.Code
	}{
		`[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":"b","result":2}]`: {ids: `1 "b" `},
		`[{"jsonrpc":"2.0","id":1,"method":"a"},[]]`:                                    {ids: "1  ", fault: "a message must be an object, got an array"},
		`[]`:                                    {code: jsonrpc.InvalidRequest},
		"[" + strings.Repeat("1,", 1000) + "1]": {code: jsonrpc.InvalidRequest},
	} {
		var m jsonrpc.Message
		if m.Parse([]byte(raw)); !m.IsBatch() || m.Fault() != nil {
			t.Errorf("Parse(%.100s) = batch %v, fault %v, want true, nil", raw, m.IsBatch(), m.Fault())
		}
		parts, err := m.Batch()
		var code jsonrpc.Code
		if err != nil {
			code = err.Code
		}
		ids, fault := "", ""
		for _, part := range parts {
			ids += part.ID().String() + " "
			if part.Fault() != nil {
				fault = part.Fault().Err.Message
			}
		}
		if ids != want.ids || fault != want.fault || code != want.code {
			t.Errorf("Batch(%.100s) = ids %s, fault %q, code %d, want %s, %q, %d", raw, ids, fault, code, want.ids, want.fault, want.code)
		}
	}
}

func TestMessageMembers(t *testing.T) {
	var m jsonrpc.Message
	m.Parse([]byte(`{"jsonrpc":"2.0","method":"m","params":{"a":1,"b":{"c":[2]}}}`))
	var got []string
	err := m.Members(func(key, value []byte) error {
		got = append(got, fmt.Sprintf("%s=%s", key, value))
		return nil
	})
	if want := []string{"a=1", `b={"c":[2]}`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Members = %q, %v, want %q, nil", got, err, want)
	}
}

func TestAppend(t *testing.T) {
	request := func(params any) []byte {
		msg, err := jsonrpc.AppendRequest(nil, jsonrpc.ID{}, "m", params)
		return fmt.Appendf(msg, "%v", err)
	}
	result := func(result any) []byte {
		msg, err := jsonrpc.AppendResult([]byte("|"), jsonrpc.IntID(1), result)
		return fmt.Appendf(msg, "%v", err != nil)
	}
	for _, test := range []struct {
		got  []byte
		want string
	}{
		{request(nil), `{"jsonrpc":"2.0","method":"m"}<nil>`},
		{request(json.RawMessage(nil)), `{"jsonrpc":"2.0","method":"m"}<nil>`},
		{request(3), `encode the params of m: must be an object or an array, got a number`},
		{result(json.RawMessage(`{}`)), `|{"jsonrpc":"2.0","id":1,"result":{}}false`},
		{result(json.RawMessage(`{`)), `|true`},
		{jsonrpc.AppendError(nil, jsonrpc.NullID, jsonrpc.Errorf(5, "no")), `{"jsonrpc":"2.0","id":null,"error":{"code":5,"message":"no"}}`},
		{jsonrpc.AppendError(nil, jsonrpc.ID{}, jsonrpc.InvalidParams), `{"jsonrpc":"2.0","error":{"code":-32602,"message":"invalid params"}}`},
		{jsonrpc.AppendError(nil, jsonrpc.IntID(1), errors.New("broken")), `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"broken"}}`},
	} {
		if string(test.got) != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}
