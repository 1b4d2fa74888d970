package appserve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
)

// fileName is the file of the event log.
const fileName = "log.db"

// make opens the event log in a folder, and creates both if needed.
func (d *Data) make(ctx context.Context, dir string) (*sqlite.Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder %s for the data: %w; %s", dir, err, d.wayOut())
	}
	return d.open(ctx, filepath.Join(dir, fileName))
}

// with calls f with the event log, which must exist.
func (d *Data) with(ctx context.Context, f func(store *sqlite.Store) error) error {
	dir, err := d.folder()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, fileName)
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no data in %s: %s has not run with it yet; if the data is elsewhere, %s", dir, d.program, d.wayOut())
	case err != nil:
		return fmt.Errorf("looking for the data: %w; %s", err, d.wayOut())
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file; %s", file, d.wayOut())
	case info.Size() == 0:
		return fmt.Errorf("read %s: the file is empty; restore a backup of it, or %s", file, d.wayOut())
	}
	store, err := d.open(ctx, file)
	if err != nil {
		return err
	}
	return errors.Join(f(store), store.Close())
}

// open opens the event log in a file.
func (d *Data) open(ctx context.Context, file string) (*sqlite.Store, error) {
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w; make it readable and writable, or %s", file, err, d.wayOut())
	}
	return store, nil
}

// find returns one entry of the event log.
func find(ctx context.Context, store app.Store, seq int64) (app.Record, error) {
	for record, err := range store.Records(ctx, seq-1) {
		if err != nil {
			return app.Record{}, fmt.Errorf("reading the log: %w", err)
		}
		if record.Seq == seq {
			return record, nil
		}
		break
	}
	return app.Record{}, fmt.Errorf("the log has no entry %d", seq)
}
