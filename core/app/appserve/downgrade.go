package appserve

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

func (d *Data) newDowngrade() *cobra.Command {
	var run app.Downgrade
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "downgrade TYPE --to VERSION",
		Short: "Let an older build read events of a newer version",
		Long: `Let an older build read events of a newer version, to go back to it. The newer build runs this command:
the type of each version above VERSION needs a method Downgrade, which petrock generate version --downgrade
writes.

Each event of the type with a version above VERSION is converted, and the result is verified and stored next
to the event. Only builds that cannot read the event use it. The event stays in the log unchanged. Running
servers of the older build continue when the command has finished.

Run it again after the newer build has written more events: it stores what is missing. Servers can keep
running.`,
		Example: d.examples("log downgrade posts/create --to 1 --dry-run", "log downgrade posts/create --to 1"),
		Args:    mcpcli.ExactArgs("posts/create"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if run.Type = args[0]; run.To < 1 {
				return terminal.Usagef("log downgrade requires --to VERSION; versions start at 1")
			}
			ctx, stop := untilInterrupted(cmd)
			defer stop()
			ctx = app.WithActor(ctx, appmcp.Actor(ctx))
			return d.withStore(ctx, func(store eventlog.Store) error {
				last, err := store.Last(ctx)
				if err != nil {
					return fmt.Errorf("read the log: %w", err)
				}
				run.Progress = everySecond(cmd.ErrOrStderr(), "read %d of %d events\n", last)
				report, err := d.admin(store).Downgrade(ctx, run)
				switch {
				case err != nil:
					return fmt.Errorf("downgrade %s: %w", run.Type, err)
				case asJSON:
					return terminal.PrintJSON(cmd.OutOrStdout(), report)
				}
				return printDowngrade(cmd.OutOrStdout(), run, report)
			})
		},
	}
	cmd.Flags().IntVar(&run.To, "to", 0, "version that the older build knows (required)")
	cmd.Flags().StringVar(&run.Reason, "reason", "", "reason to record in the log")
	cmd.Flags().BoolVar(&run.DryRun, "dry-run", false, "convert all events, and store nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printDowngrade(out io.Writer, run app.Downgrade, r app.DowngradeReport) error {
	verb := "Stored"
	if run.DryRun {
		verb = "Would store"
	}
	text := fmt.Sprintf("%s %d of %s of %s above version %d, for builds that know no later version.\n", verb, r.Stored, count(r.Events), r.Type, r.To)
	if r.Stored < r.Events {
		text += "The others are stored already.\n"
	}
	if r.Events > 0 {
		text += fmt.Sprintf("\nEvent %d:  %s\n%*sas:   %s\n", r.First, &shownInput{r.Before.Type, r.Before.Version, r.Before.Data},
			len(fmt.Sprint(r.First))+4, "", &shownInput{r.After.Type, r.After.Version, r.After.Data})
	}
	_, err := io.WriteString(out, text)
	return err
}
