package appserve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
)

// SetOpen implements serve.ServerExtension.
func (d *Data) SetOpen(open func(context.Context, *slog.Logger, bool) (*mcp.Server, func() error, error)) {
	d.openServer = open
}

// A trial is the copy of the data that try works on.
type trial struct {
	*app.Scenario
	store *eventlog.Memory
	dir   string
}

// A tryStep is a step of try: exactly one of advance, run and call.
type tryStep struct {
	Advance   string          `json:"advance,omitempty"` // duration
	Run       string          `json:"run,omitempty"`     // worker
	Call      string          `json:"call,omitempty"`    // tool
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Actor     string          `json:"actor,omitempty"`

	by    time.Duration // of Advance
	words []string      // the arguments as NAME=VALUE, if they are not JSON
}

// A triedStep is the result of a step.
type triedStep struct {
	Step     string              `json:"step"`
	Time     time.Time           `json:"time"` // of the clock, after the step
	Events   []shownEvent        `json:"events"`
	Failures []app.WorkerFailure `json:"failures,omitempty"`
	Workers  []app.WorkerStatus  `json:"workers,omitempty"` // after advance and run
	Result   *mcp.ToolResult     `json:"result,omitempty"`  // of the tool
}

func (d *Data) newTry() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "try STEP…|-",
		Short: "Try commands, workers and the passing of time on a copy of the data",
		Long: `Try commands, workers and the passing of time on a copy of the data, in memory. Nothing is written:
the copy is discarded at the end, and servers can keep running. But calls of tools and workers to the
outside world are real: a worker that sends mail sends it.

The clock of the copy starts now, and stands still except in advance. Each step is one argument:

  advance DURATION
      moves the clock, such as advance 48h. Workers do what is due on the way, each at its time:
      handle events, call Every, retry. advance 0s does what is due now.
  run WORKER
      lets one worker work now: it calls Every, due or not, and handles all events.
  call TOOL [NAME=VALUE…] [--as ACTOR]
      calls a tool, with another actor if you like. Instead of NAME=VALUE, pass a JSON object. Quote
      values with spaces: title="two words".

Workers run in advance and run only. Each step prints the events that it appended, the failures of
workers and their positions, or the tool's result.

With -, the steps are a JSON array on standard input:

  [{"advance": "48h"}, {"run": "posts/digest"},
   {"call": "posts_create", "arguments": {"title": "news"}, "actor": "local:bob"}]

Exit codes: 0 all steps were run, even if a tool or a worker failed; 1 a step could not be run; 2 usage
error.`,
		Example: d.examples("try 'advance 48h'", "try 'call posts_create title=news --as ada' 'run posts/digest' 'call posts_list'", "try - < steps.json"),
		Args:    mcpcli.MinimumArgs("'advance 48h'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			steps, err := readSteps(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			ctx, stop := untilInterrupted(cmd)
			defer stop()
			return d.try(ctx, cmd, steps, asJSON, all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&all, "all", false, "print all events of each step, and all of their data")
	return cmd
}

// readSteps reads the steps from the arguments, or from in if they are -.
func readSteps(args []string, in io.Reader) (steps []tryStep, err error) {
	if slices.Equal(args, []string{"-"}) {
		decoder := json.NewDecoder(in)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&steps); err != nil {
			return nil, terminal.Usagef("standard input must be a JSON array of steps, such as [{\"advance\": \"48h\"}]: %w", err)
		}
		args = nil
	}
	for _, arg := range args {
		step, err := parseStep(arg)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	if len(steps) == 0 {
		return nil, terminal.Usagef("try requires a step, such as 'advance 48h'")
	}
	for i := range steps {
		if err := steps[i].check(); err != nil {
			return nil, terminal.Usagef("step %d: %w", i+1, err)
		}
	}
	return steps, nil
}

