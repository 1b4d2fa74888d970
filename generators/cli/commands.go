package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/parts"
)

// Headings of commands in help.
const (
	ChangeGroup = "Create and change a project:"
	ServeGroup  = "Connect an agent:"
)

// AddCommands adds the commands that work on a project to root, except mcp.
func AddCommands(root *cobra.Command, env Env) {
	mcpcli.AddGroup(root, ChangeGroup, markProject(
		newGenerate(env, env.generators()),
		newApply(env),
		newUndo(env),
		newDestroy(env),
		newAdd(env),
		newRemove(env),
		newSync(env),
	)...)
	mcpcli.AddGroup(root, "Inspect a project:", markProject(newList(env), newStatus(env), newHistory(env))...)
}

// examples are command lines, one a line.
func examples(env Env, lines ...string) string {
	return "  " + env.Program + " " + strings.Join(lines, "\n  "+env.Program+" ")
}

// common are the options that commands on a project share.
type common struct {
	dir    string
	asJSON bool
	dryRun bool
}

func (c *common) flags(cmd *cobra.Command, writes bool) {
	cmd.Flags().StringVar(&c.dir, "dir", "", "a folder of the project (default the working directory)")
	cmd.MarkFlagDirname("dir")
	cmd.Flags().BoolVar(&c.asJSON, "json", false, "print one JSON object")
	if writes {
		cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "print what would change as a unified diff, without the code of parts, and change nothing")
	}
}

// open opens the project that the command is about.
func (c *common) open(env Env) (*engine.Engine, error) {
	return engine.Open(joinDir(env.Dir, c.dir), env.generators())
}

// joinDir returns a path relative to dir. An absolute path stays as it is, and no path means dir.
func joinDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// runInProject opens the project, does something with it, and prints the result.
func runInProject[T any](ctx context.Context, env Env, c *common, do func(context.Context, *engine.Engine) (T, error), text func(Env, T) error) error {
	e, err := c.open(env)
	if err != nil {
		return err
	}
	defer e.Close()
	progress := terminal.NewProgress(env.Err, c.asJSON)
	e.Step = progress.Begin
	result, err := do(ctx, e)
	progress.End()
	if err != nil {
		return err
	}
	if c.asJSON {
		return terminal.PrintJSON(env.Out, result)
	}
	return text(env, result)
}

func newList(env Env) *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the components and parts of the project",
		Long: `List the components of the project: kind, name, place and description, and what the list of
tools costs a model that reads it. Also list the parts of petrock that it has, and could add.
Generators that the project came with are left out; generate --help has all of them. It ends with 1
if a package could not be read.`,
		Example:           examples(env, "list", "list --json"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			refused := false
			err := runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Listing, error) {
				listing, err := e.List(ctx)
				refused = err == nil && len(listing.Refused) > 0
				return listing, err
			}, printListing)
			if err == nil && refused {
				err = &terminal.ReportedError{Err: errors.New("not all packages could be read")}
			}
			return err
		},
	}
	c.flags(cmd, false)
	return cmd
}

func printListing(env Env, l *engine.Listing) error {
	table := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	for _, c := range l.Components {
		about, _, _ := strings.Cut(c.Description, "\n")
		fmt.Fprintf(table, "%s\t%s\t%s:%d\t%s\n", c.Kind, c.Name, c.File, c.Line, about)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, d := range l.Refused {
		fmt.Fprintln(env.Out, d)
	}
	for _, part := range l.Parts {
		fmt.Fprintln(env.Out, part)
	}
	_, err := fmt.Fprintln(env.Out, l.ToolsList)
	return err
}

func newAdd(env Env) *cobra.Command {
	return newPartCommand(env, (*engine.Engine).AddPart, &cobra.Command{
		Use:   "add PART",
		Short: "Add a part: optional code of petrock",
		Long: `Add a part: optional code of petrock, with the modules that it needs. Parts that a project does
not use are archives in generators/parts. Generators add the parts that they need.

` + partsHelp(),
		Example: examples(env, "add oauth", "add oauth --dry-run"),
	})
}

func newRemove(env Env) *cobra.Command {
	return newPartCommand(env, (*engine.Engine).RemovePart, &cobra.Command{
		Use:   "remove PART",
		Short: "Remove a part that nothing uses",
		Long: `Remove a part that nothing uses. Its code moves to an archive in generators/parts, and go.mod no
longer requires the modules that only this part needs.

` + partsHelp(),
		Example: examples(env, "remove oauth", "remove app --dry-run"),
	})
}

// partsHelp lists the parts for help texts.
func partsHelp() string {
	text := "Parts:"
	for _, part := range parts.All() {
		text += fmt.Sprintf("\n  %-6s  %s", part.Name, part.Description)
	}
	return text
}

// newPartCommand completes a command that adds or removes a part.
func newPartCommand(env Env, do func(*engine.Engine, context.Context, string, engine.Options) (*engine.Result, error), cmd *cobra.Command) *cobra.Command {
	var c common
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s needs the name of a part: %s", cmd.Name(), strings.Join(parts.Names(), ", "))
		}
		return nil
	}
	cmd.ValidArgsFunction = cobra.FixedCompletions(parts.Names(), cobra.ShellCompDirectiveNoFileComp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
			return do(e, ctx, args[0], engine.Options{DryRun: c.dryRun})
		}, printResult)
	}
	c.flags(cmd, true)
	return cmd
}

