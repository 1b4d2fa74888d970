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
		newEdit(env),
		newApply(env),
		newUndo(env),
		newRedo(env),
		newChange(env),
		newDestroy(env),
		newAdd(env),
		newRemove(env),
		newSync(env),
	)...)
	mcpcli.AddGroup(root, "Inspect a project:", markProject(newList(env), newStatus(env), newTest(env), newHistory(env))...)
}

// examples returns command lines for help, one per line.
func examples(env Env, lines ...string) string {
	return "  " + env.Program + " " + strings.Join(lines, "\n  "+env.Program+" ")
}

// projectFlags are the flags that commands on a project share.
type projectFlags struct {
	dir    string
	asJSON bool
	detail bool
	dryRun bool
}

func (c *projectFlags) addFlags(cmd *cobra.Command, writes bool) {
	cmd.Flags().StringVar(&c.dir, "dir", ".", "folder in the project")
	cmd.MarkFlagDirname("dir")
	cmd.Flags().BoolVar(&c.asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&c.detail, "detail", false, "with --json: print everything, such as diffs, schemas and whole files")
	if writes {
		cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "print a diff, change nothing")
	}
}

func (c *projectFlags) open(env Env) (*engine.Engine, error) {
	e, err := engine.Open(joinDir(env.Dir, c.dir), env.generators())
	if err != nil {
		return nil, err
	}
	e.OptionPrefix = "--"
	return e, nil
}

// joinDir returns an absolute path unchanged, and joins any other path to dir.
func joinDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// runInProject opens the project, calls do, and prints its result as JSON or with show.
func runInProject[T any](ctx context.Context, env Env, c *projectFlags, do func(context.Context, *engine.Engine) (T, error), show func(Env, T) error) error {
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
		return printJSON(env, result, c.detail)
	}
	return show(env, result)
}

// printJSON prints a result as JSON: in its short form, unless detail is set.
func printJSON(env Env, result any, detail bool) error {
	if whole, ok := result.(engine.Shortener); ok && !detail {
		result = whole.Short(0)
	}
	return terminal.PrintJSON(env.Out, result)
}

func newList(env Env) *cobra.Command {
	var c projectFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the components and parts of the project",
		Long: `List the components of the project with kind, name, file and description, the parts that it has or
can add, and the size of its tools/list in tokens. petrock's own generators are left out; generate
--help lists them.

Exit codes: 0 success; 1 a package cannot be read.`,
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
				err = &terminal.ReportedError{Err: errors.New("some packages cannot be read")}
			}
			return err
		},
	}
	c.addFlags(cmd, false)
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
		Short: "Add optional code: app (event log), client (HTTP client), oauth, postgres",
		Long: `Add a part: optional code of petrock, with the Go modules that it needs. Parts that a project does
not use are archives in generators/parts. Generators add the parts that they need.

` + partsHelp(),
		Example: examples(env, "add oauth", "add oauth --dry-run"),
	})
}

func newRemove(env Env) *cobra.Command {
	return newPartCommand(env, (*engine.Engine).RemovePart, &cobra.Command{
		Use:   "remove PART",
		Short: "Remove an unused part",
		Long: `Remove an unused part. Its code moves to an archive in generators/parts, and go.mod no longer
requires the modules that only this part needs.

` + partsHelp(),
		Example: examples(env, "remove oauth", "remove app --dry-run"),
	})
}

func partsHelp() string {
	text := "Parts:"
	for _, part := range parts.All() {
		text += fmt.Sprintf("\n  %-8s  %s", part.Name, part.Description)
	}
	return text
}

// newPartCommand completes a command that adds or removes a part.
func newPartCommand(env Env, do func(*engine.Engine, context.Context, string, engine.Options) (*engine.Result, error), cmd *cobra.Command) *cobra.Command {
	var c projectFlags
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s needs PART, one of %s", cmd.Name(), strings.Join(parts.Names(), ", "))
		}
		return nil
	}
	cmd.ValidArgsFunction = cobra.FixedCompletions(parts.Names(), cobra.ShellCompDirectiveNoFileComp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
			return do(e, ctx, args[0], engine.Options{DryRun: c.dryRun})
		}, printResult)
	}
	c.addFlags(cmd, true)
	return cmd
}