// parseStep parses a step of the command line.
func parseStep(text string) (step tryStep, err error) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	switch verb {
	case "advance":
		return tryStep{Advance: rest}, nil
	case "run":
		return tryStep{Run: rest}, nil
	case "call":
	default:
		return step, terminal.Usagef("step %q: a step begins with advance, run or call, such as 'advance 48h'", text)
	}
	step.Call, rest, _ = strings.Cut(rest, " ")
	if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "{") {
		decoder := json.NewDecoder(strings.NewReader(rest))
		if err := decoder.Decode(&step.Arguments); err != nil {
			return step, terminal.Usagef("step %q: the arguments are not valid JSON: %w", text, err)
		}
		rest = rest[decoder.InputOffset():]
	}
	words, err := splitWords(rest)
	if err != nil {
		return step, terminal.Usagef("step %q: %w", text, err)
	}
	for i := 0; i < len(words); i++ {
		actor, isActor := strings.CutPrefix(words[i], "--as=")
		if words[i] == "--as" && i+1 < len(words) {
			i++
			actor, isActor = words[i], true
		}
		switch {
		case isActor:
			step.Actor = actor
		case step.Arguments != nil:
			return step, terminal.Usagef("step %q: %q follows the JSON object; only --as ACTOR may", text, words[i])
		default:
			step.words = append(step.words, words[i])
		}
	}
	return step, nil
}

// splitWords splits a text at spaces, except between quotes, which it removes.
func splitWords(text string) (words []string, err error) {
	var word strings.Builder
	quote, inWord := rune(0), false
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case quote == 0 && unicode.IsSpace(r):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// check returns an error for a step that is wrong in itself.
func (s *tryStep) check() (err error) {
	kinds := 0
	for _, given := range []string{s.Advance, s.Run, s.Call} {
		if given != "" {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return errors.New("a step has exactly one of advance with a duration, run with a worker, and call with a tool")
	case s.Call == "" && (s.Arguments != nil || s.Actor != ""):
		return errors.New("only call takes arguments and an actor")
	case s.Call != "":
		return checkActor(s.Actor)
	case s.Run != "":
		return nil
	}
	if s.by, err = time.ParseDuration(s.Advance); err != nil || s.by < 0 {
		return fmt.Errorf("advance %q is not a duration; write 90m, 48h or 336h", s.Advance)
	}
	return nil
}

// String returns the step as on the command line.
func (s *tryStep) String() string {
	switch {
	case s.Advance != "":
		return "advance " + s.Advance
	case s.Run != "":
		return "run " + s.Run
	}
	text := "call " + s.Call
	if s.Arguments != nil {
		text += " " + string(s.Arguments)
	}
	if s.Actor != "" {
		text += " --as " + s.Actor
	}
	return text
}

// checkActor returns an error for a name that --as must not set; "" is the default.
func checkActor(name string) error {
	switch {
	case strings.HasPrefix(name, "worker:"):
		return fmt.Errorf("actor %q: names that start with worker: are those of workers; to run a worker, use try 'run WORKER'", shorten(name, 60))
	case utf8.RuneCountInString(name) > 200 || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return fmt.Errorf("actor %q: a name has at most 200 characters, without spaces; use a name such as ada or local:bob", shorten(name, 60))
	}
	return nil
}

// openTrial opens a copy of the data instead of the data.
func (d *Data) openTrial(ctx context.Context, s *mcp.Server, log *slog.Logger) (err error) {
	limitMemory()
	d.trial.store = eventlog.NewMemory()
	d.trial.dir, err = d.look(ctx, func(v eventlog.TypeView) (err error) {
		d.trial.store, err = app.CopyToMemory(ctx, v)
		return err
	})
	if err != nil {
		return fmt.Errorf("copy the data: %w", err)
	}
	o := d.with(app.Options{Logger: log, NoSnapshot: true})
	if d.trial.Scenario, err = app.OpenScenario(ctx, d.trial.store, time.Now(), o, d.appFeatures()...); err != nil {
		return err
	}
	d.running = d.trial.App
	return appmcp.Register(s, d.trial.App, d.options, d.features...)
}

// try runs steps, and prints each result.
func (d *Data) try(ctx context.Context, cmd *cobra.Command, steps []tryStep, asJSON, all bool) (err error) {
	if d.openServer == nil {
		return errors.New("try: this program has no server")
	}
	d.trial = &trial{}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelError}))
	slog.SetDefault(log) // for the project's own code
	server, end, err := d.openServer(ctx, log, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	c := callers{server: server, app: d.trial.App, byActor: map[string]*client.Client{}}
	defer c.close()
	if err := d.prepare(ctx, &c, steps); err != nil {
		return err
	}
	last, err := d.trial.store.Last(ctx)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if !asJSON {
		fmt.Fprintf(out, "On a copy of %s from %s. The clock shows %s.\n", count(last), d.trial.dir, d.trial.Now().UTC().Format(time.DateTime))
	}
	done := []triedStep{}
	for _, step := range steps {
		result, stepErr := d.trial.do(ctx, &c, step)
		if result.Events, err = eventsAfter(ctx, d.trial.store, last); err != nil {
			return err
		}
		last += int64(len(result.Events))
		if done = append(done, result); !asJSON {
			if err := printStep(out, result, all); err != nil {
				return err
			}
		}
		if err = stepErr; err != nil {
			err = fmt.Errorf("step %s: %w", shorten(step.String(), 100), stepErr)
			break
		}
	}
	if asJSON {
		err = errors.Join(err, terminal.PrintJSON(out, done))
	} else if err == nil {
		_, err = fmt.Fprintln(out, "The copy is discarded. What tools and workers did outside of it remains.")
	}
	return err
}

