package appserve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/terminal"
)

func (d *Data) newErase() *cobra.Command {
	var reason string
	var yes, force bool
	cmd := &cobra.Command{
		Use:   "erase SEQ",
		Short: "Remove the content of an event for good",
		Long: `Remove the content of an event for good, for example personal data. This cannot be undone. It
removes the event's data, idempotency key and result, its amendments, the errors of workers about
it, and the snapshots, which are taken again. The file is rewritten, and commands wait meanwhile.

The number, id, time and type of the event stay. Replay and workers skip it, and running servers
rebuild their state without it. The log records who erased it, when and why; the reason must not
repeat the content.

The change is tried first. If it breaks another event, nothing is erased. Earlier backups, other
events with the same content, and the saved fields of workers are not changed.

Without --yes, log erase asks first, on a terminal.`,
		Example: d.examples("log erase 17", "log erase 17 --yes --reason 'request of 12 May'"),
		Args:    mcpcli.ExactArgs("17"),
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := parseSeq(args[0])
			if err != nil {
				return err
			}
			return d.withStore(cmd.Context(), func(store app.Store) error {
				return d.erase(cmd, store, seq, reason, yes, force)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason to record in the log")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&force, "force", false, "erase the event without trying it first")
	return cmd
}

func (d *Data) erase(cmd *cobra.Command, store app.Store, seq int64, reason string, yes, force bool) error {
	ctx := cmd.Context()
	record, err := app.Find(ctx, store, seq)
	if err != nil {
		return err
	}
	if !force {
		if err := app.CheckAmendment(ctx, store, app.Amendment{Seq: seq, Skip: true, Reason: reason}, d.with(app.Options{}), d.appFeatures()...); err != nil {
			return fmt.Errorf("%w\nnothing was erased; to erase the event anyway, add --force", err)
		}
	}
	if !yes {
		if err := confirm(cmd, record); err != nil {
			return err
		}
	}
	err = app.Erase(app.WithActor(ctx, appmcp.Actor(ctx)), store, seq, reason)
	again := errors.Is(err, app.ErrErased)
	if err != nil && !again {
		return fmt.Errorf("erase event %d: %w", seq, err)
	}
	text := fmt.Sprintf("Erased event %d, %s. Earlier backups still contain it.\n", seq, record.Type)
	if again {
		text = fmt.Sprintf("Event %d was already erased; rewrote the files.\n", seq)
	}
	if _, err := fmt.Fprint(cmd.OutOrStdout(), text); err != nil || again {
		return err
	}
	if _, err := d.replay(ctx, store, true); err != nil {
		return fmt.Errorf("event %d is erased, but no new snapshots were taken: %w", seq, err)
	}
	return nil
}

// confirm asks whether to erase an event.
func confirm(cmd *cobra.Command, record app.Record) error {
	asker := mcpcli.NewAsker(mcpcli.Env{In: cmd.InOrStdin(), Err: cmd.ErrOrStderr()}, &terminal.Progress{})
	if asker == nil {
		return terminal.Usagef("log erase cannot be undone, and asks first, on a terminal; pass --yes")
	}
	question := fmt.Sprintf("Erase event %d, %s, of %s for good?", record.Seq, record.Type, record.Time.Format("2006-01-02 15:04:05"))
	answer, err := asker.Line(cmd.Context(), question, "no")
	if answer = strings.ToLower(answer); err == nil && answer != "y" && answer != "yes" {
		err = errors.New("nothing was erased")
	}
	return err
}