func newHistory(env Env) *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List what was done, the oldest first",
		Long: `List the operations of this clone of the project, the oldest first. What was done elsewhere
is in version control, not here.`,
		Example:           examples(env, "history", "history --json"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.History, error) {
				return e.History(ctx)
			}, printHistory)
		},
	}
	c.flags(cmd, false)
	return cmd
}

func printHistory(env Env, h *engine.History) error {
	if h.Recovered != "" {
		fmt.Fprintln(env.Err, h.Recovered)
	}
	if len(h.Operations) == 0 {
		_, err := fmt.Fprintln(env.Out, "Nothing has been done in this clone of the project.")
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

func newUndo(env Env) *cobra.Command {
	var c common
	var o engine.Options
	cmd := &cobra.Command{
		Use:   "undo [ID]",
		Short: "Undo an operation",
		Long: `Undo an operation: the last one, or the one with this id (see history). All of its files are
restored, or none, and derived files are derived again.

Undo refuses if a file was edited since, and shows the differences, or if a later operation builds
on this one. An undo is an operation too, and can be undone by its id.`,
		Example: examples(env, "undo", "undo 0003", "undo 0003 --dry-run", "undo --keep"),
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			if o.Keep && o.Force {
				return terminal.Usagef("--keep and --force exclude each other; leave one of them out")
			}
			o.DryRun = c.dryRun
			return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
				return e.Undo(ctx, id, o)
			}, printResult)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			ids := suggest(env, &c, func(e *engine.Engine) []string { return operations(cmd.Context(), e) })
			return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		},
	}
	c.flags(cmd, true)
	cmd.Flags().BoolVar(&o.Keep, "keep", false, "leave files that were edited since, and undo the rest")
	cmd.Flags().BoolVar(&o.Force, "force", false, "also undo files that were edited since")
	return cmd
}

// suggest returns completions that are looked up in the project; none if it cannot be opened.
func suggest(env Env, c *common, look func(*engine.Engine) []string) []string {
	e, err := c.open(env)
	if err != nil {
		return nil
	}
	defer e.Close()
	return look(e)
}

// operations are the ids of those that can be undone, the latest first, each with its title.
func operations(ctx context.Context, e *engine.Engine) (ids []string) {
	history, err := e.History(ctx)
	if err != nil {
		return nil
	}
	for _, entry := range slices.Backward(history.Operations) {
		if entry.UndoneBy == "" {
			ids = append(ids, terminal.Line(entry.ID)+"\t"+terminal.Line(entry.Title))
		}
	}
	return ids
}

func newApply(env Env) *cobra.Command {
	var c common
	var o engine.Options
	noNet := false
	cmd := &cobra.Command{
		Use:   "apply PLAN",
		Short: "Write what a dry run of generate has shown",
		Long: `Write what a dry run of generate has shown, and nothing else. A dry run is kept as a plan, and tells
its id, a hash of what the plan was made from, what it would write and how its examples ended. If the
project has changed since, or the plan was edited, apply refuses, and changes nothing. Examples that
passed then are not run again.`,
		Example: examples(env, "generate tool search query --dry-run", "apply 5f0c2a9d1b7e4c33"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
				e.Limits.NoNet = noNet
				return e.Apply(ctx, args[0], o)
			}, printResult)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.flags(cmd, false)
	cmd.Flags().BoolVar(&o.NoExec, "no-exec", false, "run nothing: leave examples that have not been run to go test")
	cmd.Flags().BoolVar(&noNet, "no-net", false, noNetUsage)
	return cmd
}