// prepare checks that workers and tools exist and that arguments are valid, before any step runs.
func (d *Data) prepare(ctx context.Context, c *callers, steps []tryStep) error {
	names := d.admin(d.trial.store).WorkerNames()
	for i := range steps {
		step := &steps[i]
		if step.Run != "" && !slices.Contains(names, step.Run) {
			return terminal.Usagef("worker %s does not exist; the workers are: %s", shorten(step.Run, 60), cmp.Or(strings.Join(names, ", "), "none"))
		}
		if step.Call == "" {
			continue
		}
		caller, err := c.as(ctx, step.Actor)
		if err != nil {
			return err
		}
		tool, err := caller.Tool(ctx, step.Call)
		if missing, ok := errors.AsType[*client.NotFoundError](err); ok {
			missing.Hint = "list them with " + d.program + " tools"
			return &terminal.UsageError{Err: missing}
		}
		if err != nil {
			return err
		}
		if step.Arguments != nil {
			step.words = []string{"-"}
		}
		if step.Arguments, err = mcpcli.ParseArguments(tool, step.words, bytes.NewReader(step.Arguments)); err != nil {
			return err
		}
	}
	return nil
}

// do runs a step. It does not set the events.
func (t *trial) do(ctx context.Context, c *callers, step tryStep) (result triedStep, err error) {
	result.Step = step.String()
	switch {
	case step.Call != "":
		var caller *client.Client
		if caller, err = c.as(ctx, step.Actor); err == nil {
			result.Result, err = caller.CallTool(ctx, step.Call, step.Arguments)
		}
	case step.Run != "":
		result.Failures, err = t.Work(ctx, step.Run)
	default:
		result.Failures, err = t.Advance(ctx, step.by)
	}
	result.Time = t.Now().UTC()
	if step.Call == "" {
		workers, readErr := t.App.Workers(ctx)
		err = cmp.Or(err, readErr)
		result.Workers = slices.DeleteFunc(workers, func(w app.WorkerStatus) bool { return step.Run != "" && w.Name != step.Run })
		for i := range result.Workers {
			result.Workers[i].Process = ""
		}
	}
	return result, err
}

