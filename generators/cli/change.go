package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/generators/engine"
)

func newChange(env Env) *cobra.Command {
	var c projectFlags
	var in engine.Change
	var o engine.Options
	noNet := false
	cmd := &cobra.Command{
		Use:   "change KIND NAME",
		Short: "Rename or edit a component in place",
		Long: `Change a component in place: its name, description, fields, output or body. References in the
project's Go follow, tests included. petrock type-checks the result and runs the component's test
before it writes anything. undo reverts the change.

If stored events of a command would no longer be readable, change also generates a new version of the
command, as generate version does. A renamed command keeps its name in the event log.

` + trialHelp,
		Example: examples(env,
			"change tool add --rename sum --alias",
			"change tool search --description 'Finds notes by their text.'",
			"change tool search --field 'limit:int:1..50 \"Maximum number of hits\"' --remove-field order",
			"change command posts/create --rename-field body=text",
			"change command posts/create --field 'status:enum(draft,live)' --default status=live"),
		Args: func(cmd *cobra.Command, args []string) error {
			if err := mcpcli.ExactArgs("tool", "add")(cmd, args); err != nil || slices.Contains(engine.Kinds(), args[0]) {
				return err
			}
			return fmt.Errorf("unknown kind %q; the kinds are %s%s", args[0], strings.Join(engine.Kinds(), ", "), mcpcli.Suggest(args[0], engine.Kinds()))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Kind, in.Name = args[0], args[1]
			for flag, text := range map[string]*string{"body": &in.Body, "check": &in.Check, "upgrade": &in.Upgrade} {
				var err error
				if *text, err = readText(cmd, flag, *text); err != nil {
					return err
				}
			}
			o.DryRun = c.dryRun
			return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
				e.Limits.NoNet = noNet
				return e.Change(ctx, in, o)
			}, printResult)
		},
		ValidArgsFunction: componentCompletion(env, &c),
	}
	c.addFlags(cmd, true)
	flags := cmd.Flags()
	flags.StringVar(&in.Rename, "rename", "", "new `NAME`")
	flags.BoolVar(&in.Alias, "alias", false, "with --rename: keep the old name of a tool as a deprecated alias")
	flags.StringVar(&in.Description, "description", "", "new description")
	flags.StringArrayVar(&in.Fields, "field", nil, "input `FIELD` to add or replace; NAME \"DESCRIPTION\" keeps the type; may be repeated")
	flags.StringArrayVar(&in.RenameFields, "rename-field", nil, "`OLD=NEW` name of an input field, or output.OLD=NEW; may be repeated")
	flags.StringArrayVar(&in.RemoveFields, "remove-field", nil, "`NAME` of an input field to remove, or output.NAME; may be repeated")
	flags.StringArrayVar(&in.Output, "output", nil, "output `FIELD` to add or replace; may be repeated")
	flags.StringArrayVar(&in.Default, "default", nil, "`FIELD=VALUE` of a new required field in stored events; may be repeated")
	flags.StringVar(&in.Upgrade, "upgrade", "", "`GO` statements that convert stored events, old, to the new command")
	flags.StringVar(&in.Check, "check", "", "new body of Check of a command, as `GO` statements")
	flags.StringVar(&in.Body, "body", "", "new body of the function, as `GO` statements, or @FILE")
	flags.BoolVar(&o.NoExec, "no-exec", false, noExecUsage)
	flags.BoolVar(&noNet, "no-net", false, noNetUsage)
	return cmd
}
