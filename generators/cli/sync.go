package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/engine"
)

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
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var result *engine.Result
			err := work(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (_ *engine.Result, err error) {
				if check && len(accept) > 0 {
					return nil, terminal.Usagef("--check writes nothing, so there is nothing to --accept; give one of them")
				}
				if check {
					result, err = e.Check(ctx)
				} else {
					result, err = e.Sync(ctx, engine.Options{DryRun: c.dryRun, Accept: accept})
				}
				return result, err
			}, func(env Env, r *engine.Result) error { return printSync(env, r, check) })
			switch {
			case err != nil:
				return err
			case len(result.Refused) > 0:
				return &terminal.SaidError{Err: errors.New("not everything could be derived")}
			case check && len(result.Files) > 0:
				return &terminal.SaidError{Err: fmt.Errorf("derived files are stale; run: %s sync", env.Program)}
			case check && len(result.Impure) > 0:
				return &terminal.SaidError{Err: errors.New("the state would not be the same when the log is read again")}
			}
			return nil
		},
	}
	c.flags(cmd, true)
	cmd.Flags().StringArrayVar(&accept, "accept", nil, "record the changed fields of a `COMMAND` such as posts/create, although stored events no longer fit them (repeatable)")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit code 1 if something is stale, incompatible or impure")
	return cmd
}

func printSync(env Env, r *engine.Result, check bool) error {
	if !check {
		return printResult(env, r)
	}
	text := r.Stale() + r.Impurities()
	if text == "" {
		text = r.Headline() + "\n"
	}
	_, err := fmt.Fprint(env.Out, text)
	return err
}
