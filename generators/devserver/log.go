package devserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/derive"
)

// LogInput is the input of log.
type LogInput struct {
	Action  string                     `json:"action,omitempty" schema:"enum=show|skip|map|restore|erase|replay"` // Default: show
	Seq     int64                      `json:"seq,omitempty"`                                                     // Without it, show lists
	After   int64                      `json:"after,omitempty"`                                                   // List later events
	Before  int64                      `json:"before,omitempty"`
	Limit   int                        `json:"limit,omitempty"` // Default 20
	Type    string                     `json:"type,omitempty"`  // Types, features, globs; map: new type
	Actor   string                     `json:"actor,omitempty"` // Only this caller
	Cause   string                     `json:"cause,omitempty"` // Worker, tool or event
	Text    string                     `json:"text,omitempty"`
	Since   string                     `json:"since,omitempty"` // Time, or 2h
	Until   string                     `json:"until,omitempty"`
	Version int                        `json:"version,omitempty"` // map: its version
	Input   map[string]json.RawMessage `json:"input,omitempty"`   // map: new data
	Reason  string                     `json:"reason,omitempty"`  // For changes
	Force   bool                       `json:"force,omitempty"`   // Even if others break
	Common
}

// Log shows the event log; skips, maps or restores an event that cannot be applied; erases one; or
// replays the log.
//
//petrock:hints closed-world
func (t *Tools) Log(ctx context.Context, in LogInput) (*mcp.ToolResult, error) {
	return t.runServer(ctx, in.Dir, "log", in)
}

// runServer builds the server of a project with features, and lets its command agent run a tool.
func (t *Tools) runServer(ctx context.Context, dir, tool string, in any) (*mcp.ToolResult, error) {
	found, err := t.options.Find(dir)
	if err == nil && !hasFeatures(found.Root) {
		return Answer(ctx, nil, terminal.Usagef("the project has no features, so it has no event log; generate_feature adds a feature"))
	}
	built, root, err := t.buildServer(ctx, dir, "running the server for "+tool)
	if err != nil {
		return Answer(ctx, nil, err)
	}
	input, err := strictjson.Marshal(in)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("%s: timeout after %v", tool, callTimeout))
	defer cancel()
	out, errOut, err := process.Run(limited, process.RunOptions{Dir: root, Stdin: bytes.NewReader(input), Group: true}, built.Program, "agent", tool)
	if cause := context.Cause(limited); err != nil && cause != nil {
		err = cause
	} else if err != nil && len(errOut) > 0 {
		err = errors.New(strings.TrimPrefix(string(bytes.TrimSpace(errOut)), found.Name+": "))
	}
	return Answer(ctx, string(bytes.TrimSpace(out)), err)
}

// hasFeatures reports whether a project has features, and so an event log.
func hasFeatures(root string) bool {
	entries, _ := os.ReadDir(filepath.Join(root, derive.Features)) // without the folder, there are none
	return len(entries) > 0
}

// TryInput is the input of try. The command line of the server checks the steps.
type TryInput struct {
	Steps []map[string]json.RawMessage `json:"steps"` // Keys: advance (48h) or run (worker) or call (tool) with arguments, actor
	Common
}

// Try runs steps on a copy of the data: calls, workers, time. Effects outside of it are real.
//
//petrock:hints open-world
func (t *Tools) Try(ctx context.Context, in TryInput) (*mcp.ToolResult, error) {
	return t.runServer(ctx, in.Dir, "try", in)
}

// DataInput is the input of data.
type DataInput struct {
	Action string `json:"action,omitempty" schema:"enum=workers|retry|reset|backup|restore"` // Default: workers
	Worker string `json:"worker,omitempty"`
	Seq    int64  `json:"seq,omitempty"`  // retry: default all
	File   string `json:"file,omitempty"` // Default: a new backup
	Common
}

// Data lists workers, retries what they set aside, resets their fields; backs up or restores.
//
//petrock:hints closed-world
func (t *Tools) Data(ctx context.Context, in DataInput) (*mcp.ToolResult, error) {
	return t.runServer(ctx, in.Dir, "data", in)
}

// nameLogTool adds to an error of the server, which recommends commands for a terminal, how to do
// the same over MCP.
func nameLogTool(err error) error {
	return fmt.Errorf("%w\nIf a stored event is the cause, use the tool log with seq, and action show, skip or map; force is an argument. If undo removed the code that reads the event, redo restores it", err)
}
