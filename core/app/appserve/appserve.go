// Package appserve adds the features of a server to its command line: the commands log, workers,
// replay, backup and restore, and the flags --data and, for serve, --app-resources.
package appserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
)

// Data serves features from an event log in the data folder. It implements serve.Extension.
type Data struct {
	program  string
	features []appmcp.Feature
	skipped  []string
	options  appmcp.Options
	dir      string // value of --data
	snapshot string // value of --snapshot; empty for commands that do not serve, which take none
	readOnly string // why commands are refused; empty means that they are executed
	postgres openPostgres
	running  *app.App // set by Open
}

// openPostgres opens the event log in a schema of a database. If the URL does not name the schema,
// it is defaultSchema.
type openPostgres func(ctx context.Context, url, defaultSchema string, mode app.OpenMode) (app.Store, error)

// New returns the Data of a program with these features.
func New(program string, features ...appmcp.Feature) *Data {
	return &Data{program: program, features: features}
}

// Skip makes d ignore events of the given types, such as scratch/poke, unless a feature reads them,
// and returns d.
func (d *Data) Skip(types ...string) *Data {
	d.skipped = append(d.skipped, types...)
	return d
}

// WithPostgres makes d accept the URL of a PostgreSQL database as data, which open opens, and
// returns d.
func WithPostgres[S app.Store](d *Data, open func(ctx context.Context, url, defaultSchema string, mode app.OpenMode) (S, error)) *Data {
	d.postgres = func(ctx context.Context, url, defaultSchema string, mode app.OpenMode) (app.Store, error) {
		store, err := open(ctx, url, defaultSchema, mode)
		if err != nil {
			return nil, err
		}
		return store, nil
	}
	return d
}

// SetReadOnly implements serve.ReadOnlyExtension: commands are refused with this reason, workers do
// not run, and nothing is written to the event log, which must exist.
func (d *Data) SetReadOnly(reason string) { d.readOnly = reason }

// Health implements serve.HealthExtension.
func (d *Data) Health() (unready, degraded []string) {
	health := d.running.Health()
	if health.Store != "" {
		unready = []string{"store: " + health.Store}
	}
	for _, name := range slices.Sorted(maps.Keys(health.Features)) {
		degraded = append(degraded, "feature "+name+": "+health.Features[name])
	}
	return unready, degraded
}

// Flags adds --data to a command and its subcommands, --snapshot to mcp and serve, and
// --app-resources to serve.
func (d *Data) Flags(cmd *cobra.Command) {
	if cmd.Name() == "serve" || cmd.Name() == "mcp" {
		cmd.Flags().StringVar(&d.snapshot, "snapshot", "auto", "snapshots of the state, for a faster start: auto takes and uses them, off does neither")
	}
	if cmd.Name() == "serve" {
		cmd.Flags().BoolVar(&d.options.RemoteResources, "app-resources", false, "offer app://log, app://features and app://workers, which show the inputs and outputs of all commands")
	}
	what := "data folder"
	if d.postgres != nil {
		what += " or postgres:// URL"
	}
	cmd.PersistentFlags().StringVar(&d.dir, "data", "", what+" (default $"+d.variable()+", or data in the project, or the user's data folder)")
	_ = cmd.MarkPersistentFlagDirname("data") // the flag exists
}

// Commands returns log, workers, replay, backup and restore.
func (d *Data) Commands() []*cobra.Command {
	all := []*cobra.Command{d.newLog(), d.newWorkers(), d.newReplay(), d.newBackup(), d.newRestoreBackup()}
	for _, cmd := range all {
		cmd.GroupID = "Manage data:"
		d.Flags(cmd)
	}
	return all
}

