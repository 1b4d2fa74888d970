package appserve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
)

// newAgent returns the hidden command agent, which petrock's dev server runs for its tools log, try
// and data: it reads the arguments of the tool as JSON, and prints what a model needs of the output
// of the command that does the same.
func (d *Data) newAgent() *cobra.Command {
	return &cobra.Command{
		Use:    "agent TOOL",
		Short:  "Run petrock's tool log, try or data with JSON from standard input",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			program, err := os.Executable()
			if err != nil {
				return err
			}
			input, err := io.ReadAll(cmd.InOrStdin())
			if err != nil {
				return fmt.Errorf("read standard input: %w", err)
			}
			a := agent{run: func(ctx context.Context, stdin []byte, args ...string) (stdout, stderr []byte, err error) {
				return process.Run(ctx, process.RunOptions{Stdin: bytes.NewReader(stdin)}, program, args...)
			}, program: d.program}
			text, err := a.call(cmd.Context(), args[0], input)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
			return err
		},
	}
}

// An agent runs commands of the server for a model.
type agent struct {
	run     func(ctx context.Context, stdin []byte, args ...string) (stdout, stderr []byte, err error)
	program string // its name in errors
}

// Sizes of texts for a model without detail, in bytes.
const (
	maxAgentLine   = 200 // of a listed event
	maxAgentOutput = 1500
	maxAgentTry    = 4000
	maxAgentError  = 2000
)

// call runs a tool, and returns its text.
func (a agent) call(ctx context.Context, tool string, input []byte) (string, error) {
	switch tool {
	case "log":
		return a.log(ctx, input)
	case "try":
		return a.try(ctx, input)
	case "data":
		return a.data(ctx, input)
	}
	return "", terminal.Usagef("agent: tool %q does not exist; use log, try or data", tool)
}

// output runs a command and returns its output, which is empty if there is no data yet.
func (a agent) output(ctx context.Context, stdin []byte, args ...string) (string, error) {
	out, errOut, err := a.run(ctx, stdin, args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == terminal.ExitNoData {
		return "", nil
	}
	if err != nil && len(errOut) > 0 {
		said, _, _ := strings.Cut(string(bytes.TrimSpace(errOut)), "\nRun '") // help for a terminal
		said = strings.TrimPrefix(said, a.program+": ")
		err = errors.New(strings.TrimSpace(said + "\n" + strictjson.Clip(string(out), maxAgentError)))
	}
	return string(bytes.TrimSpace(out)), err
}

// An agentLog is the input of the tool log.
type agentLog struct {
	Action             string
	Seq                int64
	After, Before      int64
	Limit              int
	Type, Actor, Cause string
	Text, Since, Until string
	Version            int
	Input              json.RawMessage
	Reason             string
	Force, Detail      bool
}

func (a agent) log(ctx context.Context, input []byte) (string, error) {
	var in agentLog
	if err := json.Unmarshal(input, &in); err != nil {
		return "", terminal.Usagef("log: %w", err)
	}
	in.Action, in.Limit = cmp.Or(in.Action, "show"), cmp.Or(in.Limit, 20)
	args, err := in.args(input)
	if err != nil {
		return "", err
	}
	out, err := a.output(ctx, nil, args...)
	if err != nil && in.Action != "show" {
		err = fmt.Errorf("%w\nIf a stored event is the cause, use the tool log with seq, and action show, skip or map; force is an argument. If undo removed the code that reads the event, redo restores it", err)
	}
	return in.text(out), err
}

// args returns the arguments of the command, which checks them.
func (in agentLog) args(members json.RawMessage) ([]string, error) {
	if in.Seq < 0 || in.Limit < 0 {
		return nil, errors.New("log: seq and limit must not be negative")
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
	default: // the command would change all events of the type
		return nil, fmt.Errorf("log: action %s requires seq", in.Action)
	}
	for _, name := range []string{"type", "actor", "cause", "text", "since", "until", "reason", "force", "version", "input"} {
		if value := strictjson.Member(members, name); value != nil {
			text, _ := strictjson.Unquote(value)
			args = append(args, "--"+name+"="+cmp.Or(text, string(value)))
		}
	}
	if in.Action == "erase" {
		args = append(args, "--yes")
	}
	return args, nil
}

// text returns the text of the result. out is the output of the command.
func (in agentLog) text(out string) string {
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
		if !in.Detail && len(out) > maxAgentOutput {
			out = strictjson.Clip(out, maxAgentOutput) + "\nNext: pass detail for the whole event."
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
			line = strictjson.Clip(line, maxAgentLine)
		}
		if size += len(line); i == in.Limit || i > 0 && !in.Detail && size > maxAgentOutput {
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

func (a agent) try(ctx context.Context, input []byte) (string, error) {
	var in struct {
		Steps  json.RawMessage
		Detail bool
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return "", terminal.Usagef("try: %w", err)
	}
	out, err := a.output(ctx, in.Steps, "try", "-", fmt.Sprintf("--all=%t", in.Detail))
	if !in.Detail && len(out) > maxAgentTry {
		out = strictjson.Clip(out, maxAgentTry) + "\nNext: pass fewer steps, or detail for everything."
	}
	return out, err
}

// backups is where backups are by default. Git ignores it.
const backups = ".petrock/backup-"

func (a agent) data(ctx context.Context, input []byte) (string, error) {
	var in struct {
		Action, Worker, File string
		Seq                  int64
		Detail               bool
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return "", terminal.Usagef("data: %w", err)
	}
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
		return "", fmt.Errorf("data: action %s requires file, a path in the project such as %sNAME.jsonl.gz", in.Action, backups)
	case !isFile && in.Action != "workers" && in.Worker == "":
		return "", fmt.Errorf("data: action %s requires worker, such as posts/digest", in.Action)
	case in.Action == "retry" && in.Seq != 0:
		args = []string{"workers", "retry", "--", in.Worker, fmt.Sprint(in.Seq)}
	}
	out, err := a.output(ctx, nil, args...)
	out, _, _ = strings.Cut(out, "\n\nNext:") // a command for a terminal
	return cmp.Or(out, "no data yet"), err
}
