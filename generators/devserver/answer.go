package devserver

import (
	"context"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/engine"
)

// Answer is what came of a call, for the client: a result, or an error with its parts. Either is the
// JSON that the command line prints. Of what is long, the text is what it prints for people.
//
//petrock:ignore
func Answer(ctx context.Context, result any, err error) (*mcp.ToolResult, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	made := &mcp.ToolResult{}
	switch said := result.(type) {
	case nil:
	case *engine.Result:
		made.Content = text(said.String() + differences(said))
	case *Built:
		made.Content = text(said.String())
	}
	if err != nil {
		made = mcp.ErrorResult(err)
		result = engine.FaultOf(err)
	}
	made.StructuredContent, err = strictjson.Marshal(result)
	return made, err
}

// text is content that is a text.
func text(text string) []mcp.Content { return []mcp.Content{mcp.Text{Text: text}} }

// differences are those that a dry run shows, without those of derived files, which follow from the rest.
func differences(r *engine.Result) string {
	if r == nil || !r.DryRun {
		return ""
	}
	var out strings.Builder
	for _, f := range r.Files {
		if !f.Derived {
			out.WriteString("\n" + f.Diff)
		}
	}
	return out.String()
}

// on does something with a project, and answers with what came of it.
func on[T any](ctx context.Context, t *Tools, dir string, do func(*opened) (T, error)) (*mcp.ToolResult, error) {
	o, done, err := t.take(ctx, dir)
	if err != nil {
		return Answer(ctx, nil, err)
	}
	defer done()
	result, err := do(o)
	if err != nil {
		return Answer(ctx, nil, err)
	}
	return Answer(ctx, result, nil)
}
