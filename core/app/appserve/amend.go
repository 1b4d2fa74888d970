package appserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/terminal"
)

func (d *Data) newSkip() *cobra.Command {
	var am app.Amendment
	var force bool
	cmd := &cobra.Command{
		Use:   "skip SEQ --reason WHY",
		Short: "Skip an entry that cannot be applied",
		Long: `Skip an entry that cannot be applied. It stays in the log, with the reason. Running servers pick the change up.

The change is tried first: if it breaks an entry that can be applied now, nothing is recorded.`,
		Example: d.examples("log skip 17 --reason 'the import of May was wrong'"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			am.Skip = true
			return d.amend(cmd, args[0], am, force, "is skipped")
		},
	}
	amendFlags(cmd, &am, &force)
	return cmd
}

// amendFlags adds the flags of all amending commands.
func amendFlags(cmd *cobra.Command, am *app.Amendment, force *bool) {
	cmd.Flags().StringVar(&am.Reason, "reason", "", "why, recorded in the log")
	cmd.Flags().BoolVar(force, "force", false, "record it without trying it first")
}

func (d *Data) newMap() *cobra.Command {
	var am app.Amendment
	var input string
	var force bool
	cmd := &cobra.Command{
		Use:   "map SEQ --type TYPE --reason WHY",
		Short: "Read an entry as another command",
		Long: `Read an entry as another command, for example after a command was renamed. Version and input stay those of the
entry, unless they are given. The entry itself stays in the log unchanged, with the reason. Running servers pick the
change up.

The change is tried first: if the entry cannot be applied like that, or the change breaks a later one, nothing is
recorded.

If the fields of the command have changed, run petrock generate version instead, which covers all events of
the old version. If the command was removed or renamed, write the function Map in the feature.`,
		Example: d.examples(
			"log map 17 --type posts/publish --reason 'renamed'",
			`log map 17 --type posts/create --version 2 --input '{"title":"Hello"}' --reason 'had no title'`,
			"log map 17 --type posts/create --input @corrected.json --reason 'had no title'"),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if am.Type == "" || am.Version < 0 {
				return terminal.Usagef("log map needs --type TYPE, such as posts/create, and versions are 1, 2, 3 and so on")
			}
			text, err := readInput(input)
			if err != nil {
				return err
			}
			am.Data = text
			return d.amend(cmd, args[0], am, force, "is read as "+am.Type)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&am.Type, "type", "", "the type of the other command")
	flags.IntVar(&am.Version, "version", 0, "the version of the other command (default that of the entry)")
	flags.StringVar(&input, "input", "", "the other command's input as JSON, or @FILE (default that of the entry)")
	amendFlags(cmd, &am, &force)
	return cmd
}

// readInput returns JSON from the command line, or from the file that @ names.
func readInput(text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	if file, ok := strings.CutPrefix(text, "@"); ok {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the input: %w", err)
		}
		text = string(raw)
	}
	if !json.Valid([]byte(text)) {
		return nil, terminal.Usagef("the input is not JSON: %s", short(text, 80))
	}
	return json.RawMessage(text), nil
}

// amend records how an entry is read from now on. It refuses an amendment that breaks an entry, unless it is forced.
func (d *Data) amend(cmd *cobra.Command, arg string, am app.Amendment, force bool, does string) error {
	var err error
	if am.Seq, err = number(arg); err != nil {
		return err
	}
	if am.Reason == "" {
		return terminal.Usagef("log %s needs --reason WHY, for those who wonder later", cmd.Name())
	}
	am.Time = time.Now().UTC()
	ctx := cmd.Context()
	return d.with(ctx, func(store *sqlite.Store) error {
		record, err := find(ctx, store, am.Seq)
		if err != nil {
			return err
		}
		if am, err = complete(ctx, store, record, am); err != nil {
			return err
		}
		if !force {
			if err := d.try(ctx, store, am); err != nil {
				return fmt.Errorf("%w\nnothing is recorded; with --force it is recorded all the same", err)
			}
		}
		if err := app.Amend(ctx, store, am); err != nil {
			return fmt.Errorf("amending entry %d: %w", am.Seq, err)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "Entry %d, %s, %s from now on.\n\nNext:\n  %s replay\n", am.Seq, record.Type, does, d.program)
		return err
	})
}

// try returns an error if an entry that can be applied now could not be applied with the amendment.
func (d *Data) try(ctx context.Context, store app.Store, am app.Amendment) error {
	err := app.CheckAmendment(ctx, store, am, d.plain()...)
	var stuck *app.StuckError
	if errors.As(err, &stuck) {
		stuck.Program = d.program // the one whose commands help
		return fmt.Errorf("with this, %w", stuck)
	}
	return err
}
