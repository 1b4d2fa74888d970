package appserve

import (
	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/terminal"
)

// A shownEntry is an entry and its amendment.
type shownEntry struct {
	app.Record
	Amendment *app.Amendment `json:"amendment,omitempty"`
}

func (d *Data) newShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show SEQ",
		Short:   "Show an entry",
		Long:    "Show an entry as JSON, and how it is read after log skip, log map or log restore.",
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
				return terminal.PrintJSON(cmd.OutOrStdout(), shown(record, amendments))
			})
		},
	}
}
