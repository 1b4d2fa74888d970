package appserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/terminal"
)

func (d *Data) newBackup() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the data to a file",
		Long: `Back up the data to a new file. Servers can keep running. To restore the backup, stop all servers
and copy it as ` + fileName + ` into an empty data folder.`,
		Example: d.examples("backup " + d.program + "-monday.db"),
		Args:    mcpcli.ExactArgs(d.program + "-monday.db"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("find %s: %w; use an absolute path", args[0], err)
			}
			if err := checkTarget(file); err != nil {
				return err
			}
			return d.withStore(cmd.Context(), func(store *sqlite.Store) error {
				if err := store.Backup(cmd.Context(), file); err != nil {
					return err
				}
				info, err := os.Stat(file)
				if err != nil {
					return fmt.Errorf("read the backup: %w", err)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Backed up to %s, %d bytes.\n", file, info.Size())
				return err
			})
		},
	}
}

// checkTarget returns an error if a file exists, or its folder does not.
func checkTarget(file string) error {
	switch _, err := os.Lstat(file); {
	case err == nil:
		return fmt.Errorf("%s already exists; choose another file, or remove it", file)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("create backup: %w", err)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return fmt.Errorf("folder %s does not exist; create it first", filepath.Dir(file))
	}
	return nil
}

// A replayReport is the result of a replay.
type replayReport struct {
	Events    int64               `json:"events"`
	Seconds   float64             `json:"seconds"`
	PerSecond float64             `json:"perSecond"`
	Snapshots []app.SnapshotCheck `json:"snapshots"` // existing ones
	Snapshot  bool                `json:"snapshot"`  // whether new ones were taken
}

func (d *Data) newReplay() *cobra.Command {
	var asJSON, snapshot bool
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Rebuild the state from the event log, and verify the snapshots",
		Long: `Rebuild the state of all features from the event log, and print how long it takes. Compare each
snapshot of this build with the state after the same event. Without --snapshot nothing is changed. Workers
do not run.

Exit codes: 0 success; 1 if an event cannot be applied, or a snapshot is damaged or differs from the log.
With --snapshot such a snapshot is replaced, and the exit code is 0.`,
		Example: d.examples("replay", "replay --snapshot", "replay --json"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), func(store *sqlite.Store) error {
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

func (d *Data) replay(ctx context.Context, store app.Store, snapshot bool) (replayReport, error) {
	start := time.Now()
	a, checks, err := app.Replay(ctx, store, app.Options{Program: d.program, Fingerprint: d.fingerprint(), NoWorkers: true}, d.appFeatures()...)
	if err != nil {
		return replayReport{}, err
	}
	took := max(time.Since(start), time.Microsecond)
	events, err := store.Last(ctx)
	if err != nil {
		return replayReport{}, fmt.Errorf("read the log: %w", err)
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
	events := "events"
	if r.Events == 1 {
		events = "event"
	}
	text := fmt.Sprintf("%d %s in %.3g seconds, %.0f a second.\n", r.Events, events, r.Seconds, r.PerSecond)
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