func newHistory(env Env) *cobra.Command {
	var c projectFlags
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List operations, oldest first",
		Long: `List the operations in this clone of the project, oldest first. Each has an id for undo. Operations
in other clones are not listed; see version control.`,
		Example:           examples(env, "history", "history --json"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.History, error) {
				return e.History(ctx)
			}, printHistory)
		},
	}
	c.addFlags(cmd, false)
	return cmd
}

func printHistory(env Env, h *engine.History) error {
	if h.Recovered != "" {
		fmt.Fprintln(env.Err, h.Recovered)
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

// complete returns the completions from find, or nil if the project cannot be opened.
func complete(env Env, c *projectFlags, find func(*engine.Engine) []string) []string {
	e, err := c.open(env)
	if err != nil {
		return nil
	}
	defer e.Close()
	return find(e)
}

func newApply(env Env) *cobra.Command {
	var c projectFlags
	var o engine.Options
	noNet := false
	cmd := &cobra.Command{
		Use:   "apply PLAN",
		Short: "Apply the plan of a dry run",
		Long: `Apply the plan that generate --dry-run has saved: write exactly the files that it showed. generate
prints the id of the plan, which is a hash of the plan and of the files that it depends on. If these
files have changed, or the plan was edited, apply refuses and changes nothing. Examples that passed in
the dry run are not run again.`,
		Example: examples(env, "generate tool search query --dry-run", "apply 5f0c2a9d1b7e4c33"),
		Args:    mcpcli.ExactArgs("5f0c2a9d1b7e4c33"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
				e.Limits.NoNet = noNet
				return e.Apply(ctx, args[0], o)
			}, printResult)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.addFlags(cmd, false)
	cmd.Flags().BoolVar(&o.NoExec, "no-exec", false, "skip examples that did not run in the dry run")
	cmd.Flags().BoolVar(&noNet, "no-net", false, noNetUsage)
	return cmd
}

func newDestroy(env Env) *cobra.Command {
	var c projectFlags
	var o engine.Options
	cmd := &cobra.Command{
		Use:   "destroy KIND NAME",
		Short: "Remove a component",
		Long: `Remove a component: its file and its test, or the folder of a feature. destroy also updates derived
files. KIND can be one of the project's own generators. petrock's own generators cannot be removed.

destroy refuses if you have edited the files, unless --force is given. undo restores them in both
cases.`,
		Example: examples(env, "destroy tool add", "destroy prompt review --dry-run", "destroy command posts/create"),
		Args:    mcpcli.ExactArgs("tool", "add"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.DryRun = c.dryRun
			return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
				return e.Destroy(ctx, args[0], args[1], o)
			}, printResult)
		},
		ValidArgsFunction: componentCompletion(env, &c),
	}
	c.addFlags(cmd, true)
	cmd.Flags().BoolVar(&o.Force, "force", false, "also remove edited files")
	return cmd
}

