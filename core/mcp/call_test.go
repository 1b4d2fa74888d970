package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/core/strictjson"
)

// Progress is not sent after the end of the call, however it ends.
func TestProgressAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(mcp.Options{})
		var left context.Context
		err := s.AddTool(mcp.Tool{Name: "work"}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
			left = context.WithoutCancel(ctx)
			mcp.Progress(ctx, math.NaN(), 0, "")
			mcp.Progress(ctx, 1, math.Inf(1), "")
			mcp.Progress(ctx, 1, 0, "")
			if strings.Contains(string(arguments), "wait") {
				<-ctx.Done()
				mcp.Progress(left, 2, 0, "")
			}
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		c := mcptest.Connect(t, s)
		params := map[string]any{"name": "work", "_meta": map[string]any{"progressToken": 1}}
		if err := c.Call("tools/call", params, nil); err != nil {
			t.Fatal(err)
		}
		mcp.Progress(left, 3, 0, "")
		params["arguments"] = map[string]any{"wait": true}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.CallContext(ctx, "tools/call", params, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		synctest.Wait()
		mcp.Progress(left, 4, 0, "")
		mcp.Progress(context.Background(), 5, 0, "outside of any call")
		synctest.Wait()
		if got := c.Received(); len(got) != 2 {
			t.Errorf("the client got %d messages, want 2: %+v", len(got), got)
		}
	})
}

// late reports progress while it is encoded as part of a result.
type late struct{ ctx context.Context }

func (l late) MarshalJSON() ([]byte, error) {
	mcp.Progress(l.ctx, 2, 0, "")
	return []byte(`1`), nil
}

