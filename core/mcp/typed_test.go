package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/petrock/petrock/core/mcp"
)

// What a function of Go types returns, and what comes of it.
func TestTyped(t *testing.T) {
	type point struct {
		X int8 `json:"x"`
	}
	tests := []struct {
		name      string
		handler   mcp.ToolHandler
		arguments string
		text      string
		structure string
		err       string
	}{
		{"struct", mcp.Typed(func(_ context.Context, in point) (point, error) { return point{in.X * 2}, nil }), `{"x":4}`, `{"x":8}`, `{"x":8}`, ""},
		{"pointer", mcp.Typed(func(_ context.Context, in *point) (*point, error) { return in, nil }), `{"x":4}`, `{"x":4}`, `{"x":4}`, ""},
		{"string", mcp.Typed(func(context.Context, point) (string, error) { return "<a> & b", nil }), `{}`, `<a> & b`, `"<a> & b"`, ""},
		{"slice", mcp.Typed(func(context.Context, point) ([]int, error) { return []int{1}, nil }), `{}`, `[1]`, `[1]`, ""},
		{"map in, any out", mcp.Typed(func(_ context.Context, in map[string]any) (any, error) { return in["k"], nil }), `{"k":[true]}`, `[true]`, `[true]`, ""},
		{"result", mcp.Typed(func(context.Context, point) (*mcp.ToolResult, error) { return mcp.TextResult("mine"), nil }), `{}`, "mine", "", ""},
		{"result by value", mcp.Typed(func(context.Context, point) (mcp.ToolResult, error) { return *mcp.TextResult("mine"), nil }), `{}`, "mine", "", ""},
		{"error", mcp.Typed(func(context.Context, point) (point, error) { return point{}, errors.New("no") }), `{}`, "", "", "no"},
		{"nil slice", mcp.Typed(func(context.Context, point) ([]int, error) { return nil, nil }), `{}`, `[]`, `[]`, ""},
		{"what does not fit", mcp.Typed(func(_ context.Context, in point) (point, error) { return in, nil }), `{"x":300}`, "", "", "invalid arguments: x: 300 does not fit in int8"},
		{"wrong case", mcp.Typed(func(_ context.Context, in point) (point, error) { return in, nil }), `{"X":3}`, `{"x":0}`, `{"x":0}`, ""},
		{"what cannot be encoded", mcp.Typed(func(context.Context, point) (chan int, error) { return nil, nil }), `{}`, "", "", "encoding the output: json: unsupported type: chan int"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result, err := test.handler(t.Context(), json.RawMessage(test.arguments))
			if err != nil || test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("error = %v, want %q", err, test.err)
				}
				return
			}
			if result.Text() != test.text || string(result.StructuredContent) != test.structure {
				t.Errorf("text %q and structure %s, want %q and %s", result.Text(), result.StructuredContent, test.text, test.structure)
			}
		})
	}
}

type defaultsBase struct {
	Words []string `json:"words"`
}

type defaultsInput struct {
	defaultsBase
	Limit  *int               `json:"limit"`
	Sort   string             `json:"sort"`
	Range  struct{ A, B int } `json:"range"`
	Seen   map[string]int     `json:"seen"`
	Pair   [1]*int            `json:"pair"`
	Raw    json.RawMessage    `json:"raw"`
	Logger *slog.Logger       `json:"-"`
}

