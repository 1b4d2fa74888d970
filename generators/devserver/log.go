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
	"slices"
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
	Action  LogAction                  `json:"action,omitempty"` // Default: show
	Seq     int64                      `json:"seq,omitempty"`    // Without it, show lists
	After   int64                      `json:"after,omitempty"`  // List later events
	To      int64                      `json:"to,omitempty"`
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

// A LogAction is what log does.
type LogAction string

// The actions of log.
const (
	LogShow    LogAction = "show"
	LogSkip    LogAction = "skip"
	LogMap     LogAction = "map"
	LogRestore LogAction = "restore"
	LogErase   LogAction = "erase"
	LogReplay  LogAction = "replay"
)

// Log shows the event log; skips, maps or restores an event that cannot be applied; erases one; or
// replays the log.
//
//petrock:hints closed-world
func (t *Tools) Log(ctx context.Context, in LogInput) (*mcp.ToolResult, error) {
	in.Action, in.Limit = cmp.Or(in.Action, LogShow), cmp.Or(in.Limit, 20)
	args, err := in.args()
	if err != nil {
		return Answer(ctx, nil, err)
	}
	out, err := t.runServer(ctx, in.Dir, nil, args...)
	if err != nil && in.Action != LogShow {
		err = nameLogTool(err)
	}
	if err != nil {
		return Answer(ctx, nil, err)
	}
	return mcp.TextResult(in.output(out)), nil
}

// runServer builds the server of a project with features, and returns the output of one of its
// commands. It is empty if there is no data yet.
func (t *Tools) runServer(ctx context.Context, dir string, stdin []byte, args ...string) (string, error) {
	if found, err := t.options.Find(dir); err == nil && !hasFeatures(found.Root) {
		return "", terminal.Usagef("the project has no features, so it has no event log; generate_feature adds a feature")
	}
	built, root, err := t.buildServer(ctx, dir, "running the server's command "+args[0])
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("%s: timeout after %v", args[0], callTimeout))
	defer cancel()
	out, errOut, err := process.Run(ctx, process.RunOptions{Dir: root, Stdin: bytes.NewReader(stdin), Group: true}, built.Program, args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == terminal.ExitNoData {
		return "", nil
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	} else if err != nil && len(errOut) > 0 {
		said, _, _ := strings.Cut(string(bytes.TrimSpace(errOut)), "\nRun '") // help for a terminal
		err = errors.New(strings.TrimSpace(said + "\n" + strictjson.Clip(string(out), maxAnswer)))
	}
	return string(bytes.TrimSpace(out)), err
}

// hasFeatures reports whether a project has features, and so an event log.
func hasFeatures(root string) bool {
	entries, _ := os.ReadDir(filepath.Join(root, derive.Features)) // without the folder, there are none
	return len(entries) > 0
}

// args returns the arguments of the server's command line, which checks them.
func (in LogInput) args() ([]string, error) {
	if in.Seq < 0 || in.After < 0 || in.To < 0 || in.Limit < 0 {
		return nil, terminal.Usagef("log: seq, after, to and limit must not be negative")
	}
	args := []string{"log", string(in.Action)}
	switch {
	case in.Action == LogReplay:
		return []string{"replay"}, nil
	case in.Seq > 0:
		args = append(args, strconv.FormatInt(in.Seq, 10))
	case in.Action == LogShow:
		page := "--last"
		if in.After > 0 {
			page = "--limit"
		}
		args = []string{"log", fmt.Sprintf("--after=%d", in.After), fmt.Sprintf("--to=%d", in.To), fmt.Sprintf("%s=%d", page, in.Limit+1)}
	default: // the command line would change all events of the type
		return nil, terminal.Usagef("log: action %s requires seq", in.Action)
	}
	for _, flag := range [][2]string{
		{"--type=", in.Type}, {"--actor=", in.Actor}, {"--cause=", in.Cause}, {"--text=", in.Text}, {"--since=", in.Since}, {"--until=", in.Until}, {"--reason=", in.Reason},
	} {
		if flag[1] != "" {
			args = append(args, flag[0]+flag[1])
		}
	}
	if in.Action == LogErase {
		args = append(args, "--yes")
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
	case out == "":
		return "no events"
	case in.Action == LogReplay, in.Action == LogErase:
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
	lines, size := strings.Split(out, "\n"), 0
	if in.After == 0 {
		slices.Reverse(lines) // the newest are kept
	}
	var page []string
	for i, line := range lines {
		line = strings.Join(strings.Fields(line), " ")
		if !in.Detail {
			line = strictjson.Clip(line, maxLogLine)
		}
		if size += len(line); i == in.Limit || i > 0 && !in.Detail && size > maxLogOutput {
			break
		}
		page = append(page, line)
	}
	next := ""
	if len(page) < len(lines) {
		edge, _, _ := strings.Cut(page[len(page)-1], " ")
		next = "\nNext: later events with after " + edge
		if seq, err := strconv.Atoi(edge); in.After == 0 && err == nil {
			next = fmt.Sprintf("\nNext: earlier events with to %d", seq-1)
		}
		next += ", a whole event with its seq."
	}
	if in.After == 0 {
		slices.Reverse(page)
	}
	return strings.Join(page, "\n") + next
}

// nameLogTool adds to an error of the server, which recommends commands for a terminal, how to do
// the same over MCP.
func nameLogTool(err error) error {
	return fmt.Errorf("%w\nIf a stored event is the cause, use the tool log with seq, and action show, skip or map; force is an argument. If undo removed the code that reads the event, redo restores it", err)
}
