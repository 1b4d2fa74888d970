package data

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
)

func (d *Data) newWorkers() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "Show how far the workers are, and what they fail on",
		Long: `Show how far the workers are, and what they fail on: the last entry that each has dealt with, how many
there are after it, and which process runs it. An entry on which a worker fails is tried again, later each
time, and set aside in the end; workers retry has it tried again.`,
		Example: d.examples("workers", "workers --json", "workers retry posts/digest 17"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.with(cmd.Context(), func(store *sqlite.Store) error {
				all, err := app.Workers(cmd.Context(), store)
				if err != nil {
					return fmt.Errorf("reading how the workers stand: %w", err)
				}
				if !asJSON {
					return d.printWorkers(cmd.OutOrStdout(), all)
				}
				if all == nil {
					all = []app.WorkerStatus{}
				}
				return printJSON(cmd.OutOrStdout(), all)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	cmd.AddCommand(d.newRetry())
	return cmd
}

// printWorkers writes a table of the workers, and below it what is wrong.
func (d *Data) printWorkers(out io.Writer, all []app.WorkerStatus) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "No worker has run on this data.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKER\tPOSITION\tBEHIND\tSET ASIDE\tRUNS IN")
	for _, w := range all {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\n", w.Name, w.Position, w.Behind, len(w.Aside), cmp.Or(w.Process, "-"))
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

// printFailures writes what a worker fails on and has failed on, if anything.
func (d *Data) printFailures(out io.Writer, w app.WorkerStatus) error {
	text := ""
	switch {
	case w.Error != "" && w.Trying != 0:
		text = fmt.Sprintf("%s fails on entry %d (%d tries so far): %s\n", w.Name, w.Trying, w.Tries, short(w.Error, 300))
	case w.Error != "":
		text = fmt.Sprintf("%s fails: %s\n", w.Name, short(w.Error, 300))
	}
	for _, a := range w.Aside {
		text += fmt.Sprintf("%s has set entry %d aside after %d tries: %s\n  try it again with: %s workers retry %[1]s %[2]d\n", w.Name, a.Seq, a.Tries, short(a.Error, 300), d.program)
	}
	_, err := io.WriteString(out, text)
	return err
}

func (d *Data) newRetry() *cobra.Command {
	return &cobra.Command{
		Use:     "retry WORKER SEQ",
		Short:   "Have a worker try an entry again that was set aside",
		Long:    "Have a worker try an entry again that was set aside. The server that runs the worker does, or the next one that starts.",
		Example: d.examples("workers retry posts/digest 17"),
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := number(args[1])
			if err != nil {
				return err
			}
			return d.with(cmd.Context(), func(store *sqlite.Store) error {
				if err := app.Retry(cmd.Context(), store, args[0], seq); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s tries entry %d again, as soon as a server runs it. %s workers shows what came of it.\n", args[0], seq, d.program)
				return err
			})
		},
	}
}
