package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A tool that logs, reports progress or looks at its context remains quick: it keeps running on the
// goroutine that reads.
func TestQuickToolRemainsQuick(t *testing.T) {
	for name, use := range map[string]func(ctx context.Context){
		"logs":                 func(ctx context.Context) { Logger(ctx).Info("working") },
		"reports progress":     func(ctx context.Context) { Progress(ctx, 1, 2, "") },
		"looks at its context": func(ctx context.Context) { _ = ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				discard := slog.New(slog.DiscardHandler)
				log := slog.New(slog.NewTextHandler(t.Output(), nil))
				s := NewServer(Implementation{Name: "quick", Version: "1"}, Options{Logger: discard, CallLog: log})
				var began, kept bool // whether the last call was quick at its begin, and after use
				err := s.AddTool(Tool{Name: "work"}, func(ctx context.Context, _ json.RawMessage) (*ToolResult, error) {
					began = !CallFrom(ctx).req.IsReleased()
					use(ctx)
					kept = !CallFrom(ctx).req.IsReleased()
					return nil, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				client, transport := jsonrpc.Pipe()
				served := make(chan error, 1)
				go func() { served <- s.Serve(t.Context(), transport) }()
				send := func(line string) {
					if err := client.Send([]byte(line)); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
				send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`)
				for range 20 {
					send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":1}}}`)
				}
				if !began || !kept {
					t.Errorf("the last call began as quick: %t, and remained so: %t, want true and true", began, kept)
				}
				client.Close()
				if err := <-served; err != nil {
					t.Errorf("Serve: %v", err)
				}
			})
		})
	}
}
