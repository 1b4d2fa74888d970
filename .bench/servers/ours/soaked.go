package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/petrock/petrock/core/mcp"
)

// registerSoaked registers the tools and resources of the soak test.
func registerSoaked(s *mcp.Server) error {
	note := func(_ context.Context, uri string, _ map[string]string) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{{MIMEType: "text/plain", Text: uri}}, nil
	}
	return errors.Join(
		mcp.AddTool(s, mcp.Tool{Name: "slow", Description: "Waits."}, slow),
		mcp.AddTool(s, mcp.Tool{Name: "count", Description: "Counts and reports progress."}, count),
		mcp.AddTool(s, mcp.Tool{Name: "ask", Description: "Asks for a name."}, ask),
		mcp.AddTool(s, mcp.Tool{Name: "touch", Description: "Notifies subscribers that a resource has changed."}, func(_ context.Context, in touched) (string, error) {
			s.ResourceUpdated(in.URI)
			return "touched", nil
		}),
		s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "note://{id}", Name: "note"}, note),
	)
}

func count(ctx context.Context, in counted) (string, error) {
	message := strings.Repeat("x", in.Bytes)
	for i := range in.To {
		mcp.Progress(ctx, float64(i+1), float64(in.To), message)
		if in.MS > 0 {
			select {
			case <-time.After(time.Duration(in.MS) * time.Millisecond):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}
	return fmt.Sprintf("counted to %d", in.To), nil
}

func ask(ctx context.Context, _ struct{}) (string, error) {
	question := mcp.Elicitation{
		Key: "name", Message: "What is your name?",
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	}
	if err := mcp.Ask(ctx, &question); err != nil {
		return "", err
	}
	var v struct {
		Name string `json:"name"`
	}
	err := question.Decode(&v)
	return "Hello, " + v.Name, err
}

// counted is the input of count: the number of progress notifications, the bytes of each, and the
// pause after each.
type counted struct {
	To    int `json:"to"`
	Bytes int `json:"bytes,omitempty"`
	MS    int `json:"ms,omitempty"`
}

type touched struct {
	URI string `json:"uri"`
}

type waited struct {
	MS int `json:"ms"`
}

// slow waits until its time has passed or the call is cancelled.
func slow(ctx context.Context, in waited) (string, error) {
	select {
	case <-time.After(time.Duration(in.MS) * time.Millisecond):
		return "waited", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
