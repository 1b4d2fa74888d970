package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
)

// What a function of Go types may return for a resource, and what comes of it.
func TestTypedResource(t *testing.T) {
	one := mcp.ResourceContents{URI: "a://b", Text: "own"}
	tests := []struct {
		name    string
		handler mcp.ResourceHandler
		want    []mcp.ResourceContents
		err     string
	}{
		{"string", typedResource("<t>"), []mcp.ResourceContents{{Text: "<t>"}}, ""},
		{"bytes", typedResource([]byte("b")), []mcp.ResourceContents{{Blob: []byte("b")}}, ""},
		{"no bytes", typedResource([]byte(nil)), []mcp.ResourceContents{{Blob: []byte{}}}, ""},
		{"contents", typedResource(one), []mcp.ResourceContents{one}, ""},
		{"pointer to contents", typedResource(&one), []mcp.ResourceContents{one}, ""},
		{"no contents", typedResource((*mcp.ResourceContents)(nil)), nil, ""},
		{"several", typedResource([]mcp.ResourceContents{one, one}), []mcp.ResourceContents{one, one}, ""},
		{"struct", typedResource(addOutput{3}), []mcp.ResourceContents{{MIMEType: "application/json", Text: `{"sum":3}`}}, ""},
		{"JSON", typedResource(json.RawMessage(`["<"]`)), []mcp.ResourceContents{{MIMEType: "application/json", Text: `["<"]`}}, ""},
		{"what cannot be encoded", typedResource(func() {}), nil, "encoding the contents: json: unsupported type: func()"},
		{"error", mcp.TypedResource(func(context.Context) (string, error) { return "x", errors.New("no") }), nil, "no"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.handler(t.Context(), "a://a", nil)
			if !reflect.DeepEqual(got, test.want) || err != nil && err.Error() != test.err || err == nil && test.err != "" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func typedResource[Out any](out Out) mcp.ResourceHandler {
	return mcp.TypedResource(func(context.Context) (Out, error) { return out, nil })
}

func TestTypedTemplate(t *testing.T) {
	handler := mcp.TypedTemplate(note)
	got, err := handler(t.Context(), "a://b", map[string]string{"id": "b", "day": "2026-07-28T10:00:00Z"})
	want := []mcp.ResourceContents{{MIMEType: "application/json", Text: `{"id":"b","kind":"","day":"2026-07-28T10:00:00Z"}`}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := handler(t.Context(), "a://b", map[string]string{"day": time.Monday.String()}); !errors.Is(err, jsonrpc.InvalidParams) {
		t.Errorf("error = %v", err)
	}
}

// What cannot be read cannot be followed either.
func TestSubscribeChecksVariables(t *testing.T) {
	s := newServer(mcp.Options{})
	addTyped(t, s)
	c := mcptest.Connect(t, s)
	for uri, want := range map[string]error{"typed://note/a": nil, "typed://note/A": jsonrpc.InvalidParams, "typed://nope": mcp.ResourceNotFound} {
		if err := c.Call("resources/subscribe", map[string]any{"uri": uri}, nil); !errors.Is(err, want) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
