package devserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/derive"
)

// LogInput is the input of log.
type LogInput struct {
	Action  LogAction                  `json:"action,omitempty"`  // Default: show
	Seq     int64                      `json:"seq,omitempty"`     // Without it, show lists
	After   int64                      `json:"after,omitempty"`   // List later events
	Limit   int                        `json:"limit,omitempty"`   // Default 20
	Type    string                     `json:"type,omitempty"`    // Only this type or feature; map: new type
	Actor   string                     `json:"actor,omitempty"`   // Only this caller
	Version int                        `json:"version,omitempty"` // map: its version
	Input   map[string]json.RawMessage `json:"input,omitempty"`   // map: new data
	Reason  string                     `json:"reason,omitempty"`  // For skip, map and restore
	Force   bool                       `json:"force,omitempty"`   // Even if others break
	Common
}

// A LogAction is what log does.
type LogAction string

// The actions of log.
const (
	LogShow    LogAction = "show"
	LogSkip    LogAction = "skip"
	LogMap     LogAction = "map"
	LogRestore LogAction = "restore"
	LogReplay  LogAction = "replay"
)

// Log shows the event log; skips, maps or restores an event that cannot be applied; or replays the
// log.
//
//petrock:hints closed-world
func (t *Tools) Log(ctx context.Context, in LogInput) (*mcp.ToolResult, error) {
	in.Action, in.Limit = cmp.Or(in.Action, LogShow), cmp.Or(in.Limit, 20)
	args, err := in.args()
	if err != nil {
		return Answer(ctx, nil, err)
	}
	if found, err := t.options.Find(in.Dir); err == nil && !hasFeatures(found.Root) {
		return Answer(ctx, nil, terminal.Usagef("the project has no features, so it has no event log; generate_feature adds a feature"))
	}
	built, root, err := t.buildServer(ctx, in.Dir, "reading the event log")
	if err != nil {
		return Answer(ctx, nil, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("log: timeout after %v", callTimeout))
	defer cancel()
	out, errOut, err := process.Run(ctx, process.RunOptions{Dir: root, Group: true}, built.Program, args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == terminal.ExitNoData {
		return mcp.TextResult("no events"), nil
	}
	if err != nil && len(errOut) > 0 {
		err = errors.New(strings.TrimSpace(string(errOut)))
	}
	if err != nil && in.Action != LogShow {
		err = nameLogTool(err)
	}
	if err != nil {
		return failure(ctx, err)
	}
	return mcp.TextResult(in.output(strings.TrimSpace(string(out)))), nil
}

// hasFeatures reports whether a project has features, and so an event log.
func hasFeatures(root string) bool {
	entries, _ := os.ReadDir(filepath.Join(root, derive.Features)) // without the folder, there are none
	return len(entries) > 0
}

// args returns the arguments of the server's command line, which checks them.
func (in LogInput) args() ([]string, error) {
	if in.Seq < 0 || in.After < 0 || in.Limit < 0 {
		return nil, terminal.Usagef("log: seq, after and limit must not be negative")
	}
	args := []string{"log", string(in.Action)}
	switch {
	case in.Action == LogReplay:
		return []string{"replay"}, nil
	case in.Seq > 0:
		args = append(args, strconv.FormatInt(in.Seq, 10))
	case in.Action == LogShow:
		args = []string{"log", fmt.Sprintf("--after=%d", in.After), fmt.Sprintf("--limit=%d", in.Limit+1)}
	default: // the command line would change all events of the type
		return nil, terminal.Usagef("log: action %s requires seq", in.Action)
	}
	for _, flag := range [][2]string{{"--type=", in.Type}, {"--actor=", in.Actor}, {"--reason=", in.Reason}} {
		if flag[1] != "" {
			args = append(args, flag[0]+flag[1])
		}
	}
	if in.Force {
		args = append(args, "--force")
	}
	if in.Version != 0 {
		args = append(args, fmt.Sprintf("--version=%d", in.Version))
	}
	if in.Input != nil {
		text, err := strictjson.Marshal(in.Input)
		if err != nil {
			return nil, err
		}
		args = append(args, "--input="+string(text))
	}
	return args, nil
}

// Limits of a result of log without detail, in bytes.
const (
	maxLogLine   = 200 // of a listed event
	maxLogOutput = 1500
)

// output returns the text of a result. out is the output of the command line.
func (in LogInput) output(out string) string {
	switch {
	case in.Action == LogReplay:
		return out
	case in.Action != LogShow:
		done, _, _ := strings.Cut(out, "\n") // the rest is a command for a terminal
		return done + "\nNext: check the log with action replay. restore reverts skip and map."
	case in.Seq > 0:
		if compact := new(bytes.Buffer); json.Compact(compact, []byte(out)) == nil {
			out = compact.String()
		}
		if !in.Detail && len(out) > maxLogOutput {
			out = strictjson.Clip(out, maxLogOutput) + "\nNext: pass detail for the whole event."
		}
		return out
	}
	var page strings.Builder
	last, n := "", 0
	for line := range strings.Lines(out) {
		line = strings.Join(strings.Fields(line), " ")
		if !in.Detail {
			line = strictjson.Clip(line, maxLogLine)
		}
		if n == in.Limit || n > 0 && !in.Detail && page.Len()+len(line) > maxLogOutput {
			fmt.Fprintf(&page, "Next: more events with after %s, a whole event with its seq.\n", last)
			break
		}
		n++
		last, _, _ = strings.Cut(line, " ")
		page.WriteString(line + "\n")
	}
	return cmp.Or(page.String(), "no events\n")
}

// nameLogTool adds to an error of the server, which recommends commands for a terminal, how to do
// the same over MCP.
func nameLogTool(err error) error {
	return fmt.Errorf("%w\nIf a stored event is the cause, use the tool log with seq, and action show, skip or map; force is an argument. If undo removed the code that reads the event, redo restores it", err)
}
