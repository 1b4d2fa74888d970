package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/parts"
)

// Headings of commands in help.
const (
	ChangeGroup = "Create and change a project:"
	ServeGroup  = "Connect an agent:"
)

// AddCommands adds the commands that work on a project to root, except mcp.
func AddCommands(root *cobra.Command, env Env) {
	mcpcli.AddGroup(root, ChangeGroup, projectCommands(env,
		newGenerate(env),
		newEdit(env),
		newApply(env),
		newRevert(env, (*engine.Engine).Undo, "undo", "Undo an operation"),
		newRevert(env, (*engine.Engine).Redo, "redo", "Redo an operation that was undone"),
		newChange(env),
		newDestroy(env),
		newPart(env, (*engine.Engine).AddPart, "add", "Add optional code: app (event log), client (HTTP client), oauth, postgres"),
		newPart(env, (*engine.Engine).RemovePart, "remove", "Remove an unused part"),
		newSync(env),
	)...)
	mcpcli.AddGroup(root, "Inspect a project:", projectCommands(env, newList(env), newStatus(env), newSearch(env), newTest(env), newHistory(env))...)
}

// projectFlags are the flags that commands on a project share.
type projectFlags struct {
	engine.Options
	dir    string
	asJSON bool
	detail bool
	noNet  bool
	draft  string // id of a draft; empty if none
}

// addFlags adds the flags to a command, and returns it.
func (c *projectFlags) addFlags(cmd *cobra.Command, writes bool) *cobra.Command {
	flags := cmd.Flags()
	flags.StringVar(&c.dir, "dir", ".", "folder in the project")
	cmd.MarkFlagDirname("dir")
	flags.BoolVar(&c.asJSON, "json", false, "print one JSON object")
	flags.BoolVar(&c.detail, "detail", false, "with --json: print everything, such as diffs, schemas and whole files")
	flags.BoolVar(&c.NoExec, "no-exec", false, "run no code of the project: no tests, and not its own petrock")
	if writes || cmd.Name() == "apply" {
		flags.BoolVar(&c.NoData, "no-data", false, "do not look at stored events; contract.json alone decides whether they stay readable")
	}
	if writes {
		flags.BoolVar(&c.DryRun, "dry-run", false, "print a diff and save a plan for apply; change nothing else")
	}
	return cmd
}

// addDraftFlag adds the flag --draft to a command whose operation [runDrafted] runs.
func (c *projectFlags) addDraftFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.draft, "draft", "", "repeat the refused command with this draft `ID`; arguments and flags are what changes")
}

func (c *projectFlags) open(env Env) (*engine.Engine, error) {
	e, err := engine.Open(joinDir(env.Dir, c.dir), env.generators())
	if err != nil {
		return nil, err
	}
	e.Limits.NoNet = c.noNet
	e.FormatCall = func(c gen.Call) string { return c.CommandLine(env.Program) }
	if prefix, ok := os.LookupEnv(devserver.PrefixVariable); ok {
		e.FormatCall = devserver.FormatCall(prefix)
	}
	return e, nil
}

// joinDir returns an absolute path unchanged, and joins any other path to dir.
func joinDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// An operation is what a command does in a project.
type operation[T any] func(*engine.Engine, context.Context) (T, error)

// run opens the project, runs an operation, and prints its result as JSON or with show.
func run[T any](ctx context.Context, env Env, c *projectFlags, do operation[T], show func(Env, T) error) (result T, err error) {
	e, err := c.open(env)
	if err != nil {
		return result, err
	}
	defer e.Close()
	progress := &terminal.Progress{Out: env.Err, Quiet: c.asJSON}
	e.Step = progress.Begin
	result, err = do(e, ctx)
	progress.End()
	switch {
	case err == context.Canceled, err != nil && err == context.Cause(ctx): // a longer error says what the operation has left
		return result, mcpcli.ErrInterrupted
	case err != nil:
		return result, err
	case c.asJSON:
		return result, printJSON(env, result, c.detail)
	}
	return result, show(env, result)
}