// What the caller leaves out is as in the defaults, in the second call too, whatever the first
// one sent and its function did.
func TestTypedFrom(t *testing.T) {
	limit, one := 20, 1
	defaults := defaultsInput{
		defaultsBase: defaultsBase{[]string{"a"}},
		Limit:        &limit, Sort: "name", Seen: map[string]int{"x": 1}, Pair: [1]*int{&one}, Raw: json.RawMessage(`{"k":1}`), Logger: slog.Default(),
	}
	defaults.Range.B = 9
	handler := mcp.TypedFrom(defaults, func(_ context.Context, in defaultsInput) (defaultsInput, error) {
		if in.Logger != slog.Default() {
			t.Error("what JSON cannot reach is another one")
		}
		before, err := json.Marshal(in)
		if err != nil {
			return in, err
		}
		in.Words[0], *in.Limit, in.Seen["y"], *in.Pair[0], in.Raw[0] = "changed", -1, -1, -1, '['
		var out defaultsInput
		return out, json.Unmarshal(before, &out)
	})
	const unsaid = `{"words":["a"],"limit":20,"sort":"name","range":{"A":0,"B":9},"seen":{"x":1},"pair":[1],"raw":{"k":1}}`
	for _, test := range []struct{ arguments, want string }{
		{`{}`, unsaid},
		{
			`{"words":["b","c"],"limit":5,"sort":"","range":{"A":3},"seen":{"z":2},"pair":[7],"raw":[2,3]}`,
			`{"words":["b","c"],"limit":5,"sort":"","range":{"A":3,"B":9},"seen":{"x":1,"z":2},"pair":[7],"raw":[2,3]}`,
		},
		{`{}`, unsaid},
	} {
		result, err := handler(t.Context(), json.RawMessage(test.arguments))
		if err != nil || result.Text() != test.want {
			t.Errorf("%s gives %v, %v\nwant %s", test.arguments, result, err, test.want)
		}
	}
}

// An input may be a pointer; each call has its own.
func TestTypedFromPointer(t *testing.T) {
	handler := mcp.TypedFrom(&searchInput{Limit: 20}, func(_ context.Context, in *searchInput) (int, error) {
		in.Limit++
		return in.Limit, nil
	})
	for range 2 {
		if result, err := handler(t.Context(), json.RawMessage(`{}`)); err != nil || result.Text() != "21" {
			t.Errorf("got %v, %v", result, err)
		}
	}
}

func TestDecode(t *testing.T) {
	result := &mcp.ToolResult{StructuredContent: json.RawMessage(`{"sum":3,"SUM":4}`)}
	var out addOutput
	if err := result.Decode(&out); err != nil || out.Sum != 3 {
		t.Errorf("got %+v, %v", out, err)
	}
	if err := mcp.TextResult("x").Decode(&out); err == nil {
		t.Error("there is nothing to decode, and nothing is said")
	}
}

// Whatever the params of tools/call are, the handler runs only for arguments that the
// schema allows, and sees in Go what stands in JSON.
func FuzzCallTool(f *testing.F) {
	f.Add([]byte(`{"name":"add","arguments":{"a":1,"b":2}}`))
	f.Add([]byte(`{"name":"add","arguments":{"a":1,"A":3,"b":2}}`))
	f.Add([]byte(`{"name":"add","arguments":{"a":"1"}}`))
	f.Add([]byte(`{"Name":"add","arguments":[],"_meta":{"progressToken":1}}`))
	f.Add([]byte(`{"name":"add","arguments":{"a":1e400,"b":-0}}`))
	f.Add([]byte(`{"name":"add","arguments":{"a":1,"b":2},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/logLevel":"info"}}`))
	f.Add([]byte(`{"name":"add","inputResponses":{"k":{"action":"accept"}},"requestState":"a.b","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`))
	ran := false
	var in addInput
	s := newServer(mcp.Options{})
	err := s.AddTool(addTool(), mcp.Typed(func(ctx context.Context, got addInput) (addOutput, error) {
		ran, in = true, got
		return add(ctx, got)
	}))
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
		// The model: decode with encoding/json into a map, which knows no letter case rules.
		var p struct {
			Arguments map[string]any `json:"arguments"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			t.Fatalf("%s ran add", params)
		}
		a, isA := p.Arguments["a"].(float64)
		b, isB := p.Arguments["b"].(float64)
		if !isA || !isB || len(p.Arguments) != 2 || a != in.A || b != in.B {
			t.Fatalf("%s ran add with %+v and was answered by %s", params, in, answer)
		}
	})
}
