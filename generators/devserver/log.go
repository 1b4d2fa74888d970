package devserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/typecheck"
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

// LogOutput is the output of log.
type LogOutput struct {
	OK     bool     `json:"ok"`             // Always true
	Output []string `json:"output"`         // Lines that the server printed: an event each, or the result
	Next   []string `json:"next,omitempty"` // Next steps
}

// String returns the lines and the next steps.
func (o *LogOutput) String() string {
	lines := slices.Clone(o.Output)
	for _, next := range o.Next {
		lines = append(lines, "Next: "+next)
	}
	return strings.Join(lines, "\n") + "\n"
}

// Log shows the event log; skips, maps or restores an event that cannot be applied; or replays the log.
//
//petrock:hints closed-world
func (t *Tools) Log(ctx context.Context, in LogInput) (*mcp.ToolResult, error) {
	if t.options.NoExec {
		return Answer(ctx, nil, errors.New("log is disabled by --no-exec; start petrock mcp without it"))
	}
	args, err := in.args()
	if err != nil {
		return Answer(ctx, nil, err)
	}
	program, root, err := t.prepareLog(ctx, in.Dir)
	if err != nil {
		return Answer(ctx, nil, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("log: timeout after %v", callTimeout))
	defer cancel()
	out, errOut, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: root, Group: true}, program, args...)
	switch {
	case err != nil && len(errOut) > 0 && ctx.Err() == nil && strings.Contains(string(errOut), "has not run with it yet") && in.isList():
		out, errOut, err = nil, nil, nil
	case err != nil && len(errOut) > 0 && ctx.Err() == nil:
		err = errors.New(strings.TrimSpace(string(errOut)))
	}
	if err != nil {
		return failure(ctx, err)
	}
	return Answer(ctx, in.output(string(out), string(errOut)), nil)
}

// args returns the arguments of the server's command line.
func (in LogInput) args() ([]string, error) {
	action := cmp.Or(in.Action, LogShow)
	switch {
	case in.Seq < 0 || in.After < 0 || in.Limit < 0:
		return nil, terminal.Usagef("log: seq, after and limit must not be negative")
	case action == LogReplay:
		return []string{"replay"}, nil
	case in.isList():
		args := []string{"log", fmt.Sprintf("--after=%d", in.After), fmt.Sprintf("--limit=%d", in.limit()+1)}
		if in.Type != "" {
			args = append(args, "--type="+in.Type)
		}
		if in.Actor != "" {
			args = append(args, "--actor="+in.Actor)
		}
		return args, nil
	case in.Seq == 0:
		return nil, terminal.Usagef("log %s: seq is missing; pass the number of the event, which log shows", action)
	}
	args := []string{"log", string(action), strconv.FormatInt(in.Seq, 10)}
	if action == LogShow {
		return args, nil
	}
	if in.Reason == "" {
		return nil, terminal.Usagef("log %s: reason is missing; it is recorded in the log", action)
	}
	args = append(args, "--reason="+in.Reason)
	if in.Force {
		args = append(args, "--force")
	}
	if action != LogMap {
		return args, nil
	}
	if in.Type == "" {
		return nil, terminal.Usagef("log map: type is missing; pass the type to read the event as, such as posts/create")
	}
	args = append(args, "--type="+in.Type, fmt.Sprintf("--version=%d", in.Version))
	if in.Input != nil {
		text, err := strictjson.Marshal(in.Input)
		if err != nil {
			return nil, err
		}
		args = append(args, "--input="+string(text))
	}
	return args, nil
}

// isList reports whether the action is to list events.
func (in LogInput) isList() bool { return cmp.Or(in.Action, LogShow) == LogShow && in.Seq == 0 }

func (in LogInput) limit() int { return cmp.Or(in.Limit, 20) }

