// Package appserve is the command line of the features of a server: the commands log, workers, replay and backup, and the flag --data.
package appserve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/appmcp"
	"github.com/petrock/petrock/core/mcp"
)

// Data is the event log of a server's features. It implements serve.Extension.
type Data struct {
	program  string
	features []appmcp.Feature
	dir      string // what --data says
}

// New returns the data of a program with these features.
func New(program string, features ...appmcp.Feature) *Data {
	return &Data{program: program, features: features}
}

// Flags adds --data to a command and its subcommands.
func (d *Data) Flags(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&d.dir, "data", "", "data folder (default $"+d.variable()+", or data in the project, or the user's data folder)")
	_ = cmd.MarkPersistentFlagDirname("data") // the flag exists
}

// Commands returns log, workers, replay and backup.
func (d *Data) Commands() []*cobra.Command {
	all := []*cobra.Command{d.newLog(), d.newWorkers(), d.newReplay(), d.newBackup()}
	for _, cmd := range all {
		d.Flags(cmd)
	}
	return all
}

// Open opens or creates the event log, replays it, registers the features on s, and runs their workers. end stops the workers and
// closes the event log.
func (d *Data) Open(ctx context.Context, s *mcp.Server, log *slog.Logger) (end func() error, err error) {
	dir, err := d.folder()
	if err != nil {
		return nil, err
	}
	store, err := d.make(ctx, dir)
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
			return fmt.Errorf("closing the data in %s: %w", dir, err)
		}
		return nil
	}, nil
}

// start replays the event log and registers the features. run runs their workers.
func (d *Data) start(ctx context.Context, s *mcp.Server, log *slog.Logger, store *sqlite.Store, dir string) (run func(context.Context), err error) {
	a, err := d.app(ctx, store, app.Options{Logger: log})
	if err != nil {
		return nil, err
	}
	if err := appmcp.Register(s, a, store, d.features...); err != nil {
		return nil, err
	}
	entries, err := store.Last(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	log.Info("data", "folder", dir, "entries", entries)
	return a.Run, nil
}

// app opens the features on a store.
func (d *Data) app(ctx context.Context, store app.Store, o app.Options) (*app.App, error) {
	o.Program = d.program
	return app.Open(ctx, store, o, d.plain()...)
}

// plain returns the features without their tools.
func (d *Data) plain() []app.Feature {
	var features []app.Feature
	for _, f := range d.features {
		features = append(features, f.Feature)
	}
	return features
}