// Open opens or creates the event log, replays it, registers the features on s, and runs their
// workers. end stops the workers and closes the event log. See SetReadOnly for an exception.
func (d *Data) Open(ctx context.Context, s *mcp.Server, log *slog.Logger) (end func() error, err error) {
	if d.snapshot != "auto" && d.snapshot != "off" && d.snapshot != "" {
		return nil, terminal.Usagef("--snapshot %q: use auto or off", d.snapshot)
	}
	dir, err := d.folder()
	if err != nil {
		return nil, err
	}
	open := d.create
	if d.readOnly != "" {
		open = d.existing
	}
	store, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	run, err := d.start(ctx, s, log, store, dir)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	running, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	background.Go(func() { run(running) })
	return func() error {
		stop()
		background.Wait()
		if err := store.Close(); err != nil {
			return fmt.Errorf("close the data in %s: %w", redacted(dir), err)
		}
		return nil
	}, nil
}

// start replays the event log and registers the features. run runs their workers.
func (d *Data) start(ctx context.Context, s *mcp.Server, log *slog.Logger, store app.Store, dir string) (run func(context.Context), err error) {
	a, err := d.app(ctx, store, app.Options{Logger: log, ReadOnly: d.readOnly, NoSnapshot: d.snapshot == "off", NoNewSnapshot: d.snapshot == ""})
	if err != nil {
		return nil, err
	}
	a.SnapshotDue(ctx)
	if err := appmcp.Register(s, a, d.options, d.features...); err != nil {
		return nil, err
	}
	events, err := store.Last(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	d.running = a
	log.Info("opened data", "folder", redacted(dir), "events", events)
	if d.readOnly != "" {
		log.Info("read-only: commands are refused, workers do not run", "reason", d.readOnly)
	}
	return a.Run, nil
}

// app opens the features on a store.
func (d *Data) app(ctx context.Context, store app.Store, o app.Options) (*app.App, error) {
	return app.Open(ctx, store, d.with(o), d.appFeatures()...)
}

// admin returns the Admin of a store.
func (d *Data) admin(store app.Store) *app.Admin {
	return app.NewAdmin(store, d.with(app.Options{NoWorkers: true}), d.appFeatures()...)
}

// with returns o with the options that all apps of the program have.
func (d *Data) with(o app.Options) app.Options {
	o.Program, o.Actor, o.Cause, o.OnStale, o.Fingerprint, o.Skip = d.program, appmcp.Actor, appmcp.Cause, appmcp.OnStale, d.fingerprint(), d.skipped
	return o
}

// fingerprint returns [app.Options].Fingerprint from the environment variable that petrock dev
// sets: the stamp of this executable, and NAME=FINGERPRINT of each feature. It is nil without the
// variable, or if a process of another build inherited it: an executable with the same size and
// the same modification time, in nanoseconds, is a copy.
func (d *Data) fingerprint() func(feature string) string {
	fields := strings.Fields(os.Getenv(project.Variable(d.program, "features")))
	if len(fields) == 0 {
		return nil
	}
	executable, err := os.Executable()
	if err != nil {
		return nil
	}
	if stamp, err := project.Stamp(executable); err != nil || stamp != fields[0] {
		return nil
	}
	return func(feature string) string {
		for _, field := range fields[1:] {
			if name, fingerprint, _ := strings.Cut(field, "="); name == feature {
				return fingerprint
			}
		}
		return ""
	}
}

// appFeatures returns the features without their tools.
func (d *Data) appFeatures() []app.Feature {
	var features []app.Feature
	for _, f := range d.features {
		features = append(features, f.Feature)
	}
	return features
}

// fileName is the name of the event log in the data folder.
const fileName = "log.db"

// create opens the event log in a folder, and creates both if needed.
func (d *Data) create(ctx context.Context, dir string) (app.Store, error) {
	limitMemory()
	if isURL(dir) {
		return d.openURL(ctx, dir, app.OpenOrCreate)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data folder %s: %w; %s", dir, err, d.dirHint())
	}
	return d.open(ctx, filepath.Join(dir, fileName))
}

// withStore calls f with the event log, which must exist.
func (d *Data) withStore(ctx context.Context, f func(store app.Store) error) error {
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

// existing opens the event log in a folder, which must exist.
func (d *Data) existing(ctx context.Context, dir string) (app.Store, error) {
	limitMemory()
	if isURL(dir) {
		return d.openURL(ctx, dir, app.OpenExisting)
	}
	file := filepath.Join(dir, fileName)
	_, lockErr := os.Stat(file + ".lock")
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist) && lockErr == nil: // events are lost; open returns the error
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

func (d *Data) open(ctx context.Context, file string) (app.Store, error) {
	store, err := sqlite.Open(ctx, file)
	switch {
	case errors.Is(err, app.ErrFull):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w; if the data is elsewhere, %s", err, d.dirHint())
	}
	return store, nil
}

// isURL reports whether the data is in a PostgreSQL database and not in a folder.
func isURL(data string) bool {
	return strings.HasPrefix(data, "postgres://") || strings.HasPrefix(data, "postgresql://")
}

// openURL opens the event log in a database.
func (d *Data) openURL(ctx context.Context, address string, mode app.OpenMode) (app.Store, error) {
	if d.postgres == nil {
		return nil, fmt.Errorf("open %s: this program cannot use PostgreSQL; run  petrock add postgres  in its project, and build it again", redacted(address))
	}
	store, err := d.postgres(ctx, address, d.program, mode)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, app.ErrUnavailable): // not the socket of the database
		return nil, noDataError(fmt.Sprintf("no data in %s: %s has not run with it yet; if the data is elsewhere, use --data URL or set %s", redacted(address), d.program, d.variable()))
	case errors.Is(err, app.ErrFull):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w; if the data is elsewhere, use --data URL or set %s", err, d.variable())
	}
	return store, nil
}

