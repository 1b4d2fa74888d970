package devserver

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
)

type draftKey struct{} // of the call's *engine.Draft in a context

// hook merges the arguments of a call into those of its draft, before they are validated, and puts
// the draft into the context, where [Answer] ends it. It also shortens tools/list.
func (t *Tools) hook(ctx context.Context, call *mcp.Call, next func(context.Context) (any, error)) (any, error) {
	tool := strings.TrimPrefix(call.Target, t.options.Prefix)
	var arguments map[string]json.RawMessage
	switch {
	case call.Method == "tools/list":
		return t.shortenList(next(ctx))
	case call.Method != "tools/call", !strings.HasPrefix(tool, "generate_") && !slices.Contains([]string{"change", "destroy_component", "edit"}, tool):
		return next(ctx)
	case json.Unmarshal(strictjson.Member(call.Params, "arguments"), &arguments) != nil:
		return next(ctx) // which reports it
	}
	dir, _ := strictjson.Unquote(arguments["dir"])
	id, _ := strictjson.Unquote(arguments["draft"])
	p, err := t.project(dir)
	if err != nil && id == "" {
		return next(ctx) // which reports it
	}
	if err != nil {
		return Answer(ctx, nil, err)
	}
	draft, err := p.engine.Draft(tool, id, arguments)
	if err != nil {
		return Answer(ctx, nil, err)
	}
	if id != "" {
		whole, _ := strictjson.Marshal(draft.Arguments) // they are valid JSON
		call.SetArguments(whole)
	}
	ctx = context.WithValue(ctx, draftKey{}, draft)
	result, err := next(ctx)
	if refused, ok := result.(*mcp.ToolResult); ok && refused.IsError && !draft.Ended() {
		return Answer(ctx, nil, terminal.Usagef("%s", refused.Text())) // the arguments are invalid
	}
	return result, err
}

// shortenList leaves out of tools/list what a model does not need, and dir, which the instructions
// describe where there is a choice. Calls are validated against the whole schemas.
func (t *Tools) shortenList(result any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	text, err := strictjson.Marshal(result)
	for _, member := range []string{`,"additionalProperties":false`, `,"additionalProperties":{}`, `,"format":"go"`, `,"format":"text"`, `,"dir":{"type":"string"}`} {
		text = bytes.ReplaceAll(text, []byte(member), nil)
	}
	return json.RawMessage(text), err
}

// reserved are the arguments of generators' tools that are for the dev server.
var reserved = []string{"draft", "dry_run", "no_data", "detail", "dir"}
