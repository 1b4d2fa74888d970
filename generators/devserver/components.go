package devserver

import (
	"context"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/engine"
)

// ListComponentsInput is what list_components takes.
type ListComponentsInput struct {
	Dir string `json:"dir,omitempty"` // Folder of the project
}

// ListComponents lists what the project's server offers, with schemas and the files where it is written, and what
// the list of tools costs a model in tokens.
//
//petrock:hints read-only closed-world
func (t *Tools) ListComponents(ctx context.Context, in ListComponentsInput) (*mcp.ToolResult, error) {
	return on(ctx, t, in.Dir, func(p *opened) (*engine.Listing, error) { return p.engine.List(ctx) })
}

// InspectComponentInput is what inspect_component takes.
type InspectComponentInput struct {
	Name string `json:"name"`           // Name of the component, as clients or Go have it
	Kind string `json:"kind,omitempty"` // tool, resource, prompt, generator, feature, command, query or worker; needed if several have the name
	Dir  string `json:"dir,omitempty"`  // Folder of the project
}

// InspectComponent shows all of one component: its source, its schemas, its tests.
//
//petrock:hints read-only closed-world
func (t *Tools) InspectComponent(ctx context.Context, in InspectComponentInput) (*mcp.ToolResult, error) {
	return on(ctx, t, in.Dir, func(p *opened) (*engine.Inspection, error) { return p.engine.Inspect(ctx, in.Kind, in.Name) })
}
