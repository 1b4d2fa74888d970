package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// A quick tool that becomes slow delays the next request only briefly, and can be cancelled.
func TestQuickToolBecomesSlow(t *testing.T) {
	ways := map[string]func(ctx context.Context){
		"never looks at its context":  func(context.Context) { time.Sleep(time.Second) },
		"waits for its context":       func(ctx context.Context) { <-ctx.Done() },
		"waits with a time limit":     func(ctx context.Context) { wait(ctx, time.Second) },
		"waits in another goroutine":  func(ctx context.Context) { await(func() { <-ctx.Done() }) },
		"tells how far it is at once": func(ctx context.Context) { mcp.Progress(ctx, 1, 2, ""); time.Sleep(time.Second) },
	}
	for name, slow := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(mcp.Options{Logger: slog.New(slog.DiscardHandler)})
				err := s.AddTool(mcp.Tool{Name: "work"}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
					if strings.Contains(string(arguments), "slow") {
						slow(ctx)
					}
					return mcp.TextResult("done"), nil
				})
				if err != nil {
					t.Fatal(err)
				}
				client := connectRaw(t, s)
				for range 20 {
					client.ask(t, []byte(`{"name":"work"}`))
				}
				began := time.Now()
				client.send(t, []byte(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"work","arguments":{"slow":true}}}`))
				client.send(t, []byte(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`))
				if answer := string(client.receive(t)); !strings.Contains(answer, `"ping"`) {
					t.Errorf(`the first answer: got %q, want it to contain "\"ping\""`, answer)
				}
				if took := time.Since(began); took > time.Millisecond {
					t.Errorf("a ping took %v, want at most %v", took, time.Millisecond)
				}
				client.send(t, []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}`))
				client.send(t, []byte(`{"jsonrpc":"2.0","id":"again","method":"ping"}`))
				if answer := string(client.receive(t)); !strings.Contains(answer, `"again"`) {
					t.Errorf(`the second answer: got %q, want it to contain "\"again\""`, answer)
				}
				if took := time.Since(began); took > time.Millisecond {
					t.Errorf("a cancellation took %v, want at most %v", took, time.Millisecond)
				}
			})
		})
	}
}

func wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

func await(f func()) {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	<-done
}

// Slow tools run concurrently from their first call on.
func TestSlowToolsRunTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(mcp.Options{})
		err := s.AddTool(mcp.Tool{Name: "nap"}, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			time.Sleep(time.Second)
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		client := connectRaw(t, s)
		began := time.Now()
		const n = 100
		for i := range n {
			client.send(t, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"nap"}}`, i))
		}
		for range n {
			client.receive(t)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("%d naps of a second took %v, want %v", n, took, time.Second)
		}
	})
}

// Requests over the limit are refused; cancellations are not.
func TestTooManyInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(mcp.Options{})
		err := s.AddTool(mcp.Tool{Name: "wait"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			<-ctx.Done()
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		client := connectRaw(t, s)
		const maxInFlight = 10_000
		for i := range maxInFlight {
			client.send(t, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait"}}`, i))
		}
		client.send(t, []byte(`{"jsonrpc":"2.0","id":"more","method":"tools/call","params":{"name":"wait"}}`))
		if answer := string(client.receive(t)); !strings.Contains(answer, fmt.Sprint(int(jsonrpc.InternalError))) || !strings.Contains(answer, `"more"`) {
			t.Errorf(`one more is answered with %s; want the code %d and "\"more\"" in it`, answer, jsonrpc.InternalError)
		}
		for i := range maxInFlight {
			client.send(t, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
		}
		client.send(t, []byte(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`))
		if answer := string(client.receive(t)); !strings.Contains(answer, `"ping"`) || strings.Contains(answer, "error") {
			t.Errorf(`a ping is answered with %s; want "\"ping\"" in it, and no "error"`, answer)
		}
	})
}
