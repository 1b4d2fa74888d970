package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/petrock/petrock/core/mcp"
)

type searchInput struct {
	Query string   `json:"query"`
	Limit int      `json:"limit,omitempty" schema:"default=20"`
	Tags  []string `json:"tags,omitempty"`
}

type searchOutput struct {
	Found []string `json:"found"`
	Limit int      `json:"limit"`
}

// search finds nothing and returns a nil slice.
func search(_ context.Context, in searchInput) (searchOutput, error) {
	return searchOutput{Found: in.Tags, Limit: in.Limit}, nil
}

type style string

type reviewInput struct {
	Code  string `json:"code"`
	Style style  `json:"style"`
	Lines int    `json:"lines,string"`
}

func review(_ context.Context, in reviewInput) (string, error) {
	if in.Code == "secret" {
		return "", errors.New("not that one")
	}
	return "Review " + string(in.Style) + ": " + in.Code, nil
}

type noteInput struct {
	ID   string    `json:"id"`
	Kind style     `json:"kind"`
	Day  time.Time `json:"day"`
}

func note(_ context.Context, in noteInput) (noteInput, error) {
	if in.ID == "gone" {
		return noteInput{}, mcp.NotFound("typed://gone")
	}
	return in, nil
}

// addTyped adds typed Go functions to a server, as derived code does.
func addTyped(t *testing.T, s *mcp.Server) {
	const (
		searchIn  = `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","default":20},"tags":{"type":"array","items":{"type":"string"}}},"required":["query"],"additionalProperties":false}`
		searchOut = `{"type":"object","properties":{"found":{"type":["array","null"],"items":{"type":"string"}},"limit":{"type":"integer"}},"required":["found","limit"],"additionalProperties":false}`
		reviewIn  = `{"type":"object","properties":{"code":{"type":"string","minLength":3},"style":{"type":"string","enum":["brief","brutal","thorough"]},"lines":{"type":"string"}},"required":["code"],"additionalProperties":false}`
		noteIn    = `{"type":"object","properties":{"id":{"type":"string","pattern":"^[a-z]+$"},"kind":{"type":"string","enum":["memo","list"]},"day":{"type":"string","format":"date-time"}},"required":["id"],"additionalProperties":false}`
	)
	err := errors.Join(
		mcp.AddTool(s, mcp.Tool{Name: "typed.search", InputSchema: json.RawMessage(searchIn), OutputSchema: json.RawMessage(searchOut)}, search),
		mcp.AddPrompt(s, mcp.Prompt{
			Name: "review", Description: "Asks for a review.", InputSchema: json.RawMessage(reviewIn),
			Arguments: []mcp.PromptArgument{{Name: "code", Required: true}, {Name: "style"}, {Name: "lines"}},
		}, review),
		mcp.AddResource(s, mcp.Resource{URI: "typed://text", Name: "text", MIMEType: "text/markdown"}, func(context.Context) (string, error) { return "# Hi", nil }),
		mcp.AddResource(s, mcp.Resource{URI: "typed://json", Name: "json", MIMEType: "application/json"}, func(context.Context) ([]int, error) { return []int{1, 2}, nil }),
		mcp.AddResource(s, mcp.Resource{URI: "typed://own", Name: "own", MIMEType: "text/markdown"}, func(context.Context) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{{MIMEType: "text/plain", Text: "own"}, {URI: "typed://own/2", Text: "not"}}, nil
		}),
		mcp.AddResourceTemplate(s, mcp.ResourceTemplate{URITemplate: "typed://note/{id}{?kind,day}", Name: "typed note", InputSchema: json.RawMessage(noteIn)}, note),
	)
	if err != nil {
		t.Fatal(err)
	}
}