// componentCompletion completes KIND and NAME.
func componentCompletion(env Env, c *projectFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return engine.Kinds(), cobra.ShellCompDirectiveNoFileComp
		case 1:
			names := complete(env, c, func(e *engine.Engine) []string { return componentNames(cmd.Context(), e, args[0]) })
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// componentNames returns the names of the components of a kind.
func componentNames(ctx context.Context, e *engine.Engine, kind string) (all []string) {
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
	var c projectFlags
	var check bool
	var accept []string
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Derive registration and schemas from your Go code",
		Long: `Derive the registration of tools, resources, prompts and features, their schemas, and the wiring of
the server from your Go code. Run it after you change a signature, a doc comment or a type. It also
updates contract.json, which records what the server promises to clients and to its event log.

If changed fields of a command make stored events unreadable, sync refuses and prints the change.
Generate a new version of the command with generate version or, if you do not need the stored events,
use --accept.

If petrock cannot derive from a package, sync reports it, keeps its derived files, and derives the
other packages. sync does not check function bodies; run status.

With --check, sync writes nothing. It reports stale files, commands whose stored events are
unreadable, and commands whose Apply uses the clock, randomness or I/O. Without --check, the last are
warnings.

Exit codes: 0 success; 1 petrock cannot derive from a package or, with --check, something is reported.`,
		Example:           examples(env, "sync", "sync --check", "sync --dry-run", "sync --accept posts/create"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var result *engine.Result
			err := runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (_ *engine.Result, err error) {
				if check && len(accept) > 0 {
					return nil, terminal.Usagef("--check and --accept cannot be combined; pass one of them")
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
				return &terminal.ReportedError{Err: errors.New("cannot derive from some packages")}
			case check && len(result.Files) > 0:
				return &terminal.ReportedError{Err: fmt.Errorf("derived files are stale; run %s sync", env.Program)}
			case check && len(result.Impure) > 0:
				return &terminal.ReportedError{Err: errors.New("replay would not rebuild the same state")}
			}
			return nil
		},
	}
	c.addFlags(cmd, true)
	cmd.Flags().StringArrayVar(&accept, "accept", nil, "accept changed fields of a `COMMAND` such as posts/create, although stored events become unreadable; may be repeated")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; fail if derived files are stale, stored events unreadable, or replay not deterministic")
	return cmd
}

func newUndo(env Env) *cobra.Command {
	return newRevertCommand(env, (*engine.Engine).Undo, &cobra.Command{
		Use:   "undo [ID]",
		Short: "Undo an operation",
		Long: `Undo an operation: the last one, or the one with this id (see history). Undo restores all files of the
operation or none, and updates derived files.

Undo refuses if a file was edited after the operation, and shows the diff. It also refuses if a later
operation builds on this one. Directly after an undo, it needs an id. redo restores what an undo has
reverted.`,
		Example: examples(env, "undo", "undo 0003", "undo 0003 --dry-run", "undo --keep"),
	}, func(op engine.Operation) bool { return op.UndoneBy == "" })
}

func newRedo(env Env) *cobra.Command {
	return newRevertCommand(env, (*engine.Engine).Redo, &cobra.Command{
		Use:   "redo [ID]",
		Short: "Redo an operation that was undone",
		Long: `Redo an operation that was undone: the one that was undone last, or the one with this id (see history).
After several undos, several redos restore the operations in order.

If another operation followed the undo, redo needs an id. It refuses for the same reasons as undo. A redo
is an operation too; undo reverts it.`,
		Example: examples(env, "redo", "redo 0003", "redo --dry-run"),
	}, func(op engine.Operation) bool { return op.UndoneBy != "" && op.Undoes == "" })
}

// newRevertCommand completes the command undo or redo. isOffered selects the operations for completion.
func newRevertCommand(env Env, do func(*engine.Engine, context.Context, string, engine.Options) (*engine.Result, error), cmd *cobra.Command, isOffered func(engine.Operation) bool) *cobra.Command {
	var c projectFlags
	var o engine.Options
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id := ""
		if len(args) > 0 {
			id = args[0]
		}
		if o.Keep && o.Force {
			return terminal.Usagef("--keep and --force cannot be combined; pass one of them")
		}
		o.DryRun = c.dryRun
		return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
			return do(e, ctx, id, o)
		}, printResult)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ids := complete(env, &c, func(e *engine.Engine) []string { return operationIDs(cmd.Context(), e, isOffered) })
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
	c.addFlags(cmd, true)
	cmd.Flags().BoolVar(&o.Keep, "keep", false, "leave edited files, and "+cmd.Name()+" the rest")
	cmd.Flags().BoolVar(&o.Force, "force", false, "also "+cmd.Name()+" edited files")
	return cmd
}

// operationIDs returns the ids of the offered operations, latest first, with their titles.
func operationIDs(ctx context.Context, e *engine.Engine, isOffered func(engine.Operation) bool) (ids []string) {
	history, err := e.History(ctx)
	if err != nil {
		return nil
	}
	for _, op := range slices.Backward(history.Operations) {
		if isOffered(op) {
			ids = append(ids, terminal.Line(op.ID)+"\t"+terminal.Line(op.Title))
		}
	}
	return ids
}