// runOperation is run for an operation that changes the project.
func runOperation(cmd *cobra.Command, env Env, c *projectFlags, do operation[*engine.Result]) error {
	_, err := run(cmd.Context(), env, c, do, printResult)
	return err
}

// runDrafted is runOperation for a command that does the same as a tool of the dev server. given is
// the arguments of the tool. do gets them, merged into those of the draft if there is one.
func runDrafted[In any](cmd *cobra.Command, env Env, c *projectFlags, tool string, given json.RawMessage, do func(*engine.Engine, context.Context, In) (*engine.Result, error)) error {
	return runOperation(cmd, env, c, func(e *engine.Engine, ctx context.Context) (*engine.Result, error) {
		var members map[string]json.RawMessage
		if err := strictjson.Unmarshal(given, &members); err != nil {
			return nil, err
		}
		draft, err := e.Draft(tool, c.draft, members)
		if err != nil {
			return nil, err
		}
		if c.draft != "" { // options of the dev server
			c.DryRun = c.DryRun || string(draft.Arguments["dry_run"]) == "true"
			c.NoData = c.NoData || string(draft.Arguments["no_data"]) == "true"
			delete(draft.Arguments, "dry_run")
			delete(draft.Arguments, "no_data")
		}
		var in In
		whole, _ := strictjson.Marshal(draft.Arguments) // they are valid JSON
		if err := strictjson.Unmarshal(whole, &in); err != nil {
			return nil, draft.End(nil, &terminal.UsageError{Err: err})
		}
		result, err := do(e, ctx, in)
		return result, draft.End(result, err)
	})
}

// An operationOn is an operation on a part, a plan or an earlier operation, by its name or id.
type operationOn func(e *engine.Engine, ctx context.Context, name string, o engine.Options) (*engine.Result, error)

// newOn returns a command that runs an operation on its argument, which is "" if there is none.
func newOn(env Env, c *projectFlags, use, short string, args cobra.PositionalArgs, do operationOn) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  args,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runOperation(cmd, env, c, func(e *engine.Engine, ctx context.Context) (*engine.Result, error) {
				return do(e, ctx, strings.Join(args, ""), c.Options)
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

// printReport prints a result of a command that does not change the project.
func printReport[T fmt.Stringer](env Env, result T) error { return PrintReport(env.Out, result) }

// reported returns an error that the output of a command has explained, or err if that is not nil.
func reported(err error, failed bool, message string) error {
	if err == nil && failed {
		return &terminal.ReportedError{Err: errors.New(message)}
	}
	return err
}

// printJSON prints a result as JSON: in its short form, unless detail is set.
func printJSON(env Env, result any, detail bool) error {
	if whole, ok := result.(engine.Shortener); ok && !detail {
		result = whole.Short(0)
	}
	return terminal.PrintJSON(env.Out, result)
}

// newView returns a command that shows a part of the project. verdict returns an error if what it
// shows is one.
func newView[T any](env Env, name, short string, do operation[T], show func(Env, T) error, verdict func(T) error) *cobra.Command {
	var c projectFlags
	return c.addFlags(&cobra.Command{
		Use:               name,
		Short:             short,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := run(cmd.Context(), env, &c, do, show)
			if err != nil {
				return err
			}
			return verdict(result)
		},
	}, false)
}

func newList(env Env) *cobra.Command {
	return newView(env, "list", "List the components and parts of the project", (*engine.Engine).List, printListing, func(l *engine.Listing) error {
		return reported(nil, len(l.Refused) > 0, "some packages cannot be read")
	})
}

func printListing(env Env, l *engine.Listing) error {
	table := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	for _, c := range l.Components {
		about, _, _ := strings.Cut(c.Description, "\n")
		fmt.Fprintf(table, "%s\t%s\t%s:%d\t%s\n", c.Kind, c.Label(), c.File, c.Line, about)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, d := range slices.Concat(l.Refused, l.Warnings) {
		fmt.Fprintln(env.Out, d)
	}
	for _, part := range l.Parts {
		remedy := ""
		if !part.Present {
			remedy = fmt.Sprintf("; run %s add %s to add it", env.Program, part.Name)
		}
		fmt.Fprintf(env.Out, "%s%s\n", part, remedy)
	}
	_, err := fmt.Fprintln(env.Out, l.ToolsList)
	return err
}

func partsHelp() string {
	text := "Parts:"
	for _, part := range parts.All() {
		text += fmt.Sprintf("\n  %-8s  %s", part.Name, part.Description)
	}
	return text
}

// newPart returns a command that adds or removes a part.
func newPart(env Env, do operationOn, name, short string) *cobra.Command {
	var c projectFlags
	cmd := newOn(env, &c, name+" PART", short, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs PART, one of %s", name, strings.Join(parts.Names(), ", "))
		}
		return mcpcli.ExactArgs("oauth")(cmd, args)
	}, do)
	cmd.Long = longHelp(name) + "\n\n" + partsHelp()
	cmd.ValidArgsFunction = cobra.FixedCompletions(parts.Names(), cobra.ShellCompDirectiveNoFileComp)
	return c.addFlags(cmd, true)
}

