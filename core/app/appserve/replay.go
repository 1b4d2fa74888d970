package appserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

func (d *Data) newReplay() *cobra.Command {
	var asJSON, snapshot bool
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Rebuild the state from the event log, and verify the snapshots",
		Long: `Rebuild the state of all features from the event log, and print how long it takes. Compare each
snapshot of this build with the state after the same event, and check that a snapshot would not change
the state, which needs memory for a second state. Without --snapshot nothing is changed. Workers do not
run.

Exit codes: 0 success; 1 if an event cannot be applied, or a snapshot is damaged, differs from the log or
would change the state; 4 if the data does not exist yet. With --snapshot, a damaged or different one is
replaced, and the exit code is 0.`,
		Example: d.examples("replay", "replay --snapshot", "replay --json"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), func(store eventlog.Store) error {
				report, err := d.replay(cmd.Context(), store, snapshot)
				if err != nil {
					return err
				}
				if asJSON {
					err = terminal.PrintJSON(cmd.OutOrStdout(), report)
				} else {
					err = report.print(cmd.OutOrStdout())
				}
				return errors.Join(err, d.wrongSnapshots(report))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&snapshot, "snapshot", false, "take new snapshots, so that the next start is faster")
	return cmd
}

// A replayReport is the result of a replay.
type replayReport struct {
	Events    int64               `json:"events"`
	Seconds   float64             `json:"seconds"`
	PerSecond float64             `json:"perSecond"`
	Snapshots []app.SnapshotCheck `json:"snapshots"` // existing ones
	Snapshot  bool                `json:"snapshot"`  // whether new ones were taken
}

func (d *Data) replay(ctx context.Context, store eventlog.Store, snapshot bool) (replayReport, error) {
	start := time.Now()
	a, checks, err := d.admin(store).Replay(ctx)
	if err != nil {
		return replayReport{}, err
	}
	took := max(time.Since(start), time.Microsecond)
	events, err := store.Last(ctx)
	if err != nil {
		return replayReport{}, fmt.Errorf("read the log: %w", err)
	}
	if err := a.CheckSnapshots(ctx); err != nil {
		return replayReport{}, fmt.Errorf("check whether the states can have snapshots: %w", err)
	}
	if snapshot {
		if err := a.Snapshot(ctx); err != nil {
			return replayReport{}, fmt.Errorf("take snapshots: %w", err)
		}
	}
	return replayReport{events, took.Seconds(), float64(events) / took.Seconds(), checks, snapshot}, nil
}

// wrongSnapshots returns an error for wrong snapshots that were not replaced.
func (d *Data) wrongSnapshots(r replayReport) error {
	var wrong []string
	for _, s := range r.Snapshots {
		if s.Result == app.SnapshotDiffers || s.Result == app.SnapshotDamaged {
			wrong = append(wrong, s.Feature)
		}
	}
	if len(wrong) == 0 || r.Snapshot {
		return nil
	}
	return fmt.Errorf("wrong snapshots: %s; run %s replay --snapshot to replace them", strings.Join(wrong, ", "), d.program)
}

func (r replayReport) print(out io.Writer) error {
	text := fmt.Sprintf("%s in %.3g seconds, %.0f a second.\n", count(r.Events), r.Seconds, r.PerSecond)
	for _, s := range r.Snapshots {
		switch s.Result {
		case app.SnapshotNone:
			text += fmt.Sprintf("snapshot of %s: none\n", s.Feature)
		case app.SnapshotDamaged:
			text += fmt.Sprintf("snapshot of %s: damaged: %s\n", s.Feature, s.Detail)
		case app.SnapshotDiffers:
			text += fmt.Sprintf("snapshot of %s at event %d: differs from the replayed state\n", s.Feature, s.Seq)
		case app.SnapshotUnused:
			text += fmt.Sprintf("snapshot of %s at event %d: not used, because earlier events were amended since\n", s.Feature, s.Seq)
		default:
			text += fmt.Sprintf("snapshot of %s at event %d: %s\n", s.Feature, s.Seq, s.Result)
		}
	}
	if r.Snapshot {
		text += "Took new snapshots.\n"
	}
	_, err := io.WriteString(out, text)
	return err
}