func newDestroy(env Env) *cobra.Command {
	var c common
	var o engine.Options
	cmd := &cobra.Command{
		Use:   "destroy KIND NAME",
		Short: "Remove a component",
		Long: `Remove a component: its file and the test beside it, or the folder of a feature. Derived files
are derived again. Generators that the project came with stay.

What you have written into them is in the way, unless --force is given; either way, undo
brings all of it back.`,
		Example: examples(env, "destroy tool add", "destroy prompt review --dry-run", "destroy command posts/create"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("destroy needs a kind and a name: destroy tool add")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.DryRun = c.dryRun
			return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
				return e.Destroy(ctx, args[0], args[1], o)
			}, printResult)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return engine.Kinds(), cobra.ShellCompDirectiveNoFileComp
			case 1:
				found := suggest(env, &c, func(e *engine.Engine) []string { return names(cmd.Context(), e, args[0]) })
				return found, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.flags(cmd, true)
	cmd.Flags().BoolVar(&o.Force, "force", false, "also what has been edited")
	return cmd
}

// names are those of the components of a kind.
func names(ctx context.Context, e *engine.Engine, kind string) (all []string) {
	listing, err := e.List(ctx)
	if err != nil {
		return nil
	}
	for _, component := range listing.Components {
		if string(component.Kind) == kind {
			all = append(all, terminal.Line(component.Name))
		}
	}
	return all
}

func newSync(env Env) *cobra.Command {
	var c common
	var check bool
	var accept []string
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Derive what follows from what you wrote",
		Long: `Derive what follows from what you wrote: the registration of tools, resources, prompts and
features, their schemas, and the wiring of the server. Run it after every change of a signature, a
comment or a type. It also brings contract.json up to date, which records what the server promises to
clients and to its event log.

If a command's fields changed so that stored events would no longer be read, sync refuses and says what
changed. Make a new version with generate version, or, where no stored data matters, accept the change
with --accept.

A package that does not parse, or whose functions cannot be offered, is named and keeps its derived
files; the others are derived. Exit code 1 then. With --check nothing is written; exit code 1 if
something is stale, if stored events would no longer be read, or if a command is applied with the clock,
randomness or I/O. Without --check the latter is a warning.`,
		Example:           examples(env, "sync", "sync --check", "sync --dry-run", "sync --accept posts/create"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var result *engine.Result
			err := runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (_ *engine.Result, err error) {
				if check && len(accept) > 0 {
					return nil, terminal.Usagef("--check writes nothing, so there is nothing to --accept; give one of them")
				}
				if check {
					result, err = e.Check(ctx)
				} else {
					result, err = e.Sync(ctx, engine.Options{DryRun: c.dryRun, Accept: accept})
				}
				return result, err
			}, func(env Env, r *engine.Result) error {
				if !check {
					return printResult(env, r)
				}
				_, err := fmt.Fprint(env.Out, cmp.Or(r.Stale()+r.Impurities(), r.Headline()+"\n"))
				return err
			})
			switch {
			case err != nil:
				return err
			case len(result.Refused) > 0:
				return &terminal.ReportedError{Err: errors.New("not everything could be derived")}
			case check && len(result.Files) > 0:
				return &terminal.ReportedError{Err: fmt.Errorf("derived files are stale; run: %s sync", env.Program)}
			case check && len(result.Impure) > 0:
				return &terminal.ReportedError{Err: errors.New("the state would not be the same when the log is read again")}
			}
			return nil
		},
	}
	c.flags(cmd, true)
	cmd.Flags().StringArrayVar(&accept, "accept", nil, "record the changed fields of a `COMMAND` such as posts/create, although stored events no longer fit them (repeatable)")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit code 1 if something is stale, incompatible or impure")
	return cmd
}