// A noDataError says that there is no event log yet. It matches [fs.ErrNotExist], and has an exit code
// of its own.
type noDataError string

func (e noDataError) Error() string        { return string(e) }
func (e noDataError) Is(target error) bool { return target == fs.ErrNotExist }
func (e noDataError) ExitStatus() int      { return terminal.ExitNoData }

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

// amendedType is the type of events that amend others.
const amendedType = "app/amended"

// note returns the amendment of an event as text, for the end of its line.
func (e shownEvent) note() string {
	if e.Amendment == nil {
		return ""
	}
	how := describe(*e.Amendment, false)
	if restores(*e.Amendment, e.Record) {
		how = "restored"
	}
	return "  (" + withReason(how, *e.Amendment) + ")"
}

// causeNote returns the event that a worker handled as text, for the end of a line.
func (e shownEvent) causeNote() string {
	var cause app.Cause
	if e.Cause == nil || json.Unmarshal(e.Cause, &cause) != nil || cause.Event == 0 {
		return ""
	}
	return fmt.Sprintf("  (by event %d)", cause.Event)
}

// text returns the data of an event, or the description of an amendment.
func (e shownEvent) text() string {
	var set app.Amended
	if e.Type != amendedType || json.Unmarshal(e.Data, &set) != nil {
		return string(e.Data)
	}
	return withReason(describeEvents(set)+" "+describe(set.Amendment, set.Fallback), set.Amendment)
}

// describeEvents names the events of a set, with a verb.
func describeEvents(set app.Amended) string {
	if set.Events() == 1 {
		return fmt.Sprintf("event %d is", set.Seq)
	}
	return fmt.Sprintf("%d events from %d to %d are", set.Events(), set.Seq, set.Last)
}

// withReason adds the reason of an amendment, if it has one, to its description.
func withReason(text string, am app.Amendment) string {
	if am.Reason == "" {
		return text
	}
	return text + ": " + shorten(am.Reason, 300)
}

// describe returns how an amended event is read, by all builds, or only by those that cannot read
// the event otherwise.
func describe(am app.Amendment, isFallback bool) string {
	switch {
	case am.Erased && am.By != "":
		return "erased by " + shorten(am.By, 60)
	case am.Erased:
		return "erased"
	case am.Skip:
		return "skipped"
	case isFallback:
		return fmt.Sprintf("read as %s, version %d, by older builds", shorten(am.Type, 60), am.Version)
	case am.Type == "":
		return "changed"
	}
	return "read as " + shorten(am.Type, 60)
}
