package appserve

import (
	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
)

// A shownEntry is all there is to know of an entry.
type shownEntry struct {
	app.Record
	Amendment *app.Amendment `json:"amendment,omitempty"`
}

func (d *Data) newShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show SEQ",
		Short:   "Show all of an entry",
		Long:    "Show all of an entry as JSON, and how it is read instead if log skip, log map or log restore have said so.",
		Example: d.examples("log show 17"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := number(args[0])
			if err != nil {
				return err
			}
			return d.with(cmd.Context(), func(store *sqlite.Store) error {
				record, err := find(cmd.Context(), store, seq)
				if err != nil {
					return err
				}
				amendments, err := app.Amendments(cmd.Context(), store)
				if err != nil {
					return err
				}
				return printJSON(cmd.OutOrStdout(), shown(record, amendments))
			})
		},
	}
}
