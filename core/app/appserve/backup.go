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
	"github.com/petrock/petrock/core/terminal"
)

func (d *Data) newBackup() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the data to a file, also while servers run",
		Long: `Copy the data to a new file, consistently, also while servers run. To restore it, stop all servers and put
the file into an empty data folder as ` + fileName + `.`,
		Example: d.examples("backup " + d.program + "-monday.db"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("find %s: %w; use an absolute path", args[0], err)
			}
			if err := free(file); err != nil {
				return err
			}
			return d.with(cmd.Context(), func(store *sqlite.Store) error {
				if err := store.Backup(cmd.Context(), file); err != nil {
					return fmt.Errorf("copying the data to %s: %w", file, err)
				}
				info, err := os.Stat(file)
				if err != nil {
					return fmt.Errorf("read the copy: %w", err)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Copied to %s, %d bytes.\n", file, info.Size())
				return err
			})
		},
	}
}

// free returns an error if a file exists, or its folder does not.
func free(file string) error {
	switch _, err := os.Lstat(file); {
	case err == nil:
		return fmt.Errorf("%s already exists; name another file, or remove it", file)
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
	Snapshots []app.SnapshotCheck `json:"snapshots"` // those that existed before
	Snapshot  bool                `json:"snapshot"`  // whether new ones were taken
}

func (d *Data) newReplay() *cobra.Command {
	var asJSON, snapshot bool
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Rebuild the state from the whole log, and verify the snapshots",
		Long: `Rebuild the state of all features from the whole log, and report the time. Each snapshot that this build
has taken is compared with the state after the same event. Nothing is changed without --snapshot, and no
worker runs.

Exit codes: 0 success; 1 if an event cannot be applied, or a snapshot is damaged or differs from the log.
With --snapshot such a snapshot is replaced, and the exit code is 0.`,
		Example: d.examples("replay", "replay --snapshot", "replay --json"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.with(cmd.Context(), func(store *sqlite.Store) error {
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	cmd.Flags().BoolVar(&snapshot, "snapshot", false, "take new snapshots, from which the next start continues")
	return cmd
}

// replay rebuilds the state of all features.
func (d *Data) replay(ctx context.Context, store app.Store, snapshot bool) (replayReport, error) {
	began := time.Now()
	a, checks, err := app.Replay(ctx, store, app.Options{Program: d.program, NoWorkers: true}, d.plain()...)
	if err != nil {
		return replayReport{}, err
	}
	took := max(time.Since(began), time.Microsecond)
	events, err := store.Last(ctx)
	if err != nil {
		return replayReport{}, fmt.Errorf("read the log: %w", err)
	}
	if snapshot {
		if err := a.Snapshot(ctx); err != nil {
			return replayReport{}, fmt.Errorf("taking snapshots: %w", err)
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
	return fmt.Errorf("wrong snapshots: %s; to replace them, run %s replay --snapshot", strings.Join(wrong, ", "), d.program)
}

// print writes the report as text.
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
			text += fmt.Sprintf("snapshot of %s at event %d: differs from the state that the log leads to\n", s.Feature, s.Seq)
		case app.SnapshotUnused:
			text += fmt.Sprintf("snapshot of %s at event %d: not used, as events before it were amended since\n", s.Feature, s.Seq)
		default:
			text += fmt.Sprintf("snapshot of %s at event %d: %s\n", s.Feature, s.Seq, s.Result)
		}
	}
	if r.Snapshot {
		text += "New snapshots were taken.\n"
	}
	_, err := io.WriteString(out, text)
	return err
}
