package tools

import (
	"context"

	"github.com/petrock/petrock/core/mcp"
)

// Tools has the tools that add and remove components of the running server. Clients are notified.
type Tools struct {
	server *mcp.Server
}

// New is called when the server starts.
func New(server *mcp.Server) (*Tools, error) { return &Tools{server}, nil }

// ChangeTools adds a tool, or removes it.
//
//petrock:name test_trigger_tool_change
//petrock:hints additive closed-world
func (t *Tools) ChangeTools(context.Context, struct{}) (string, error) {
	const name = "test_tool_that_comes_and_goes"
	if t.server.RemoveTool(name) {
		return name + " was removed", nil
	}
	err := mcp.AddTool(t.server, mcp.Tool{Name: name, Description: "Exists at times."}, func(context.Context, struct{}) (string, error) {
		return "I am here.", nil
	})
	return name + " was added", err
}

// ChangePrompts adds a prompt, or removes it.
//
//petrock:name test_trigger_prompt_change
//petrock:hints additive closed-world
func (t *Tools) ChangePrompts(context.Context, struct{}) (string, error) {
	const name = "test_prompt_that_comes_and_goes"
	if t.server.RemovePrompt(name) {
		return name + " was removed", nil
	}
	err := mcp.AddPrompt(t.server, mcp.Prompt{Name: name, Description: "Exists at times."}, func(context.Context, struct{}) (string, error) {
		return "Say that you are here.", nil
	})
	return name + " was added", err
}

// ChangeResource notifies subscribers of the watched resource.
//
//petrock:name test_trigger_resource_change
//petrock:hints additive closed-world
func (t *Tools) ChangeResource(context.Context, struct{}) (string, error) {
	const uri = "test://watched-resource"
	t.server.ResourceUpdated(uri)
	return uri + " has changed", nil
}
