// Package appserve adds the features of a server to its command line: the commands log, workers,
// try, replay, backup and restore, and the flags --data, --snapshot (of mcp and serve),
// --app-resources (of serve), and --as (of mcp, call, read and prompt).
package appserve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
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
	as       string // value of --as
	postgres openPostgres
	running  *app.App // set by Open
	trial    *trial   // of the command try; nil for others

	openServer func(context.Context, *slog.Logger, bool) (*mcp.Server, func() error, error) // of the program; set by SetOpen
}

// openPostgres opens the event log in a schema of a database. If the URL does not name the schema,
// it is defaultSchema.
type openPostgres func(ctx context.Context, url, defaultSchema string, mode eventlog.OpenMode) (eventlog.Store, error)

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
func WithPostgres[S eventlog.Store](d *Data, open func(ctx context.Context, url, defaultSchema string, mode eventlog.OpenMode) (S, error)) *Data {
	d.postgres = func(ctx context.Context, url, defaultSchema string, mode eventlog.OpenMode) (eventlog.Store, error) {
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

// Flags adds --data to a command and its subcommands, --snapshot to mcp and serve, --app-resources
// to serve, and --as to commands whose calls have the local user as actor.
func (d *Data) Flags(cmd *cobra.Command) {
	switch cmd.Name() {
	case "mcp", "call", "read", "prompt":
		cmd.Flags().StringVar(&d.as, "as", "", "call as this `ACTOR` instead of the local user, such as local:bob, to test what other callers may do")
	}
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

// Commands returns log, workers, try, replay, backup and restore, and agent, which is hidden.
func (d *Data) Commands() []*cobra.Command {
	all := []*cobra.Command{d.newLog(), d.newWorkers(), d.newTry(), d.newReplay(), d.newBackup(), d.newRestoreBackup(), d.newAgent()}
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
	if err := checkActor(d.as); err != nil {
		return nil, terminal.Usagef("--as: %w", err)
	}
	if d.trial != nil {
		return func() error { return nil }, d.openTrial(ctx, s, log)
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
func (d *Data) start(ctx context.Context, s *mcp.Server, log *slog.Logger, store eventlog.Store, dir string) (run func(context.Context), err error) {
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
func (d *Data) app(ctx context.Context, store eventlog.Store, o app.Options) (*app.App, error) {
	return app.Open(ctx, store, d.with(o), d.appFeatures()...)
}

// admin returns the Admin of a store.
func (d *Data) admin(store eventlog.Store) *app.Admin {
	return app.NewAdmin(store, d.with(app.Options{NoWorkers: true}), d.appFeatures()...)
}

// with returns o with the options that all apps of the program have.
func (d *Data) with(o app.Options) app.Options {
	o.Program, o.Actor, o.Cause, o.OnStale, o.Fingerprint, o.Skip = d.program, appmcp.ActorOf(d.as), appmcp.Cause, appmcp.OnStale, d.fingerprint(), d.skipped
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
