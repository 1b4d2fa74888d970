package devserver

import (
	"context"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/engine"
)

// ApplyInput is what apply takes.
type ApplyInput struct {
	Plan string `json:"plan"`          // Id of a plan
	Dir  string `json:"dir,omitempty"` // Folder of the project
}

// Apply writes what a plan has shown, and nothing else. It refuses if the project has changed since.
//
//petrock:hints additive open-world
func (t *Tools) Apply(ctx context.Context, in ApplyInput) (*mcp.ToolResult, error) {
	o := engine.Options{NoExec: t.options.NoExec}
	return on(ctx, t, in.Dir, func(p *opened) (*engine.Result, error) {
		kind, err := p.engine.PlanKind(in.Plan)
		if err != nil {
			return nil, err
		}
		result, err := t.dispatch(ctx, p, kind, func() (*engine.Result, error) {
			return p.engine.Apply(ctx, in.Plan, o)
		}, nil, append([]string{"apply", in.Plan}, flags(o)...)...)
		return t.after(ctx, p, result, err)
	})
}

// DestroyComponentInput is what destroy_component takes.
type DestroyComponentInput struct {
	Kind  string `json:"kind"`            // tool, resource, prompt, generator, feature, command, query or worker
	Name  string `json:"name"`            // Name of the component; of a part of a feature also posts/create
	Force bool   `json:"force,omitempty"` // Also if there is work in it that was not generated
	Dir   string `json:"dir,omitempty"`   // Folder of the project
}

// DestroyComponent removes a component with its test, or a feature with all of its folder, and what was derived from it. Undo brings it back.
//
//petrock:hints destructive closed-world
func (t *Tools) DestroyComponent(ctx context.Context, in DestroyComponentInput) (*mcp.ToolResult, error) {
	return on(ctx, t, in.Dir, func(p *opened) (*engine.Result, error) {
		result, err := p.engine.Destroy(ctx, in.Kind, in.Name, engine.Options{Force: in.Force})
		return t.after(ctx, p, result, err)
	})
}

// UndoInput is what undo takes.
type UndoInput struct {
	Operation string `json:"operation,omitempty"` // Id of the operation, as its result and petrock://history have it; without it, the last one that is not undone
	Keep      bool   `json:"keep,omitempty"`      // Leave files that were edited since, and undo the rest
	Force     bool   `json:"force,omitempty"`     // Take back files that were edited since, too
	Dir       string `json:"dir,omitempty"`       // Folder of the project
}

// Undo takes an operation back, whole: files become what they were before it, and derived files follow. It
// refuses if they were edited since or later operations build on it. An undo can be undone by its own id.
//
//petrock:hints destructive closed-world
func (t *Tools) Undo(ctx context.Context, in UndoInput) (*mcp.ToolResult, error) {
	return on(ctx, t, in.Dir, func(p *opened) (*engine.Result, error) {
		result, err := p.engine.Undo(ctx, in.Operation, engine.Options{Keep: in.Keep, Force: in.Force})
		return t.after(ctx, p, result, err)
	})
}
