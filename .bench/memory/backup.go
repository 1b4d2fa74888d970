package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// created is the [eventlog.View] of a log with this number of created items.
type created int64

func (n created) Records(after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for seq := after + 1; seq <= int64(n); seq++ {
			r := eventlog.Record{
				Seq: seq, ID: fmt.Sprintf("%016d", seq*7919), Time: first.Add(time.Duration(seq) * 1234567 * time.Microsecond), Actor: "local:memory",
				Type: "items/create", Version: 1,
				Data: fmt.Appendf(nil, `{"title":"item number %d of the backup","note":"a note of a sentence about item %d","count":%d}`, seq, seq, seq%100),
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (created) Get(string) ([]byte, error)     { return nil, nil }
func (created) Names(string) ([]string, error) { return nil, nil }
func (created) Documents(string, string) iter.Seq2[eventlog.Document, error] {
	return func(func(eventlog.Document, error) bool) {}
}

// writeBackup writes a backup with a number of items.
func writeBackup(path string, items int64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := app.NewAdmin(nil, app.Options{Program: "hello"}).WriteBackup(context.Background(), file, created(items)); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