func newHistory(env Env) *cobra.Command {
	return newView(env, "history", "List operations, oldest first", (*engine.Engine).History, printHistory, func(*engine.History) error { return nil })
}

func printHistory(env Env, h *engine.History) error {
	for _, warning := range h.Warnings {
		fmt.Fprintf(env.Err, "warning: %s\n", warning)
	}
	if len(h.Operations) == 0 {
		_, err := fmt.Fprintln(env.Out, "There are no operations in this clone of the project.")
		return err
	}
	table := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	for _, op := range h.Operations {
		note := ""
		if op.UndoneBy != "" {
			note = "undone by " + op.UndoneBy
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", op.ID, op.Time.Local().Format(time.DateTime), op.Title, note)
	}
	return table.Flush()
}

func newSearch(env Env) *cobra.Command {
	var c projectFlags
	var q engine.Query
	cmd := &cobra.Command{
		Use:   "search PATTERN",
		Short: "Search the project's text and symbols, the documentation and APIs",
		Args:  mcpcli.ExactArgs("timeout"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Pattern = args[0]
			found, err := run(cmd.Context(), env, &c, func(e *engine.Engine, ctx context.Context) (*engine.Matches, error) {
				return e.Search(ctx, q)
			}, printReport)
			if err == nil && found.Total == 0 {
				return exitError(terminal.ExitFailure) // the report says it
			}
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringVar((*string)(&q.Find), "find", string(engine.FindText), "what to find: "+strings.Join(engine.Finds(), ", "))
	flags.StringArrayVar(&q.Files, "files", nil, "search only files that match this `GLOB`, such as features/**; !GLOB excludes files; may be repeated")
	flags.IntVar(&q.Context, "context", 0, "lines to print before and after each match")
	flags.IntVar(&q.Limit, "limit", 1000, "number of matches to print")
	flags.IntVar(&q.Offset, "offset", 0, "number of matches to leave out first")
	cmd.RegisterFlagCompletionFunc("find", cobra.FixedCompletions(engine.Finds(), cobra.ShellCompDirectiveNoFileComp))
	return c.addFlags(cmd, false)
}

func newApply(env Env) *cobra.Command {
	var c projectFlags
	cmd := newOn(env, &c, "apply PLAN", "Apply the plan of a dry run", mcpcli.ExactArgs("5f0c2a9d1b7e4c33"), (*engine.Engine).Apply)
	cmd.Annotations = map[string]string{needsOwn: ""} // the plan may come from any generator
	cmd.Flags().BoolVar(&c.noNet, "no-net", false, noNetUsage)
	return c.addFlags(cmd, false)
}

func newDestroy(env Env) *cobra.Command {
	var c projectFlags
	cmd := &cobra.Command{
		Use:   "destroy KIND NAME",
		Short: "Remove a component",
		Args:  mcpcli.ExactArgs("tool", "add"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if c.Removal.Body, err = readText(cmd, "body", c.Removal.Body); err != nil {
				return err
			}
			return runOperation(cmd, env, &c, func(e *engine.Engine, ctx context.Context) (*engine.Result, error) {
				return e.Destroy(ctx, args[0], args[1], c.Options)
			})
		},
		ValidArgsFunction: completeComponent(env, &c),
	}
	flags := cmd.Flags()
	flags.BoolVar(&c.Force, "force", false, "also remove edited files")
	flags.BoolVar(&c.Removal.Retire, "retire", false, "keep the type of a command, to replay its events")
	flags.BoolVar(&c.Removal.Skip, "skip", false, "ignore the stored events of a command, or of all commands of a feature")
	flags.StringVar(&c.Removal.Map, "map", "", "read the stored events of a command as this `COMMAND`, such as posts/create")
	flags.StringVar(&c.Removal.Body, "body", "", "with --map: `GO` statements that return the command and an error from old, an eventlog.Record, or @FILE")
	return c.addFlags(cmd, true)
}

// completeComponent completes KIND and NAME.
func completeComponent(env Env, c *projectFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			return engine.Kinds(), cobra.ShellCompDirectiveNoFileComp
		}
		e, err := c.open(env)
		if err != nil || len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer e.Close()
		if listing, err := e.List(cmd.Context()); err == nil {
			for _, component := range listing.Components {
				if string(component.Kind) == args[0] {
					words = append(words, terminal.Line(component.Name))
				}
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

func newSync(env Env) *cobra.Command {
	var c projectFlags
	var check bool
	cmd := &cobra.Command{
		Use:               "sync",
		Short:             "Derive registration and schemas from your Go code",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check && len(c.Accept)+len(c.Skip) > 0 {
				return terminal.Usagef("--check cannot be combined with --accept or --skip; pass one of them")
			}
			do := func(e *engine.Engine, ctx context.Context) (*engine.Result, error) { return e.Sync(ctx, c.Options) }
			show, refused := printResult, "cannot derive from some packages"
			if check {
				do, show, refused = (*engine.Engine).Check, printCheck, "sync --check found errors"
			}
			result, err := run(cmd.Context(), env, &c, do, show)
			if err != nil {
				return err
			}
			err = reported(nil, len(result.Refused) > 0, refused)
			err = reported(err, check && len(result.Files) > 0, "derived files are stale; run "+env.Program+" sync")
			return reported(err, check && len(result.Impure) > 0, "replay would not rebuild the same state")
		},
	}
	cmd.Flags().StringArrayVar(&c.Accept, "accept", nil, "accept changed fields of a `COMMAND` such as posts/create, although stored events become unreadable; may be repeated")
	cmd.Flags().StringArrayVar(&c.Skip, "skip", nil, "ignore the stored events of a removed `COMMAND` such as posts/create; may be repeated")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; fail if derived files are stale, stored events unreadable, or replay not deterministic")
	return c.addFlags(cmd, true)
}

func printCheck(env Env, r *engine.Result) error {
	_, err := fmt.Fprint(env.Out, cmp.Or(r.Stale()+r.Impurities(), r.Headline()+"\n"))
	return err
}

// newRevert returns the command undo or redo.
func newRevert(env Env, do operationOn, name, short string) *cobra.Command {
	var c projectFlags
	cmd := newOn(env, &c, name+" [ID]", short, func(cmd *cobra.Command, args []string) error {
		if c.Keep && c.Force {
			return terminal.Usagef("--keep and --force cannot be combined; pass one of them")
		}
		return cobra.MaximumNArgs(1)(cmd, args)
	}, do)
	cmd.Flags().BoolVar(&c.Keep, "keep", false, "leave edited files, and "+name+" the rest")
	cmd.Flags().BoolVar(&c.Force, "force", false, "also "+name+" edited files")
	return c.addFlags(cmd, true)
}
