package devserver

import (
	"context"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/engine"
)

// UndoInput is the input of undo.
type UndoInput struct {
	Operation string `json:"operation,omitempty"` // Id, from a result or history
	Keep      bool   `json:"keep,omitempty"`      // Keep files edited since, undo the rest
	Force     bool   `json:"force,omitempty"`     // Also undo files edited since
	Common
}

// Undo reverts a whole operation: the last one, or that with an id. It fails if files were edited since.
//
//petrock:hints closed-world
func (t *Tools) Undo(ctx context.Context, in UndoInput) (*mcp.ToolResult, error) {
	return withProject(WithDetail(ctx, in.Detail), t, in.Dir, func(p *openProject) (*engine.Result, error) {
		result, err := p.engine.Undo(ctx, in.Operation, engine.Options{Keep: in.Keep, Force: in.Force})
		return t.notify(ctx, p, result, err)
	})
}

// RedoInput is the input of redo.
type RedoInput struct {
	Operation string `json:"operation,omitempty"` // Id; default: the one undone last
	Common
}

// Redo restores an operation that undo reverted.
//
//petrock:hints closed-world
func (t *Tools) Redo(ctx context.Context, in RedoInput) (*mcp.ToolResult, error) {
	return withProject(WithDetail(ctx, in.Detail), t, in.Dir, func(p *openProject) (*engine.Result, error) {
		result, err := p.engine.Redo(ctx, in.Operation, engine.Options{})
		return t.notify(ctx, p, result, err)
	})
}
