package appserve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// withStore calls f with the event log, which must exist.
func (d *Data) withStore(ctx context.Context, f func(store eventlog.Store) error) error {
	dir, err := d.folder()
	if err != nil {
		return err
	}
	store, err := d.existing(ctx, dir)
	if err != nil {
		return err
	}
	return errors.Join(f(store), store.Close())
}

// create opens the event log in a folder, and creates both if needed.
func (d *Data) create(ctx context.Context, dir string) (eventlog.Store, error) {
	limitMemory()
	if isURL(dir) {
		return d.openURL(ctx, dir, eventlog.OpenOrCreate)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data folder %s: %w; %s", dir, err, d.dirHint())
	}
	return d.open(ctx, filepath.Join(dir, fileName))
}

// existing opens the event log in a folder, which must exist.
func (d *Data) existing(ctx context.Context, dir string) (eventlog.Store, error) {
	limitMemory()
	if isURL(dir) {
		return d.openURL(ctx, dir, eventlog.OpenExisting)
	}
	file := filepath.Join(dir, fileName)
	_, lockErr := os.Stat(file + ".lock")
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist) && lockErr == nil: // events are lost; open fails
	case errors.Is(err, fs.ErrNotExist):
		return nil, noDataError(fmt.Sprintf("no data in %s: %s has not run with it yet; if the data is elsewhere, %s", dir, d.program, d.dirHint()))
	case err != nil:
		return nil, fmt.Errorf("find the data: %w; %s", err, d.dirHint())
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file; %s", file, d.dirHint())
	case info.Size() == 0:
		return nil, fmt.Errorf("read %s: the file is empty; restore a backup with --replace, or %s", file, d.dirHint())
	}
	return d.open(ctx, file)
}

// fileName is the name of the event log in the data folder.
const fileName = "log.db"

func (d *Data) open(ctx context.Context, file string) (eventlog.Store, error) {
	store, err := sqlite.Open(ctx, file)
	switch {
	case errors.Is(err, eventlog.ErrFull):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w; if the data is elsewhere, %s", err, d.dirHint())
	}
	return store, nil
}

// openURL opens the event log in a database.
func (d *Data) openURL(ctx context.Context, address string, mode eventlog.OpenMode) (eventlog.Store, error) {
	if d.postgres == nil {
		return nil, fmt.Errorf("open %s: this program cannot use PostgreSQL; run petrock add postgres in its project, and build it again", redacted(address))
	}
	store, err := d.postgres(ctx, address, d.program, mode)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, eventlog.ErrUnavailable): // not a socket
		return nil, noDataError(fmt.Sprintf("no data in %s: %s has not run with it yet; if the data is elsewhere, use --data URL or set %s", redacted(address), d.program, d.variable()))
	case errors.Is(err, eventlog.ErrFull):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w; if the data is elsewhere, use --data URL or set %s", err, d.variable())
	}
	return store, nil
}

// A noDataError means that there is no event log yet. It matches [fs.ErrNotExist], and has an exit
// code of its own.
type noDataError string

func (e noDataError) Error() string        { return string(e) }
func (e noDataError) Is(target error) bool { return target == fs.ErrNotExist }
func (e noDataError) ExitStatus() int      { return terminal.ExitNoData }

// folder returns the absolute path of the data folder: --data, or the environment variable, or data
// in the project, or the user's data folder. It need not exist. It can be the URL of a database
// instead.
func (d *Data) folder() (string, error) {
	given, err := d.dir, d.checkArgument(d.dir)
	if given == "" {
		given, _, err = project.LookupSetting(d.program, "data")
	}
	switch {
	case err != nil:
		return "", err
	case isURL(given):
		return given, nil
	case given != "":
		dir, err := filepath.Abs(given)
		if err != nil {
			return "", fmt.Errorf("find the data folder %s: %w; use an absolute path", given, err)
		}
		return dir, nil
	}
	root, err := project.Source(d.program)
	if err == nil {
		return filepath.Join(root, "data"), nil
	}
	if !errors.Is(err, project.ErrNone) {
		return "", fmt.Errorf("find the data folder of the project: %w; %s", err, d.dirHint())
	}
	home, err := userData(runtime.GOOS, os.Getenv, os.UserHomeDir)
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w; %s", err, d.dirHint())
	}
	return filepath.Join(home, d.program), nil
}

// variable returns the environment variable for the data folder.
func (d *Data) variable() string { return project.Variable(d.program, "data") }

// checkArgument returns an error if a command-line argument is a URL with a password, which every
// user of the machine could read.
func (d *Data) checkArgument(data string) error {
	parsed, err := url.Parse(data)
	if !isURL(data) || err != nil {
		return nil // opening an invalid URL fails
	}
	password, _ := parsed.User.Password()
	if password+parsed.Query().Get("password")+parsed.Query().Get("sslpassword") == "" {
		return nil
	}
	return terminal.Usagef("the URL has a password, which other users could read in the list of processes; set %s to the URL, or %s_FILE to a file with it, or set PGPASSFILE and omit the password", d.variable(), d.variable())
}

// dirHint returns the remedy for a data folder that cannot be used.
func (d *Data) dirHint() string {
	return fmt.Sprintf("use --data DIR or set %s to another folder", d.variable())
}

// userData returns the folder for the user's data on an operating system.
func userData(system string, getenv func(string) string, home func() (string, error)) (string, error) {
	variable, below := "XDG_DATA_HOME", filepath.Join(".local", "share")
	switch system {
	case "windows":
		variable, below = "LocalAppData", filepath.Join("AppData", "Local")
	case "darwin", "ios":
		variable, below = "", filepath.Join("Library", "Application Support")
	}
	if variable != "" {
		if dir := getenv(variable); filepath.IsAbs(dir) { // a relative path is ignored
			return dir, nil
		}
	}
	dir, err := home()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, below), nil
}

// isURL reports whether the data is in a PostgreSQL database and not in a folder.
func isURL(data string) bool {
	return strings.HasPrefix(data, "postgres://") || strings.HasPrefix(data, "postgresql://")
}

// redacted returns a folder, or a URL without its password.
func redacted(data string) string {
	if !isURL(data) {
		return data
	}
	if parsed, err := url.Parse(data); err == nil && !parsed.Query().Has("password") {
		return parsed.Redacted()
	}
	return "the database"
}
