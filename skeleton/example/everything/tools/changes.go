package tools

import (
	"context"

	"github.com/petrock/petrock/core/mcp"
)

// Tools are those that change what the server offers, and so need the server. Clients that asked to be told of changes are
// told.
type Tools struct {
	server *mcp.Server
}

// New makes them, when the server starts.
func New(server *mcp.Server) (*Tools, error) { return &Tools{server}, nil }

// ChangeTools offers one more tool, or takes it back.
//
//petrock:name test_trigger_tool_change
//petrock:hints additive closed-world
func (t *Tools) ChangeTools(context.Context, struct{}) (string, error) {
	const name = "test_tool_that_comes_and_goes"
	if t.server.RemoveTool(name) {
		return name + " has gone", nil
	}
	err := mcp.AddTool(t.server, mcp.Tool{Name: name, Description: "Is here at times."}, func(context.Context, struct{}) (string, error) {
		return "I am here.", nil
	})
	return name + " has come", err
}

// ChangePrompts offers one more prompt, or takes it back.
//
//petrock:name test_trigger_prompt_change
//petrock:hints additive closed-world
func (t *Tools) ChangePrompts(context.Context, struct{}) (string, error) {
	const name = "test_prompt_that_comes_and_goes"
	if t.server.RemovePrompt(name) {
		return name + " has gone", nil
	}
	err := mcp.AddPrompt(t.server, mcp.Prompt{Name: name, Description: "Is here at times."}, func(context.Context, struct{}) (string, error) {
		return "Say that you are here.", nil
	})
	return name + " has come", err
}

// ChangeResource tells those who have subscribed to the watched resource that it has changed.
//
//petrock:name test_trigger_resource_change
//petrock:hints additive closed-world
func (t *Tools) ChangeResource(context.Context, struct{}) (string, error) {
	const uri = "test://watched-resource"
	t.server.ResourceUpdated(uri)
	return uri + " has changed", nil
}
