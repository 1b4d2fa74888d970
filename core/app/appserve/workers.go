package appserve

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/terminal"
)

// A shownWorker is the status of a worker, and whether it still exists.
type shownWorker struct {
	app.WorkerStatus
	Unknown bool `json:"unknown,omitempty"` // this program has none of that name
}

func (d *Data) newWorkers() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "Show how far the workers are, and what they fail on",
		Long: `Show how far the workers are, and what they fail on: the last entry that each has dealt with, how many
there are after it, and which process runs it. An entry on which a worker fails is tried again, later each
time, and set aside in the end; workers retry has it tried again. workers reset discards the saved fields of a
worker whose type has changed.

A worker that has run on the data, but is not in this program, was renamed or removed.`,
		Example: d.examples("workers", "workers --json", "workers retry posts/digest --all", "workers reset posts/digest"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.with(cmd.Context(), func(store *sqlite.Store) error {
				all, err := d.shownWorkers(cmd.Context(), store)
				if err != nil {
					return err
				}
				if asJSON {
					return terminal.PrintJSON(cmd.OutOrStdout(), all)
				}
				return d.printWorkers(cmd.OutOrStdout(), all)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	cmd.AddCommand(d.newRetry(), d.newReset())
	return cmd
}

// shownWorkers returns all workers that ever ran on a store.
func (d *Data) shownWorkers(ctx context.Context, store app.Store) ([]shownWorker, error) {
	names, err := d.workers(ctx)
	if err != nil {
		return nil, err
	}
	all, err := app.Workers(ctx, store)
	if err != nil {
		return nil, fmt.Errorf("reading how the workers stand: %w", err)
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
		_, err := fmt.Fprintln(out, "No worker has run on this data.")
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
	for _, w := range all {
		if err := d.printFailures(out, w); err != nil {
			return err
		}
	}
	return nil
}

// printFailures writes the failures of a worker.
func (d *Data) printFailures(out io.Writer, w shownWorker) error {
	text := ""
	switch {
	case w.Error != "" && w.Trying != 0:
		text = fmt.Sprintf("%s fails on entry %d (%d tries so far): %s\n", w.Name, w.Trying, w.Tries, oneLine(w.Error))
	case w.Error != "":
		text = fmt.Sprintf("%s fails: %s\n", w.Name, oneLine(w.Error))
	}
	for _, a := range w.Aside {
		text += fmt.Sprintf("%s has set entry %d aside after %d tries: %s\n", w.Name, a.Seq, a.Tries, oneLine(a.Error))
		if !w.Unknown {
			text += fmt.Sprintf("  try it again with: %s workers retry %s %d\n", d.program, w.Name, a.Seq)
		}
	}
	_, err := io.WriteString(out, text)
	return err
}

// oneLine shortens an error that may have several lines.
func oneLine(text string) string { return short(strings.ReplaceAll(text, "\n", "; "), 300) }
