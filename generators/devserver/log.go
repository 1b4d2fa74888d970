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
	"time"

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
	in.Action, in.Limit = cmp.Or(in.Action, "show"), cmp.Or(in.Limit, 20)
	args, err := in.args()
	if err != nil {
		return Answer(ctx, nil, err)
	}
	out, err := t.runServer(ctx, in.Dir, nil, args...)
	if err != nil && in.Action != "show" {
		err = nameLogTool(err)
	}
	return Answer(ctx, in.output(out), err)
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
	if in.Seq < 0 || in.Limit < 0 {
		return nil, terminal.Usagef("log: seq and limit must not be negative")
	}
	args := []string{"log", in.Action}
	switch {
	case in.Action == "replay":
		return []string{"replay"}, nil
	case in.Seq > 0:
		args = append(args, strconv.FormatInt(in.Seq, 10))
	case in.Action == "show":
		page := "--last"
		if in.After > 0 {
			page = "--limit"
		}
		args = []string{"log", fmt.Sprintf("--after=%d", in.After), fmt.Sprintf("--before=%d", in.Before), fmt.Sprintf("%s=%d", page, in.Limit+1)}
	default: // the command line would change all events of the type
		return nil, terminal.Usagef("log: action %s requires seq", in.Action)
	}
	members, err := strictjson.Marshal(in)
	for _, name := range []string{"type", "actor", "cause", "text", "since", "until", "reason", "force", "version", "input"} {
		if value := strictjson.Member(members, name); value != nil {
			text, _ := strictjson.Unquote(value)
			args = append(args, "--"+name+"="+cmp.Or(text, string(value)))
		}
	}
	if in.Action == "erase" {
		args = append(args, "--yes")
	}
	return args, err
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
	case in.Action == "replay", in.Action == "erase":
		return out
	case in.Action != "show":
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
	lines, size, next, direction := strings.Split(out, "\n"), 0, "", "later events with after"
	if in.After == 0 {
		slices.Reverse(lines) // the newest are kept
		direction = "earlier events with before"
	}
	var page []string
	for i, line := range lines {
		line = strings.Join(strings.Fields(line), " ")
		if !in.Detail {
			line = strictjson.Clip(line, maxLogLine)
		}
		if size += len(line); i == in.Limit || i > 0 && !in.Detail && size > maxLogOutput {
			edge, _, _ := strings.Cut(page[i-1], " ")
			next = fmt.Sprintf("\nNext: %s %s, a whole event with its seq.", direction, edge)
			break
		}
		page = append(page, line)
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

// TryInput is the input of try. The command line of the server checks the steps.
type TryInput struct {
	Steps []map[string]json.RawMessage `json:"steps"` // Keys: advance (48h) or run (worker) or call (tool) with arguments, actor
	Common
}

// Try runs steps on a copy of the data: calls, workers, time. Effects outside of it are real.
//
//petrock:hints open-world
func (t *Tools) Try(ctx context.Context, in TryInput) (*mcp.ToolResult, error) {
	steps, _ := strictjson.Marshal(in.Steps) // they were decoded from JSON
	out, err := t.runServer(ctx, in.Dir, steps, "try", "-", fmt.Sprintf("--all=%t", in.Detail))
	if !in.Detail && len(out) > 2*maxAnswer {
		out = strictjson.Clip(out, 2*maxAnswer) + "\nNext: pass fewer steps, or detail for everything."
	}
	return Answer(ctx, out, err)
}

// DataInput is the input of data.
type DataInput struct {
	Action string `json:"action,omitempty" schema:"enum=workers|retry|reset|backup|restore"` // Default: workers
	Worker string `json:"worker,omitempty"`
	Seq    int64  `json:"seq,omitempty"`  // retry: default all
	File   string `json:"file,omitempty"` // Default: a new backup
	Common
}

// backups is where backups are by default. Git ignores it.
const backups = ".petrock/backup-"

// Data lists workers, retries what they set aside, resets their fields; backs up or restores.
//
//petrock:hints closed-world
func (t *Tools) Data(ctx context.Context, in DataInput) (*mcp.ToolResult, error) {
	in.Action = cmp.Or(in.Action, "workers")
	if in.File == "" && in.Action == "backup" {
		in.File = backups + time.Now().UTC().Format("20060102-150405") + ".jsonl.gz"
	}
	args := map[string][]string{
		"workers": {"workers", fmt.Sprintf("--all=%t", in.Detail)},
		"retry":   {"workers", "retry", "--all", "--", in.Worker},
		"reset":   {"workers", "reset", "--", in.Worker},
		"backup":  {"backup", "./" + in.File},
		"restore": {"restore", "--replace", "./" + in.File},
	}[in.Action]
	switch isFile := in.Action == "backup" || in.Action == "restore"; {
	case isFile && !filepath.IsLocal(in.File):
		return Answer(ctx, nil, terminal.Usagef("data: action %s requires file, a path in the project such as %sNAME.jsonl.gz", in.Action, backups))
	case !isFile && in.Action != "workers" && in.Worker == "":
		return Answer(ctx, nil, terminal.Usagef("data: action %s requires worker, such as posts/digest", in.Action))
	case in.Action == "retry" && in.Seq != 0:
		args = []string{"workers", "retry", "--", in.Worker, fmt.Sprint(in.Seq)}
	}
	out, err := t.runServer(ctx, in.Dir, nil, args...)
	out, _, _ = strings.Cut(out, "\n\nNext:") // a command for a terminal
	return Answer(ctx, cmp.Or(out, "no data yet"), err)
}
