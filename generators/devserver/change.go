package devserver

import (
	"context"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/engine"
)

// ChangeInput is the input of change.
type ChangeInput struct {
	engine.Change
	Common
}

// Change renames or edits a component in place. References and tests follow, and stored events stay
// readable.
//
//petrock:hints open-world
func (t *Tools) Change(ctx context.Context, in ChangeInput) (*mcp.ToolResult, error) {
	return withProject(WithDetail(ctx, in.Detail), t, in.Dir, func(p *openProject) (*engine.Result, error) {
		result, err := p.engine.Change(ctx, in.Change, engine.Options{NoExec: t.options.NoExec})
		return t.notify(ctx, p, result, err)
	})
}
