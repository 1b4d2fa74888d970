package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// Functions that send something to a client that does not read return at their time.
func TestClientThatDoesNotRead(t *testing.T) {
	large := strings.Repeat("x", 100_000)
	fill := func(ctx context.Context) {
		for range 20 {
			mcp.Logger(ctx).Info(large)
		}
	}
	for name, test := range map[string]struct {
		later bool // after the call has ended
		use   func(ctx context.Context, returned func())
	}{
		"a goroutine that logs after the call": {true, func(ctx context.Context, returned func()) {
			fill(ctx)
			returned()
		}},
		"questions with a time limit": {false, func(ctx context.Context, returned func()) {
			var filling sync.WaitGroup
			filling.Go(func() {
				time.Sleep(time.Second)
				fill(ctx)
			})
			defer filling.Wait()
			defer returned()
			for range 2 { // the first is sent, the second is not
				limited, cancel := context.WithTimeout(ctx, 2*time.Second)
				if err := mcp.Ask(limited, &mcp.RootList{}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Ask = %v, want %v", err, context.DeadlineExceeded)
				}
				cancel()
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(mcp.Options{Logger: slog.New(slog.DiscardHandler)})
				returned := make(chan struct{})
				err := s.AddTool(mcp.Tool{Name: "work"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
					use := func() { test.use(ctx, func() { close(returned) }) }
					if test.later {
						time.AfterFunc(time.Second, use)
					} else {
						use()
					}
					return nil, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				in, requests := io.Pipe()
				answers, out := io.Pipe()
				ctx, stop := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() { served <- s.Serve(ctx, jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{})) }()
				lines := bufio.NewScanner(answers)
				for _, line := range []string{
					`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}}}`,
					`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
					`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`,
					`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"work"}}`,
				} {
					if _, err := io.WriteString(requests, line+"\n"); err != nil {
						t.Fatal(err)
					}
					if reads := test.later || !strings.Contains(line, "tools/call"); reads && strings.Contains(line, `"id"`) && !lines.Scan() {
						t.Fatalf("no answer to %s: %v", line, lines.Err())
					}
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()
				select {
				case <-returned:
				default:
					t.Error("after five seconds it still waits, want it to have returned")
				}
				stop()
				answers.Close()
				requests.Close()
				<-served
				<-returned
			})
		})
	}
}
