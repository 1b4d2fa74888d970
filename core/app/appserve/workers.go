package appserve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// A shownWorker is the status of a worker.
type shownWorker struct {
	app.WorkerStatus
	Unknown bool `json:"unknown,omitempty"` // this program has no worker with this name
}

func (d *Data) newWorkers() *cobra.Command {
	var asJSON, removed bool
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "Show the progress and failures of the workers",
		Long: `Show the progress and failures of the workers: the last event that each worker has handled, the number
of events after it, and the process that runs the worker. Workers that were renamed or removed are shown
with --all.

A worker retries a failed event with a growing delay, and finally sets it aside. To retry such an event,
run workers retry. If the type of a worker has changed, discard its saved fields with workers reset.`,
		Example: d.examples("workers", "workers --json", "workers retry posts/digest --all", "workers reset posts/digest"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), func(store eventlog.Store) error {
				all, err := d.shownWorkers(cmd.Context(), store)
				if err != nil {
					return err
				}
				if !removed {
					all = slices.DeleteFunc(all, func(w shownWorker) bool { return w.Unknown })
				}
				if asJSON {
					return terminal.PrintJSON(cmd.OutOrStdout(), all)
				}
				return d.printWorkers(cmd.OutOrStdout(), all)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&removed, "all", false, "show workers that this program does not have, too: they were renamed or removed")
	cmd.AddCommand(d.newRetry(), d.newReset())
	return cmd
}

// shownWorkers returns all workers that ever ran on a store.
func (d *Data) shownWorkers(ctx context.Context, store eventlog.Store) ([]shownWorker, error) {
	admin := d.admin(store)
	names := admin.WorkerNames()
	all, err := admin.Workers(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the status of the workers: %w", err)
	}
	workers := []shownWorker{}
	for _, w := range all {
		workers = append(workers, shownWorker{w, !slices.Contains(names, w.Name)})
	}
	return workers, nil
}

// printWorkers writes a table of the workers, and their failures below it.
func (d *Data) printWorkers(out io.Writer, all []shownWorker) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "No worker of this program has run on this data.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKER\tPOSITION\tBEHIND\tSET ASIDE\tRUNS IN")
	for _, w := range all {
		runs := cmp.Or(w.Process, "-")
		if w.Unknown {
			runs += "  (not in this program: renamed or removed)"
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\n", w.Name, w.Position, w.Behind, len(w.Aside), runs)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	text, next := "", ""
	for _, w := range all {
		text += describeFailures(w)
		if len(w.Aside) > 0 && !w.Unknown {
			next += fmt.Sprintf("  %s workers retry %s --all\n", d.program, w.Name)
		}
	}
	if next != "" {
		text += "\nNext:\n" + next
	}
	_, err := io.WriteString(out, text)
	return err
}

// describeFailures returns a line for each failure of a worker.
func describeFailures(w shownWorker) (text string) {
	switch {
	case w.Error != "" && w.Trying != 0:
		text = fmt.Sprintf("%s fails on event %d (%d tries so far): %s\n", w.Name, w.Trying, w.Tries, oneLine(w.Error))
	case w.Error != "":
		text = fmt.Sprintf("%s fails: %s\n", w.Name, oneLine(w.Error))
	}
	for _, a := range w.Aside {
		text += fmt.Sprintf("%s has set event %d aside after %d tries: %s\n", w.Name, a.Seq, a.Tries, oneLine(a.Error))
	}
	return text
}

func (d *Data) newRetry() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "retry WORKER [SEQ…] [--all]",
		Short: "Retry events that a worker has set aside",
		Long: `Retry events that a worker has set aside: the given ones, or all. The server that runs the worker
retries them; if none does, the next server that starts.`,
		Example: d.examples("workers retry posts/digest 17", "workers retry posts/digest 17 18 23", "workers retry posts/digest --all"),
		Args:    mcpcli.MinimumArgs("posts/digest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 1) {
				return terminal.Usagef("workers retry requires event numbers or --all")
			}
			var seqs []int64
			for _, arg := range args[1:] {
				seq, err := parseSeq(arg)
				if err != nil {
					return err
				}
				seqs = append(seqs, seq)
			}
			return d.withStore(cmd.Context(), func(store eventlog.Store) error { return d.retry(cmd, store, args[0], seqs) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "retry all events that the worker has set aside")
	return cmd
}

// retry makes a worker retry events; all if none are given. If the worker has not set an event
// aside, retry returns an error after requesting the others.
func (d *Data) retry(cmd *cobra.Command, store eventlog.Store, worker string, seqs []int64) error {
	ctx := cmd.Context()
	admin := d.admin(store)
	w, err := findWorker(ctx, admin, worker)
	if err != nil {
		return err
	}
	if len(seqs) == 0 {
		for _, aside := range w.Aside {
			seqs = append(seqs, aside.Seq)
		}
	}
	if len(seqs) == 0 {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s has set nothing aside.\n", worker)
		return err
	}
	var retried []string
	var failed error
	for _, seq := range seqs {
		if err := admin.Retry(ctx, worker, seq); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		retried = append(retried, fmt.Sprint(seq))
	}
	if len(retried) == 0 {
		return failed
	}
	events := "event"
	if len(retried) > 1 {
		events = "events"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s retries %s %s as soon as a server runs it.\n\nNext:\n  %s workers\n", worker, events, strings.Join(retried, ", "), d.program)
	return errors.Join(failed, err)
}

// findWorker returns the status of a worker. The error for an unknown worker lists the existing
// ones.
func findWorker(ctx context.Context, admin *app.Admin, worker string) (app.WorkerStatus, error) {
	names := admin.WorkerNames()
	all, err := admin.Workers(ctx)
	if err != nil {
		return app.WorkerStatus{}, fmt.Errorf("read the status of the workers: %w", err)
	}
	i := slices.IndexFunc(all, func(w app.WorkerStatus) bool { return w.Name == worker })
	if !slices.Contains(names, worker) {
		why := "does not exist"
		if i >= 0 {
			why = "was renamed or removed"
		}
		return app.WorkerStatus{}, fmt.Errorf("worker %s %s; the workers are: %s", shorten(worker, 60), why, cmp.Or(strings.Join(names, ", "), "none"))
	}
	if i < 0 {
		return app.WorkerStatus{Name: worker}, nil
	}
	return all[i], nil
}

func (d *Data) newReset() *cobra.Command {
	return &cobra.Command{
		Use:   "reset WORKER",
		Short: "Discard the saved fields of a worker",
		Long: `Discard the saved fields of a worker, and print them. The worker keeps its position in the log. Use
this if the server does not start because the saved fields no longer fit the worker's type. Stop the
server that runs the worker first.`,
		Example: d.examples("workers reset posts/digest"),
		Args:    mcpcli.ExactArgs("posts/digest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.withStore(cmd.Context(), func(store eventlog.Store) error {
				admin := d.admin(store)
				w, err := findWorker(cmd.Context(), admin, args[0])
				if err != nil {
					return err
				}
				discarded, err := admin.ResetWorker(cmd.Context(), w.Name)
				if err != nil {
					return err
				}
				text := fmt.Sprintf("%s has no saved fields.\n", w.Name)
				if discarded != nil {
					text = fmt.Sprintf("Discarded the saved fields of %s: %s\nIt continues after event %d.\n", w.Name, discarded, w.Position)
				}
				_, err = fmt.Fprint(cmd.OutOrStdout(), text)
				return err
			})
		},
	}
}
