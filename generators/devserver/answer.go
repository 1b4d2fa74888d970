package devserver

import (
	"context"
	"fmt"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/engine"
)

// maxAnswer is the size of a result without detail: its text and its structured content, in bytes.
const maxAnswer = 2000

// maxTwice is how many errors a result without detail has both as text and as structured content.
const maxTwice = 4

// Common is the input that all tools share: whether to return everything, and the folder of the
// project. The instructions explain it and what tools that write share, so that tools/list need
// not.
type Common struct {
	Detail bool `json:"detail,omitempty"`
	InDir
}

// InDir is the folder of the project.
type InDir struct {
	Dir string `json:"dir,omitempty"`
}

// Writing is the input that tools that write share: whether to only save a plan, and not to look at
// stored events.
type Writing struct {
	DryRun bool `json:"dry_run,omitempty"`
	NoData bool `json:"no_data,omitempty"`
	Common
}

// Drafted is the input of tools whose calls can be drafts. Only the hook reads the id.
type Drafted struct {
	Draft string `json:"draft,omitempty"`
	Writing
}

type detailKey struct{}

// WithDetail returns a context whose results are whole if detail is set, and otherwise short.
//
//petrock:ignore
func WithDetail(ctx context.Context, detail bool) context.Context {
	return context.WithValue(ctx, detailKey{}, detail)
}

func wantsDetail(ctx context.Context) bool {
	detail, _ := ctx.Value(detailKey{}).(bool)
	return detail
}

// Answer converts the result or error of an operation to a tool result. The structured content is
// the JSON that the command line prints, and the text is a rendering of it. Clients show a model
// one of the two, so both are complete. Without detail, they are the short form of an
// [engine.Shortener], with as many entries of its lists as fit into maxAnswer. Lists, source, more
// than maxTwice errors and results that leave something out are too long to be sent twice: their
// short form is text only, which all clients show.
//
//petrock:ignore
func Answer(ctx context.Context, result any, err error) (*mcp.ToolResult, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	draft, _ := ctx.Value(draftKey{}).(*engine.Draft)
	operation, _ := result.(*engine.Result)
	if err = draft.End(operation, err); err != nil {
		result = engine.FaultOf(err)
	}
	whole, ok := result.(engine.Shortener)
	if !ok || wantsDetail(ctx) {
		answer, _, err := render(result, false)
		return answer, err
	}
	for limit := 1000; ; limit = limit * 4 / 5 {
		answer, size, err := render(whole.Short(limit), true)
		if err != nil || size <= maxAnswer || limit == 1 {
			return answer, err
		}
	}
}

// render returns a tool result and its size.
func render(result any, short bool) (answer *mcp.ToolResult, size int, err error) {
	answer = &mcp.ToolResult{}
	structured := result // nil for none
	switch result := result.(type) {
	case *engine.Fault:
		answer = mcp.ErrorResult(result)
		if r := result.Refusal; short && r != nil && (len(r.Diagnostics)+len(r.Tests) > maxTwice || r.LeftOut != "") {
			structured = nil
		}
	case *engine.TestResult:
		answer.Content = text(result.String())
		if short && result.LeftOut != "" {
			structured = nil
		}
	case *engine.Result:
		summary := result.String()
		for _, f := range result.Files {
			if !f.Derived && f.Diff != "" {
				summary += "\n" + f.Diff
			}
		}
		answer.Content = text(summary)
	case string:
		answer.Content, structured = text(result), nil
	case *engine.FileText: // lines are hard to read in JSON
		answer.Content, structured = text(result.String()), nil
	case *engine.Inspection:
		answer.Content = text(result.String())
		if structured = nil; !short {
			structured = result.WithoutText()
		}
	case *engine.Matches: // as JSON, each line has the name of its file
		answer.Content, structured = text(result.String()), nil
	case *engine.Listing, *engine.History:
		if short {
			answer.Content, structured = text(fmt.Sprint(result)), nil
		}
	case fmt.Stringer:
		answer.Content = text(result.String())
	}
	if structured != nil {
		answer.StructuredContent, err = strictjson.Marshal(structured)
	}
	size = len(answer.StructuredContent)
	for _, block := range answer.Content {
		if block, ok := block.(mcp.Text); ok {
			size += len(block.Text)
		}
	}
	return answer, size, err
}
