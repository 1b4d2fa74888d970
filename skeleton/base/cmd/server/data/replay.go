package data

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
)

// A replayReport is what came of a replay.
type replayReport struct {
	Entries   int64   `json:"entries"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"perSecond"`
	Snapshot  bool    `json:"snapshot"` // whether snapshots were taken
}

func (d *Data) newReplay() *cobra.Command {
	var asJSON, snapshot bool
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Rebuild the state from the whole log, and report the time",
		Long: `Rebuild the state of all features from the whole log, without snapshots, and report the time. Nothing is
changed but for --snapshot, and no worker begins. It ends with 1, and says what to do, if there is an entry that cannot be applied.`,
		Example: d.examples("replay", "replay --snapshot", "replay --json"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.with(cmd.Context(), func(store *sqlite.Store) error {
				report, err := d.replay(cmd.Context(), store, snapshot)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), report)
				}
				return report.print(cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	cmd.Flags().BoolVar(&snapshot, "snapshot", false, "take snapshots afterwards, from which the next start goes on")
	return cmd
}

// replay rebuilds the state of all features.
func (d *Data) replay(ctx context.Context, store app.Store, snapshot bool) (replayReport, error) {
	began := time.Now()
	a, err := d.app(ctx, store, app.Options{NoSnapshot: true, Idle: true})
	if err != nil {
		return replayReport{}, err
	}
	took := max(time.Since(began), time.Microsecond)
	entries, err := store.Last(ctx)
	if err != nil {
		return replayReport{}, fmt.Errorf("reading the log: %w", err)
	}
	if snapshot {
		if err := a.Snapshot(ctx); err != nil {
			return replayReport{}, fmt.Errorf("taking snapshots: %w", err)
		}
	}
	return replayReport{Entries: entries, Seconds: took.Seconds(), PerSecond: float64(entries) / took.Seconds(), Snapshot: snapshot}, nil
}

// print writes the report for people.
func (r replayReport) print(out io.Writer) error {
	entries := "entries"
	if r.Entries == 1 {
		entries = "entry"
	}
	text := fmt.Sprintf("%d %s in %.3g seconds, %.0f a second.\n", r.Entries, entries, r.Seconds, r.PerSecond)
	if r.Snapshot {
		text += "Snapshots are taken.\n"
	}
	_, err := io.WriteString(out, text)
	return err
}