// prepareLog builds the server of a project with features.
func (t *Tools) prepareLog(ctx context.Context, dir string) (program, root string, err error) {
	o, done, err := t.acquire(ctx, dir)
	if err != nil {
		return "", "", err
	}
	defer done()
	listing, err := o.engine.List(ctx)
	if err != nil {
		return "", "", err
	}
	if listing.OK && !slices.ContainsFunc(listing.Components, func(c derive.Component) bool { return c.Kind == derive.Feature }) {
		return "", "", terminal.Usagef("the project has no features, so it has no event log; generate_feature adds a feature")
	}
	built, err := o.build(ctx, BuildInput{})
	if err != nil {
		return "", "", err
	}
	if built.Program == "" { // stale derived files do not matter
		return "", "", built.refusal()
	}
	o.engine.Step("reading the event log")
	return built.Program, o.engine.Root(), nil
}

// Limits of a result of log without detail.
const (
	maxLogLine   = 200  // bytes of a listed event
	maxLogOutput = 1500 // bytes of all lines
)

// output returns the result of a command that printed out and errOut.
func (in LogInput) output(out, errOut string) *LogOutput {
	result := &LogOutput{OK: true, Output: []string{}}
	switch cmp.Or(in.Action, LogShow) {
	case LogShow:
	case LogReplay:
		result.Output = strings.Split(strings.TrimSpace(out), "\n")
		return result
	default:
		done, _, _ := strings.Cut(strings.TrimSpace(out), "\n") // the rest is a command for a terminal
		result.Output = []string{done}
		result.Next = []string{`Check the log: log {"action":"replay"}`}
		if in.Action != LogRestore {
			result.Next = append(result.Next, fmt.Sprintf(`To revert this: log {"action":"restore","seq":%d,"reason":"…"}`, in.Seq))
		}
		return result
	}
	if in.Seq > 0 {
		text := strings.TrimSpace(out)
		if compact := new(bytes.Buffer); json.Compact(compact, []byte(text)) == nil {
			text = compact.String()
		}
		if short := shortenBytes(text, maxLogOutput); !in.Detail && short != text {
			text = short
			result.Next = append(result.Next, fmt.Sprintf(`The whole event: log {"seq":%d,"detail":true}`, in.Seq))
		}
		result.Output = []string{text}
		return result
	}
	in.list(result, out)
	if len(result.Output) == 0 {
		result.Output = append(result.Output, cmp.Or(strings.TrimSpace(errOut), "no events"))
	}
	return result
}

// list adds one page of events to a result.
func (in LogInput) list(result *LogOutput, out string) {
	size, last, shortened := 0, "", false
	for line := range strings.Lines(out) {
		line = strings.Join(strings.Fields(line), " ")
		full := line
		if !in.Detail {
			line = shortenBytes(line, maxLogLine)
		}
		size += len(line)
		if len(result.Output) == in.limit() || size > maxLogOutput && !in.Detail && len(result.Output) > 0 {
			result.Next = append(result.Next, fmt.Sprintf(`More events: log {"after":%s}`, last))
			break
		}
		shortened = shortened || line != full
		last, _, _ = strings.Cut(line, " ")
		result.Output = append(result.Output, line)
	}
	if shortened {
		result.Next = append(result.Next, `The whole data of an event: log {"seq":N}`)
	}
}

// shortenBytes cuts a text at a character.
func shortenBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + " …"
}

// nameLogTool adds to an error that recommends the server's command log how to do the same over MCP.
func nameLogTool(err error) error {
	message := err.Error()
	found := regexp.MustCompile(`(?m)^(?:.*: )?event (\d+) of the log `).FindStringSubmatch(message)
	if found == nil {
		found = regexp.MustCompile(` log (?:show|skip|map|restore) (\d+)`).FindStringSubmatch(message)
	}
	if found == nil {
		return err
	}
	message = strings.ReplaceAll(message, "add --force", "pass force: true")
	message += fmt.Sprintf("\nOver MCP use the tool log: log {\"action\":\"show\",\"seq\":%[1]s}, log {\"action\":\"map\",\"seq\":%[1]s,\"type\":\"…\",\"input\":{…},\"reason\":\"…\"} or log {\"action\":\"skip\",\"seq\":%[1]s,\"reason\":\"…\"}", found[1])
	if strings.Contains(message, "is newer than this build") {
		message += "\nIf an undo removed the code that reads the event, restore it with redo. If another operation did, undo that operation; history lists them. If a checkout did, check out the newer code."
	}
	return errors.New(message)
}
