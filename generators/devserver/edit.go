package devserver

import (
	"context"
	"errors"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/engine"
)

// EditInput is the input of edit.
type EditInput struct {
	Edits []engine.FileEdit `json:"edits"`          // In order
	Test  bool              `json:"test,omitempty"` // Only if the tests pass
	Common
}

// Edit edits any files of the project in one operation. Imports and derived files follow. Nothing is written
// unless it compiles.
//
//petrock:hints open-world
func (t *Tools) Edit(ctx context.Context, in EditInput) (*mcp.ToolResult, error) {
	return withProject(WithDetail(ctx, in.Detail), t, in.Dir, func(p *openProject) (*engine.Result, error) {
		result, err := p.engine.Edit(ctx, in.Edits, engine.Options{Test: in.Test, NoExec: t.options.NoExec})
		return t.notify(ctx, p, result, err)
	})
}

// TestInput is the input of test.
type TestInput struct {
	Packages []string `json:"packages,omitempty"` // Folders; default all
	Run      string   `json:"run,omitempty"`      // Pattern for test names
	Timeout  int      `json:"timeout,omitempty"`  // Seconds per package; default 10
	Common
}

// Test runs the project's Go tests; failures have file, line and message.
//
//petrock:hints open-world
func (t *Tools) Test(ctx context.Context, in TestInput) (*mcp.ToolResult, error) {
	if t.options.NoExec {
		return Answer(ctx, nil, errors.New("test is disabled by --no-exec; start petrock mcp without it"))
	}
	return withProject(WithDetail(ctx, in.Detail), t, in.Dir, func(p *openProject) (*engine.TestResult, error) {
		return p.engine.Test(ctx, engine.TestOptions{Packages: in.Packages, Run: in.Run, Timeout: time.Duration(in.Timeout) * time.Second})
	})
}

// ChangeInput is the input of change.
type ChangeInput struct {
	engine.Change
	Common
}

// Change renames or edits a component in place. References, tests and stored events follow.
//
//petrock:hints open-world
func (t *Tools) Change(ctx context.Context, in ChangeInput) (*mcp.ToolResult, error) {
	return withProject(WithDetail(ctx, in.Detail), t, in.Dir, func(p *openProject) (*engine.Result, error) {
		result, err := p.engine.Change(ctx, in.Change, engine.Options{NoExec: t.options.NoExec})
		return t.notify(ctx, p, result, err)
	})
}
