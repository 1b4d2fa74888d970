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

// Data is the log of a program's features. It is an extension of the server.
type Data struct {
	program  string
	features []appmcp.Feature
	dir      string // what --data says
}

// New is the data of a program that has these features.
func New(program string, features ...appmcp.Feature) *Data {
	return &Data{program: program, features: features}
}

// Flags adds --data, for the command and those below it.
func (d *Data) Flags(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&d.dir, "data", "", "folder of the data, instead of "+d.variable()+" or the usual one")
	_ = cmd.MarkPersistentFlagDirname("data") // the flag is there
}

// Commands are log, workers, replay and backup.
func (d *Data) Commands() []*cobra.Command {
	all := []*cobra.Command{d.newLog(), d.newWorkers(), d.newReplay(), d.newBackup()}
	for _, cmd := range all {
		d.Flags(cmd)
	}
	return all
}

// Open brings the features up to date with the log, which is made if there is none, offers them on s, and has their workers run. end
// stops them and closes the log. What goes on is told to log.
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

// start replays the log and offers the features. It returns what is to run beside them.
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

// app is the features on a store.
func (d *Data) app(ctx context.Context, store app.Store, o app.Options) (*app.App, error) {
	o.Program = d.program
	return app.Open(ctx, store, o, d.plain()...)
}

// plain is the features without what they offer.
func (d *Data) plain() []app.Feature {
	var features []app.Feature
	for _, f := range d.features {
		features = append(features, f.Feature)
	}
	return features
}