// Progress is not sent after the handler has returned.
func TestProgressAfterTheResult(t *testing.T) {
	s := newServer(mcp.Options{})
	err := s.AddTool(mcp.Tool{Name: "work"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		mcp.Progress(ctx, 1, 0, "")
		return &mcp.ToolResult{Meta: mcp.Meta{"late": late{ctx}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c := mcptest.Connect(t, s)
	if err := c.Call("tools/call", map[string]any{"name": "work", "_meta": map[string]any{"progressToken": 1}}, nil); err != nil {
		t.Fatal(err)
	}
	if got := c.Received(); len(got) != 1 {
		t.Errorf("the client got %d messages, want 1: %+v", len(got), got)
	}
}

// A call's logger needs no context. The server's log and the client have separate levels.
func TestLogger(t *testing.T) {
	var log strings.Builder
	s := newServer(mcp.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	err := s.AddTool(mcp.Tool{Name: "log"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		mcp.Logger(ctx).Info("for the client")
		mcp.Logger(ctx).With("k", 1).Warn("for both")
		mcp.Logger(ctx).Log(ctx, slog.LevelError+4, "critical")
		mcp.Logger(ctx).Info("water", "level", 5, "time", "noon", "msg", "mine", slog.Group("g", "msg", 1))
		mcp.Logger(ctx).With("msg", "kept", "level", 7).Info("fire")
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c := mcptest.Connect(t, s)
	if err := c.Call("logging/setLevel", map[string]any{"level": "debug"}, nil); err != nil {
		t.Fatal(err)
	}
	c.CallTool("log", nil)
	for _, want := range []string{
		`{"level":"info","logger":"s","data":{"msg":"for the client"}}`,
		`{"level":"warning","logger":"s","data":{"msg":"for both","k":1}}`,
		`{"level":"critical","logger":"s","data":{"msg":"critical"}}`,
		`{"level":"info","logger":"s","data":{"msg":"water","level":5,"time":"noon","msg_":"mine","g":{"msg":1}}}`,
		`{"level":"info","logger":"s","data":{"msg":"fire","msg_":"kept","level":7}}`,
	} {
		if got := c.Next("notifications/message"); string(got.Params) != want {
			t.Errorf("the client is told %s, want %s", got.Params, want)
		}
	}
	if strings.Contains(log.String(), "for the client") || !strings.Contains(log.String(), `msg="for both" k=1`) {
		t.Errorf("the log is\n%s; want %q in it, and no \"for the client\"", &log, `msg="for both" k=1`)
	}
	mcp.Logger(context.Background()).Debug("outside of any call")
}

// A handler may append to its arguments, and a hook may replace the params.
func TestParamsBelongToTheCall(t *testing.T) {
	var params string
	s := newServer(mcp.Options{Tools: true, Hook: func(ctx context.Context, c *mcp.Call, next func(context.Context) (any, error)) (any, error) {
		if c.Method == "tools/list" {
			c.Params = json.RawMessage(`{"cursor":`)
		}
		result, err := next(ctx)
		if c.Method == "tools/call" {
			params = string(c.Params)
		}
		return result, err
	}})
	if err := s.AddTool(mcp.Tool{Name: "work"}, func(_ context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
		_ = append(arguments, "XXXXXXXX"...)
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	client := mcptest.Connect(t, s)
	client.Call("tools/call", json.RawMessage(`{"arguments":{},"name":"work"}`), nil)
	if params != `{"arguments":{},"name":"work"}` {
		t.Errorf(`the params are now %s, want {"arguments":{},"name":"work"}`, params)
	}
	if err := client.Call("tools/list", nil, nil); err == nil || strings.Contains(err.Error(), "internal error") {
		t.Errorf(`params that are no JSON give %v; want an error without "internal error"`, err)
	}
}

type crooked struct{}

func (crooked) MarshalJSON() ([]byte, error) { return []byte(`{"x":1,"x":2}`), nil }

// Invalid JSON in an output is not sent, even if the schema allows it.
func TestOutputThatIsNotStrict(t *testing.T) {
	work := func(context.Context, struct{}) (crooked, error) { return crooked{}, nil }
	for _, schema := range []json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`{"type":"object"}`)} {
		s := newServer(mcp.Options{})
		if err := mcp.AddTool(s, mcp.Tool{Name: "work", OutputSchema: schema}, work); err != nil {
			t.Fatal(err)
		}
		var result mcp.ToolResult
		err := mcptest.Connect(t, s).Call("tools/call", map[string]any{"name": "work"}, &result)
		if err == nil && !result.IsError {
			t.Errorf("with the schema %q it is sent: %s", schema, result.StructuredContent)
		}
	}
}

// Nor is a block that is no JSON.
func TestContentThatIsNoJSON(t *testing.T) {
	for _, raw := range []string{"", "{", `{"type":"video"} {}`} {
		s := newServer(mcp.Options{})
		err := s.AddTool(mcp.Tool{Name: "work"}, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			return &mcp.ToolResult{Content: []mcp.Content{mcp.Text{Text: "a"}, mcp.UnknownContent{Type: "video", Raw: json.RawMessage(raw)}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var result mcp.ToolResult
		err = mcptest.Connect(t, s).Call("tools/call", map[string]any{"name": "work"}, &result)
		if _, answered := errors.AsType[*jsonrpc.Error](err); !answered {
			t.Errorf("with the block %q: got %v, %v; want an error response", raw, result, err)
		}
	}
}

// A handler may return the same result several times, because it is not modified.
func TestSharedResult(t *testing.T) {
	shared := &mcp.ToolResult{StructuredContent: json.RawMessage(`{"sum":1}`)}
	s := newServer(mcp.Options{})
	err := s.AddTool(mcp.Tool{Name: "work", OutputSchema: json.RawMessage(fixture.AddOutputSchema)}, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
		return shared, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, r := range append(mcp.HandshakeRevisions(), mcp.Latest) {
		client := mcptest.ConnectWith(t, s, mcptest.Options{Revision: r})
		all.Go(func() {
			for range 50 {
				var result mcp.ToolResult
				if err := client.Call("tools/call", map[string]any{"name": "work"}, &result); err != nil || result.Text() != `{"sum":1}` {
					t.Errorf(`%s: %q, %v; want no error and Text "{\"sum\":1}"`, r, result.Text(), err)
				}
			}
		})
	}
	all.Wait()
}

// SetResultMeta adds to the _meta of results of tools, failed ones too, of resources and of
// prompts.
func TestSetResultMeta(t *testing.T) {
	s := newServer(mcp.Options{})
	set := func(ctx context.Context) { mcp.CallFrom(ctx).SetResultMeta("a", 1) }
	own := &mcp.ToolResult{StructuredContent: json.RawMessage(`{}`), Meta: mcp.Meta{"b": 2}}
	err := errors.Join(
		s.AddTool(mcp.Tool{Name: "tool"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			set(ctx)
			return own, nil
		}),
		s.AddTool(mcp.Tool{Name: "failing"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			set(ctx)
			return nil, errors.New("no")
		}),
		mcp.AddResource(s, mcp.Resource{URI: "x://y", Name: "y"}, func(ctx context.Context) (string, error) {
			set(ctx)
			return "", nil
		}),
		mcp.AddPrompt(s, mcp.Prompt{Name: "prompt"}, func(ctx context.Context, _ struct{}) (string, error) {
			set(ctx)
			return "", nil
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	client := mcptest.Connect(t, s)
	for _, test := range []struct {
		method, want string
		params       map[string]any
	}{
		{"tools/call", `{"a":1,"b":2}`, map[string]any{"name": "tool"}},
		{"tools/call", `{"a":1}`, map[string]any{"name": "failing"}},
		{"resources/read", `{"a":1}`, map[string]any{"uri": "x://y"}},
		{"prompts/get", `{"a":1}`, map[string]any{"name": "prompt"}},
	} {
		var result struct {
			Meta mcp.Meta `json:"_meta"`
		}
		if err := client.Call(test.method, test.params, &result); err != nil {
			t.Fatal(err)
		}
		delete(result.Meta, mcp.MetaServerInfo)
		if got, err := json.Marshal(result.Meta); err != nil || string(got) != test.want {
			t.Errorf("%s %v: got %s, %v, want %s", test.method, test.params, got, err, test.want)
		}
	}
	if len(own.Meta) != 1 {
		t.Errorf("the result of the tool has %d entries in Meta now, want 1: %+v", len(own.Meta), own.Meta)
	}
}

// A hook replaces the arguments of a tool before they are validated.
func TestSetArguments(t *testing.T) {
	s := newServer(mcp.Options{Tools: true, Hook: func(ctx context.Context, c *mcp.Call, next func(context.Context) (any, error)) (any, error) {
		if text := strings.ReplaceAll(string(strictjson.Member(c.Params, "arguments")), "old", "new"); c.Method == "tools/call" {
			c.SetArguments(json.RawMessage(text))
		}
		return next(ctx)
	}})
	tool := mcp.Tool{Name: "look", InputSchema: json.RawMessage(`{"type":"object","properties":{"new":{"type":"string"}},"additionalProperties":false}`)}
	if err := s.AddTool(tool, func(_ context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
		return mcp.TextResult(string(arguments)), nil
	}); err != nil {
		t.Fatal(err)
	}
	client := mcptest.Connect(t, s)
	for arguments, want := range map[string]string{`{"old":"old"}`: `{"new":"new"}`, `{"older":1}`: "newer: is not a known property"} {
		if got := client.CallTool("look", json.RawMessage(arguments)).Text(); !strings.Contains(got, want) {
			t.Errorf("look(%s) = %q, want %q in it", arguments, got, want)
		}
	}
}
