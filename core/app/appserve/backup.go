package appserve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

func (d *Data) newBackup() *cobra.Command {
	example := d.program + "-monday.jsonl.gz"
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the data to a file",
		Long: `Back up the data to a new file: all events, and everything that is stored with them, such as
amendments, idempotency keys and the positions of workers. Servers can keep running; the backup
has the data of one moment.

The file has a line of JSON for each event, compressed with gzip. The backup is read back, replayed
and compared with the data. If it differs, no file is written.

If FILE is -, the backup is written to standard output, and not read back: restore verifies its checksum.`,
		Example: d.examples("backup "+example, "backup - | ssh elsewhere 'cat > "+example+"'"),
		Args:    mcpcli.ExactArgs(example),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" {
				return d.streamBackup(cmd)
			}
			file, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("find %s: %w; use an absolute path", args[0], err)
			}
			if err := checkTarget(file); err != nil {
				return err
			}
			ctx, stop := untilInterrupted(cmd)
			defer stop()
			return d.withStore(ctx, func(store eventlog.Store) error {
				digest, err := d.backUp(ctx, store, file)
				if err != nil {
					return fmt.Errorf("back up to %s: %w", file, err)
				}
				info, err := os.Stat(file)
				if err != nil {
					return fmt.Errorf("read the backup: %w", err)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Backed up %s to %s, %d bytes. %s\n", count(digest.Events), file, info.Size(), verified(digest))
				return err
			})
		},
	}
}

// streamBackup writes a backup to standard output.
func (d *Data) streamBackup(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	if terminal.IsTerminal(out) {
		return terminal.Usagef("backup - writes a compressed file; redirect it to a file or a program")
	}
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	return d.withStore(ctx, func(store eventlog.Store) error {
		var events int64
		err := store.View(ctx, func(v eventlog.View) (err error) {
			events, err = d.admin(store).WriteBackup(ctx, out, v)
			return err
		})
		if err != nil {
			return fmt.Errorf("back up to standard output: %w", err)
		}
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "Backed up %s to standard output.\n", count(events))
		return err
	})
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

// backUp writes a backup to a new file, and compares it with the store.
func (d *Data) backUp(ctx context.Context, store eventlog.Store, file string) (digest app.Digest, err error) {
	// Other users cannot read a file of CreateTemp.
	temp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		return digest, err
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	admin := d.admin(store)
	err = store.View(ctx, func(v eventlog.View) error {
		if _, err := admin.WriteBackup(ctx, temp, v); err != nil {
			return err
		}
		if err := errors.Join(temp.Sync(), temp.Close()); err != nil {
			return err
		}
		if digest, err = admin.Digest(ctx, v); err != nil {
			return err
		}
		return compareBackup(ctx, admin, temp.Name(), digest)
	})
	if err != nil {
		return digest, err
	}
	err = os.Link(temp.Name(), file)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(temp.Name(), file) // some file systems have no hard links
	}
	if err != nil {
		return digest, err
	}
	if dir, err := os.Open(filepath.Dir(file)); err == nil {
		dir.Sync() // not all systems can flush folders
		dir.Close()
	}
	return digest, nil
}

// compareBackup returns an error if a backup does not have the expected digest.
func compareBackup(ctx context.Context, admin *app.Admin, file string, want app.Digest) error {
	backup, err := readBackup(file)
	if err != nil {
		return err
	}
	got, err := admin.Digest(ctx, backup)
	if err == nil && got != want {
		err = errors.New("the backup differs from the data; check the disk, and retry")
	}
	return err
}

func readBackup(file string) (*app.Backup, error) {
	backup, err := app.ReadBackup(func() (io.ReadCloser, error) { return os.Open(file) })
	if err != nil {
		return nil, fmt.Errorf("read backup %s: %w", file, err)
	}
	return backup, nil
}

func (d *Data) newRestoreBackup() *cobra.Command {
	example, replace := d.program+"-monday.jsonl.gz", false
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore the data from a backup",
		Long: `Restore the data from a file that backup has written. The data folder must have no events, unless
--replace is given. Snapshots are not in a backup; run replay --snapshot to take new ones.

The restored data is replayed and compared with the backup before it is committed. If restore fails
or is interrupted, the data is as before.

With --replace, the old data is kept under another name, and all servers must be stopped. This also
replaces data that is damaged.

If FILE is -, the backup is read from standard input, to its end, before anything is restored.`,
		Example: d.examples("restore "+example, "restore "+example+" --data elsewhere", "restore "+example+" --replace", "restore - < "+example),
		Args:    mcpcli.ExactArgs(example),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.restore(cmd, args[0], replace)
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace existing data, and keep it under another name")
	return cmd
}

