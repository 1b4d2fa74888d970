package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcptest"
)

// addFunc adds a function as the tool "f".
func addFunc[In, Out any](f func(context.Context, In) (Out, error)) func(*mcp.Server) error {
	return func(s *mcp.Server) error { return mcp.AddTool(s, mcp.Tool{Name: "f"}, f) }
}

// The outputs of typed functions, and the results that clients get.
func TestAddTool(t *testing.T) {
	type point struct {
		X int8 `json:"x,omitempty"`
	}
	tests := []struct {
		name      string
		add       func(*mcp.Server) error
		arguments string
		text      string
		structure string
		isError   bool
	}{
		{"struct", addFunc(func(_ context.Context, in point) (point, error) { return point{in.X * 2}, nil }), `{"x":4}`, `{"x":8}`, `{"x":8}`, false},
		{"pointer", addFunc(func(_ context.Context, in point) (*point, error) { return &in, nil }), `{"x":4}`, `{"x":4}`, `{"x":4}`, false},
		{"string", addFunc(func(context.Context, point) (string, error) { return "<a> & b", nil }), `{}`, `<a> & b`, `"<a> & b"`, false},
		{"encoded string", addFunc(func(context.Context, point) (mcp.Encoded[string], error) {
			return mcp.Encoded[string]{JSON: json.RawMessage(`"a\nb"`)}, nil
		}), `{}`, "a\nb", `"a\nb"`, false},
		{"encoded struct", addFunc(func(context.Context, point) (mcp.Encoded[point], error) {
			return mcp.Encoded[point]{JSON: json.RawMessage(`{"x":7}`)}, nil
		}), `{}`, `{"x":7}`, `{"x":7}`, false},
		{"slice", addFunc(func(context.Context, point) ([]int, error) { return []int{1}, nil }), `{}`, `[1]`, `[1]`, false},
		{"map in, any out", addFunc(func(_ context.Context, in map[string]any) (any, error) { return in["k"], nil }), `{"k":[true]}`, `[true]`, `[true]`, false},
		{"result", addFunc(func(context.Context, point) (*mcp.ToolResult, error) { return mcp.TextResult("mine"), nil }), `{}`, "mine", "", false},
		{"result by value", addFunc(func(context.Context, point) (mcp.ToolResult, error) { return *mcp.TextResult("mine"), nil }), `{}`, "mine", "", false},
		{"error", addFunc(func(context.Context, point) (point, error) { return point{}, errors.New("no") }), `{}`, "no", "", true},
		{"nil slice", addFunc(func(context.Context, point) ([]int, error) { return nil, nil }), `{}`, `[]`, `[]`, false},
		{"value too large", addFunc(func(_ context.Context, in point) (point, error) { return in, nil }), `{"x":300}`, "invalid arguments: x: 300 does not fit in int8", "", true},
		{"wrong case", addFunc(func(_ context.Context, in point) (point, error) { return in, nil }), `{"X":3}`, "invalid arguments for f:\nX: is not a known property; known: x", "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(mcp.Options{})
			if err := test.add(s); err != nil {
				t.Fatal(err)
			}
			var result mcp.ToolResult
			client := mcptest.ConnectWith(t, s, mcptest.Options{Revision: mcp.Latest})
			if err := client.Call("tools/call", map[string]any{"name": "f", "arguments": json.RawMessage(test.arguments)}, &result); err != nil {
				t.Fatal(err)
			}
			if result.Text() != test.text || string(result.StructuredContent) != test.structure || result.IsError != test.isError {
				t.Errorf("text %q, structure %s, isError %t; want %q, %s, %t", result.Text(), result.StructuredContent, result.IsError, test.text, test.structure, test.isError)
			}
		})
	}
}

type pageInput struct {
	Size int    `json:"size" schema:"default=9"`
	Sort string `json:"sort" schema:"enum=name|date,default=name"`
}

type defaultsInput struct {
	pageInput
	Deep struct {
		On bool    `json:"on" schema:"default=true"`
		At float32 `json:"at,omitempty"`
	} `json:"deep,omitempty"`
}