func eventsAfter(ctx context.Context, store eventlog.Store, after int64) ([]shownEvent, error) {
	events := []shownEvent{}
	for record, err := range store.Records(ctx, after) {
		if err != nil {
			return nil, err
		}
		events = append(events, shownEvent{Record: record})
	}
	return events, nil
}

// Limits of the text of a step, unless all is asked for.
const (
	maxTryEvents = 10
	maxTryLine   = 160 // characters of the data of an event
	maxTryResult = 2000
)

// printStep prints the result of a step as text.
func printStep(out io.Writer, s triedStep, all bool) error {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s  (%s)\n", s.Step, s.Time.Format(time.DateTime))
	shown := s.Events
	if !all {
		shown = shown[:min(len(shown), maxTryEvents)]
	}
	for _, e := range shown {
		data := e.text()
		if !all {
			data = shorten(data, maxTryLine)
		}
		fmt.Fprintf(&text, "  %d  %s  %s  %s  %s%s\n", e.Seq, e.Time.Format(time.DateTime), shorten(cmp.Or(e.Actor, "-"), 60), shorten(e.Type, 60), data, e.causeNote())
	}
	if rest := s.Events[len(shown):]; len(rest) > 0 {
		types := map[string]int{}
		for _, e := range rest {
			types[e.Type]++
		}
		fmt.Fprintf(&text, "  and %s:", count(int64(len(rest))))
		for _, name := range slices.Sorted(maps.Keys(types)) {
			fmt.Fprintf(&text, " %d %s", types[name], shorten(name, 60))
		}
		text.WriteString("; --all prints them\n")
	}
	for _, f := range s.Failures {
		text.WriteString("  " + describeFailure(f) + "\n")
	}
	for _, w := range s.Workers {
		fmt.Fprintf(&text, "  %s: position %d", w.Name, w.Position)
		if w.Behind > 0 {
			fmt.Fprintf(&text, ", %s behind", count(w.Behind))
		}
		if len(w.Aside) > 0 {
			fmt.Fprintf(&text, ", %d set aside", len(w.Aside))
		}
		text.WriteString("\n")
	}
	if r := s.Result; r != nil {
		said := cmp.Or(string(r.StructuredContent), strings.TrimSpace(terminal.Plain(r.Text())))
		if !all {
			said = strictjson.Clip(said, maxTryResult)
		}
		if r.IsError {
			said = "error: " + said
		}
		text.WriteString("  " + strings.ReplaceAll(said, "\n", "\n  ") + "\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// describeFailure describes a failure of a worker.
func describeFailure(f app.WorkerFailure) string {
	text := f.Worker
	switch {
	case f.Count > 1:
		text += fmt.Sprintf(" failed %d times", f.Count)
	case f.Count == 1:
		text += " failed"
	}
	if f.Event > 0 && f.Count > 0 {
		text += fmt.Sprintf(" on event %d", f.Event)
	}
	switch {
	case f.Aside && f.Count > 0:
		text += ", which is set aside"
	case f.Aside:
		text += fmt.Sprintf(" set event %d aside", f.Event)
	}
	return text + ": " + oneLine(f.Error)
}

// callers are clients of a server in this process, one for each actor.
type callers struct {
	server  *mcp.Server
	app     *app.App
	byActor map[string]*client.Client
}

// as returns the client whose calls have an actor; "" is the local user.
func (c *callers) as(ctx context.Context, actor string) (*client.Client, error) {
	if c.byActor[actor] == nil {
		connected, err := client.InProcess(app.WithActor(app.With(ctx, c.app), actor), c.server, client.Options{Info: mcp.Implementation{Name: "try", Version: "1"}})
		if err != nil {
			return nil, err
		}
		c.byActor[actor] = connected
	}
	return c.byActor[actor], nil
}

func (c *callers) close() {
	for _, one := range c.byActor {
		one.Close()
	}
}
