package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
)

// Closing a client logs no warning.
func TestClientClosesQuietly(t *testing.T) {
	for _, revision := range mcp.Revisions() {
		t.Run(string(revision), func(t *testing.T) {
			complaints := &lockedBuffer{}
			o := client.Options{
				Revision: revision,
				Logger:   slog.New(slog.NewTextHandler(complaints, &slog.HandlerOptions{Level: slog.LevelWarn})),
			}
			client, err := client.Start(t.Context(), testServer(t, "good"), o)
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			if said := complaints.String(); said != "" {
				t.Errorf("the client complains: %s, want nothing", said)
			}
		})
	}
}

// When a call is cancelled, so are the questions of the server that belong to it.
func TestClientGivesUpQuestions(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "asker", Version: "1"}, mcp.Options{})
	err := s.AddTool(mcp.Tool{Name: "ask"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		return nil, mcp.Ask(ctx, &mcp.Elicitation{Key: "sure", Message: "Sure?", Schema: json.RawMessage(`{"type":"object","properties":{"sure":{"type":"boolean"}}}`)})
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(mcphttp.NewHandler(s, mcphttp.Options{}))
	defer web.Close()
	for _, revision := range []mcp.Revision{mcp.Latest, mcp.LatestHandshake} {
		t.Run(string(revision), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			forgotten := make(chan struct{})
			client, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: web.URL}, client.Options{
				Revision: revision,
				Elicit: func(ctx context.Context, _ *mcp.Elicitation) error {
					cancel()
					<-ctx.Done()
					close(forgotten)
					return ctx.Err()
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			// An answer that is already there wins.
			if _, err := client.CallTool(ctx, "ask", nil); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the call ends with %v", err)
			}
			select {
			case <-forgotten:
			case <-time.After(5 * time.Second):
				t.Error("the question is still there")
			}
		})
	}
}
