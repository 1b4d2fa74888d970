package appserve

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
)

func (d *Data) newReset() *cobra.Command {
	return &cobra.Command{
		Use:   "reset WORKER",
		Short: "Discard the saved fields of a worker",
		Long: `Discard the saved fields of a worker, and print them. Its position in the log stays. It is the way out when
the server does not start because the saved fields do not fit the worker's type any more. Stop the server that runs the
worker first.`,
		Example: d.examples("workers reset posts/digest"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd.Context(), func(store *sqlite.Store) error {
				w, err := d.worker(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				discarded, err := app.ResetWorker(cmd.Context(), store, w.Name)
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
