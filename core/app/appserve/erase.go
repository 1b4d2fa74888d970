package appserve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// An erasing is a run of log erase.
type erasing struct {
	selection
	reason             string
	yes, force, dryRun bool
}

func (d *Data) newErase() *cobra.Command {
	var e erasing
	cmd := &cobra.Command{
		Use:   "erase EVENTS",
		Args:  cobra.ArbitraryArgs,
		Short: "Remove the content of events for good",
		Long: `Remove the content of events for good, for example personal data. This cannot be undone. It removes
the data, idempotency key, result, actor and cause of each event, its amendments, the errors of workers
about it, and the snapshots, which are taken again. The files are rewritten once, and commands wait
meanwhile. If log erase is interrupted, run it again.

` + eventsHelp + `. --type, --version, --actor and --field select events
of these numbers, or of all of the log without numbers, as they were recorded or as they are read now.
Several flags must all match.

The number, id, time and type of an event stay. Replay and workers skip it, and running servers
rebuild their state without it. The log records who erased it, when and why; the reason must not
repeat the content.

The change is tried first, for all events together. If it breaks another event, nothing is erased.
Earlier backups, other events with the same content, and the saved fields of workers are not changed.
To clean an earlier backup, restore it to another folder, erase the events there, and back up again.

Without --yes, log erase asks first, on a terminal.`,
		Example: d.examples("log erase 17", "log erase 17 20-30 --yes --reason 'request of 12 May'", "log erase --actor ada --dry-run", "log erase --type posts/create --field author=ada"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.parse(args); err != nil {
				return err
			}
			if e.isEmpty() {
				return terminal.Usagef("log erase requires the numbers of events, such as 17 or 20-30, or --type, --actor or --field")
			}
			ctx, stop := untilInterrupted(cmd)
			defer stop()
			return d.withStore(ctx, func(store eventlog.Store) error { return d.erase(ctx, cmd, store, &e) })
		},
	}
	e.selection.flags(cmd, "type", "version")
	cmd.Flags().StringVar(&e.actor, "actor", "", "select events of this actor, such as local:ada")
	cmd.Flags().StringArrayVar(&e.fields, "field", nil, "select events whose data has this value in a top-level field: NAME=VALUE; can be repeated")
	cmd.Flags().StringVar(&e.reason, "reason", "", "reason to record in the log")
	cmd.Flags().BoolVar(&e.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&e.force, "force", false, "erase the events without trying it first")
	cmd.Flags().BoolVar(&e.dryRun, "dry-run", false, "try the change, and erase nothing")
	return cmd
}

// found are the events that log erase has found.
type found struct {
	events      int64
	first, last eventlog.Record
}

func (f found) String() string {
	if f.events == 1 {
		return fmt.Sprintf("event %d, %s", f.first.Seq, f.first.Type)
	}
	return fmt.Sprintf("%s from %d to %d", count(f.events), f.first.Seq, f.last.Seq)
}

// noun returns "event" or "events".
func (f found) noun() string {
	if f.events == 1 {
		return "event"
	}
	return "events"
}

func (d *Data) erase(ctx context.Context, cmd *cobra.Command, store eventlog.Store, e *erasing) error {
	admin := d.admin(store)
	first, last := e.bounds()
	erasure := app.Erasure{First: first, Last: last, Match: e.includes, Reason: e.reason}
	all, err := findToErase(ctx, admin, e, erasure)
	if err != nil {
		return err
	}
	if all.events > 0 && !e.force {
		edit := app.Edit{First: first, Last: last, Reason: e.reason, Amend: func(r eventlog.Record, before *app.Amendment) (app.Amendment, bool, error) {
			return app.Amendment{Skip: true}, e.includes(r, before), nil
		}}
		if err := admin.TryAmend(ctx, edit); err != nil {
			return fmt.Errorf("%w\nnothing was erased; erase that event first, or erase the %s anyway with --force", err, all.noun())
		}
	}
	switch {
	case e.dryRun && all.events > 0:
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "Would erase %s. Nothing was erased.\n", all)
		return err
	case e.dryRun && all.first.Seq > 0:
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "Event %d was already erased.\n", all.first.Seq)
		return err
	case e.dryRun:
		return fmt.Errorf("erase events: %w", app.ErrNoEvents)
	}
	if all.events > 0 && !e.yes {
		if err := confirm(cmd, all); err != nil {
			return err
		}
	}
	erasure.Progress = everySecond(cmd.ErrOrStderr(), "erased %d of %d events\n", all.events)
	done, err := admin.Erase(app.WithActor(ctx, appmcp.Actor(ctx)), erasure)
	switch {
	case errors.Is(err, app.ErrNoEvents) && all.first.Seq > 0:
		if err := admin.Scrub(ctx); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "Event %d was already erased; rewrote the files.\n", all.first.Seq)
		return err
	case err != nil:
		return fmt.Errorf("erase events: %w", err)
	}
	all.events = done
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Erased %s. Earlier backups still contain the %s.\n", all, all.noun()); err != nil {
		return err
	}
	if _, err := d.replay(ctx, store, true); err != nil {
		return fmt.Errorf("erased %s, but took no new snapshots: %w", all, err)
	}
	return nil
}

// findToErase returns the events that an erasure includes. If it is for one event that was erased
// already, the result has no events, but a first one.
func findToErase(ctx context.Context, admin *app.Admin, e *erasing, erasure app.Erasure) (all found, err error) {
	named := map[int64]bool{}
	err = admin.PreviewErase(ctx, erasure, func(r eventlog.Record) {
		if all.events++; all.events == 1 {
			all.first = r
		}
		all.last = r
		if len(e.numbers) > 0 {
			named[r.Seq] = true
		}
	})
	if err != nil {
		return all, err
	}
	if all.events == 0 && len(e.numbers) == 1 && len(e.ranges) == 1 && e.isUnfiltered() {
		all.first, err = admin.Find(ctx, e.numbers[0])
		if err == nil && all.first.Type == amendedType {
			err = fmt.Errorf("event %d is an amendment; erase the event that it amends", all.first.Seq)
		}
		return all, err
	}
	return all, e.missing(ctx, admin, func(seq int64) bool { return named[seq] }, "cannot be erased")
}

// confirm asks whether to erase events.
func confirm(cmd *cobra.Command, all found) error {
	asker := mcpcli.NewAsker(mcpcli.Env{In: cmd.InOrStdin(), Err: cmd.ErrOrStderr()}, &terminal.Progress{})
	if asker == nil {
		return terminal.Usagef("log erase cannot be undone, and asks first, on a terminal; pass --yes")
	}
	question := fmt.Sprintf("Erase %s, of %s", all, all.first.Time.Format("2006-01-02 15:04:05"))
	if all.events > 1 {
		question += " to " + all.last.Time.Format("2006-01-02 15:04:05")
	}
	answer, err := asker.Line(cmd.Context(), question+", for good?", "no")
	if answer = strings.ToLower(answer); err == nil && answer != "y" && answer != "yes" {
		err = errors.New("nothing was erased")
	}
	return err
}