// restore restores the data from a file; - is standard input.
func (d *Data) restore(cmd *cobra.Command, from string, replace bool) error {
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	file := from
	if from == "-" {
		temp, err := saveInput(ctx, cmd.InOrStdin())
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		defer os.Remove(temp)
		file = temp
	}
	backup, err := readBackup(file)
	if err != nil {
		return err
	}
	dir, err := d.folder()
	if err != nil {
		return err
	}
	var digest app.Digest
	kept, remedy := "", "to keep them under another name and use the backup instead, stop all servers and add --replace"
	if isURL(dir) {
		remedy = "add ?search_path=NAME to the URL to restore to another schema, and use that URL for the servers too"
	}
	switch {
	case !replace:
		digest, err = d.fill(ctx, dir, backup)
	case isURL(dir):
		err = errors.New("--replace is for data folders; " + remedy)
	default:
		digest, kept, err = d.replaceWith(ctx, dir, backup)
	}
	if errors.Is(err, app.ErrNotEmpty) {
		err = fmt.Errorf("%w; %s", err, remedy)
	}
	dir = redacted(dir)
	if err != nil {
		return fmt.Errorf("restore %s to %s: %w", from, dir, err)
	}
	text := fmt.Sprintf("Restored %s, of %s, to %s. %s\n", count(digest.Events), backup.Time.Format("2006-01-02 15:04:05"), dir, verified(digest))
	if kept != "" {
		text += fmt.Sprintf("The old data is in %s.\n", kept)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), text)
	return err
}

// saveInput copies a stream to a temporary file, which others cannot read, and returns its name.
func saveInput(ctx context.Context, in io.Reader) (name string, err error) {
	temp, err := os.CreateTemp("", "restore-*.jsonl.gz")
	if err != nil {
		return "", err
	}
	copied := make(chan error, 1) // reading a terminal or a pipe cannot be cancelled
	go func() {
		_, err := io.Copy(temp, in)
		copied <- errors.Join(err, temp.Close())
	}()
	select {
	case err = <-copied:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return temp.Name(), err
}

// fill copies a view to the event log in a folder, which must have no events.
func (d *Data) fill(ctx context.Context, dir string, from eventlog.View) (digest app.Digest, err error) {
	store, err := d.create(ctx, dir)
	if err != nil {
		return digest, err
	}
	digest, err = d.admin(store).Copy(ctx, from)
	return digest, errors.Join(err, store.Close())
}

// replaceWith copies a view to a new event log, and replaces the one in a folder with it. It
// returns the path of the old one; empty if there was none.
func (d *Data) replaceWith(ctx context.Context, dir string, from eventlog.View) (digest app.Digest, kept string, err error) {
	temp := filepath.Join(dir, "restore.tmp")
	if err := os.RemoveAll(temp); err != nil { // of a restore that was killed
		return digest, "", err
	}
	defer os.RemoveAll(temp)
	if digest, err = d.fill(ctx, temp, from); err != nil {
		return digest, "", err
	}
	file := filepath.Join(dir, fileName)
	kept = filepath.Join(dir, fmt.Sprintf("replaced-%s.db", time.Now().UTC().Format("20060102-150405.000")))
	if err := sqlite.Swap(ctx, file, filepath.Join(temp, fileName), kept); err != nil {
		return digest, "", err
	}
	if _, err := os.Lstat(kept); err != nil {
		kept = "" // there was no old file
	}
	return digest, kept, nil
}

func (d *Data) newCopy() *cobra.Command {
	return &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy the event log to another location",
		Long: `Copy the event log in FROM, with everything that is stored with it, to TO, which must have no
events. FROM and TO are values of --data.

Both logs are replayed and compared before the copy is committed. If log copy fails or is
interrupted, TO is as before. FROM is not changed. Events that servers append to FROM later are not
in TO, so stop the servers first, and start them again with TO.`,
		Example: d.examples("log copy data /srv/" + d.program),
		Args:    mcpcli.ExactArgs("data", "/srv/"+d.program),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(d.checkArgument(args[0]), d.checkArgument(args[1])); err != nil {
				return err
			}
			ctx, stop := untilInterrupted(cmd)
			defer stop()
			from, err := d.existing(ctx, args[0])
			if err != nil {
				return err
			}
			var digest app.Digest
			err = from.View(ctx, func(v eventlog.View) error {
				digest, err = d.fill(ctx, args[1], v)
				return err
			})
			if err = errors.Join(err, from.Close()); err != nil {
				return fmt.Errorf("copy %s to %s: %w", redacted(args[0]), redacted(args[1]), err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Copied %s to %s. %s\n", count(digest.Events), redacted(args[1]), verified(digest))
			return err
		},
	}
}

// verified describes how a copy was compared with its source.
func verified(digest app.Digest) string {
	if digest.Unreplayed != "" {
		return "All events are equal. The state was not compared: " + digest.Unreplayed + "."
	}
	return "All events and the replayed state are equal."
}