// Missing fields have their defaults, whether the schema is inferred or set.
func TestAddToolDefaults(t *testing.T) {
	const given = `{"type":"object","properties":{"size":{"type":"integer","default":9},"sort":{"default":"name"},"deep":{"type":"object","properties":{"on":{"type":"boolean","default":true},"at":{}}}}}`
	echo := func(_ context.Context, in defaultsInput) (defaultsInput, error) {
		defer func() { in.Size = -1 }()
		return in, nil
	}
	for _, schema := range []json.RawMessage{nil, json.RawMessage(given)} {
		client := mcptest.Serve(t, func(s *mcp.Server) error { return mcp.AddTool(s, mcp.Tool{Name: "f", InputSchema: schema}, echo) })
		for _, test := range []struct{ arguments, want string }{
			{`{}`, `{"size":9,"sort":"name","deep":{"on":true}}`},
			{`{"size":1,"sort":"date","deep":{"at":0.5}}`, `{"size":1,"sort":"date","deep":{"on":true,"at":0.5}}`},
			{`{"deep":{"on":false}}`, `{"size":9,"sort":"name","deep":{"on":false}}`},
		} {
			if got := client.CallTool("f", json.RawMessage(test.arguments)).Text(); got != test.want {
				t.Errorf("%s gives %s, want %s", test.arguments, got, test.want)
			}
		}
	}
}

func TestDecode(t *testing.T) {
	result := &mcp.ToolResult{StructuredContent: json.RawMessage(`{"sum":3,"SUM":4}`)}
	var out fixture.AddOutput
	if err := result.Decode(&out); err != nil || out.Sum != 3 {
		t.Errorf("got %+v, %v; want no error and Sum 3", out, err)
	}
	if err := mcp.TextResult("x").Decode(&out); err == nil {
		t.Error("Decode() of a result without structured content returned no error, want one")
	}
}

// For any params of tools/call, the handler runs only for arguments that the schema allows, and
// gets them decoded correctly.
func FuzzCallTool(f *testing.F) {
	f.Add([]byte(`{"name":"add","arguments":{"a":1,"b":2}}`))
	f.Add([]byte(`{"name":"add","arguments":{"a":1,"A":3,"b":2}}`))
	f.Add([]byte(`{"name":"add","arguments":{"a":"1"}}`))
	f.Add([]byte(`{"Name":"add","arguments":[],"_meta":{"progressToken":1}}`))
	f.Add([]byte(`{"name":"add","arguments":{"a":1e400,"b":-0}}`))
	f.Add([]byte(`{"name":"add","arguments":{"a":1,"b":2},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/logLevel":"info"}}`))
	f.Add([]byte(`{"name":"add","inputResponses":{"k":{"action":"accept"}},"requestState":"a.b","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`))
	ran := false
	var in fixture.AddInput
	s := newServer(mcp.Options{})
	err := mcp.AddTool(s, fixture.AddTool(), func(ctx context.Context, got fixture.AddInput) (fixture.AddOutput, error) {
		ran, in = true, got
		return fixture.Add(ctx, got)
	})
	if err != nil {
		f.Fatal(err)
	}
	client := connectRaw(f, s)
	f.Fuzz(func(t *testing.T, params []byte) {
		if !json.Valid(params) || len(params) > 1<<19 {
			return
		}
		ran = false
		answer := client.ask(t, params)
		if !ran {
			return
		}
		// The reference: decode with encoding/json into a map, whose keys are case-sensitive.
		var p struct {
			Arguments map[string]any `json:"arguments"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			t.Fatalf("%s ran add, want it refused: %v", params, err)
		}
		a, isA := p.Arguments["a"].(float64)
		b, isB := p.Arguments["b"].(float64)
		if !isA || !isB || len(p.Arguments) != 2 || a != in.A || b != in.B {
			t.Fatalf("%s ran add with %+v and was answered by %s; want exactly a %v and b %v", params, in, answer, p.Arguments["a"], p.Arguments["b"])
		}
	})
}
