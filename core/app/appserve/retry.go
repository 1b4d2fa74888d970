package appserve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/terminal"
)

func (d *Data) newRetry() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "retry WORKER [SEQ…] [--all]",
		Short: "Retry entries that a worker has set aside",
		Long: `Retry entries that a worker has set aside: those given, or all. The server that runs the worker retries them, or the
next one that starts.`,
		Example: d.examples("workers retry posts/digest 17", "workers retry posts/digest 17 18 23", "workers retry posts/digest --all"),
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 1) {
				return terminal.Usagef("workers retry needs the numbers of entries, or --all for all that %s has set aside", args[0])
			}
			var seqs []int64
			for _, arg := range args[1:] {
				seq, err := number(arg)
				if err != nil {
					return err
				}
				seqs = append(seqs, seq)
			}
			return d.with(cmd.Context(), func(store *sqlite.Store) error { return d.retry(cmd, store, args[0], seqs) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all entries that the worker has set aside")
	return cmd
}

// retry makes a worker retry entries, or all if none are given. Entries that it has not set aside are errors, but do not prevent the
// others.
func (d *Data) retry(cmd *cobra.Command, store app.Store, worker string, seqs []int64) error {
	ctx := cmd.Context()
	aside, err := d.aside(ctx, store, worker)
	if err != nil {
		return err
	}
	if len(seqs) == 0 {
		seqs = aside
	}
	if len(seqs) == 0 {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s has set nothing aside.\n", worker)
		return err
	}
	var again []string
	var failed error
	for _, seq := range seqs {
		if err := app.Retry(ctx, store, worker, seq); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		again = append(again, fmt.Sprint(seq))
	}
	if len(again) == 0 {
		return failed
	}
	entries := "entry"
	if len(again) > 1 {
		entries = "entries"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s tries %s %s again, as soon as a server runs it. %s workers shows what came of it.\n", worker, entries, strings.Join(again, ", "), d.program)
	return errors.Join(failed, err)
}

// aside returns the entries that a worker has set aside.
func (d *Data) aside(ctx context.Context, store app.Store, worker string) ([]int64, error) {
	w, err := d.worker(ctx, store, worker)
	if err != nil {
		return nil, err
	}
	var seqs []int64
	for _, a := range w.Aside {
		seqs = append(seqs, a.Seq)
	}
	return seqs, nil
}

// worker returns the status of a worker. The error for an unknown one names those that exist.
func (d *Data) worker(ctx context.Context, store app.Store, worker string) (app.WorkerStatus, error) {
	names, err := d.workers(ctx)
	if err != nil {
		return app.WorkerStatus{}, err
	}
	all, err := app.Workers(ctx, store)
	if err != nil {
		return app.WorkerStatus{}, fmt.Errorf("reading how the workers stand: %w", err)
	}
	i := slices.IndexFunc(all, func(w app.WorkerStatus) bool { return w.Name == worker })
	if !slices.Contains(names, worker) {
		why := ""
		if i >= 0 {
			why = ", though it has run on this data: it was renamed or removed"
		}
		there := "there are none"
		if len(names) > 0 {
			there = "there are " + strings.Join(names, ", ")
		}
		return app.WorkerStatus{}, fmt.Errorf("the worker %s is unknown to this program%s; %s", short(worker, 60), why, there)
	}
	if i < 0 {
		return app.WorkerStatus{Name: worker}, nil
	}
	return all[i], nil
}

// workers returns the names of the program's workers, such as posts/digest.
func (d *Data) workers(ctx context.Context) ([]string, error) {
	a, err := d.app(ctx, app.NewMemory(), app.Options{Idle: true}) // the log need not be readable for that
	if err != nil {
		return nil, err
	}
	status, err := a.Status(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range status.Features {
		for _, w := range f.Workers {
			names = append(names, f.Name+"/"+w)
		}
	}
	return names, nil
}
