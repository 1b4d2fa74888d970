package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
)

// An Admin inspects and repairs an event log. Use it in command-line tools and scripts, not in
// servers: it needs no running [App], and works on a log that stops the server at startup. The
// commands of package appserve (log, workers, replay, backup, restore) use it.
//
// Servers of other processes can keep running: they notice changes and rebuild their states. In the
// same process, an App must not use the Store at the same time.
//
//   - An event cannot be applied, or was a mistake: [Admin.Amend] skips it or reads it as another
//     command. [Admin.TryAmend] tries that first.
//   - The content of events must be deleted, for example personal data: [Admin.Erase].
//   - An older build must read events of a newer one: [Admin.Downgrade].
//   - A worker has set events aside, or cannot read its saved fields: [Admin.Retry] and
//     [Admin.ResetWorker].
//   - The log must be moved or verified: [Admin.WriteBackup], [Admin.Copy], [Admin.Digest] and
//     [Admin.Replay].
type Admin struct {
	store    eventlog.Store
	o        Options
	features []Feature
}

// NewAdmin returns an Admin of a log. It does not read the log. The options and features are those
// of the server, for methods that replay or decode events.
func NewAdmin(store eventlog.Store, o Options, features ...Feature) *Admin {
	return &Admin{store, o, features}
}

// Find returns an event.
func (a *Admin) Find(ctx context.Context, seq int64) (eventlog.Record, error) {
	return findRecord(ctx, a.store, seq)
}

// FindAmendment returns the amendment of an event; nil if it has none.
func (a *Admin) FindAmendment(ctx context.Context, seq int64) (*Amendment, error) {
	return newAmendmentReader(storeReader{ctx, a.store}, amendments.Index{Last: seq}, true).Of(seq)
}

// Amendments returns a reader of all amendments. The caller closes it.
func (a *Admin) Amendments(ctx context.Context) (*AmendmentReader, error) {
	v := storeReader{ctx, a.store}
	index, err := amendments.ReadIndex(v)
	return newAmendmentReader(v, index, false), err
}

// WorkerNames returns the names of the workers of the features, such as posts/digest.
func (a *Admin) WorkerNames() (names []string) {
	for _, f := range a.features {
		for _, w := range f.Workers {
			names = append(names, f.Name+"/"+w.name)
		}
	}
	return names
}

// Workers returns the status of all workers that ever ran on the log. Positions can lag for workers
// that ignore most events.
func (a *Admin) Workers(ctx context.Context) ([]WorkerStatus, error) {
	return readWorkers(ctx, a.store)
}

// Retry asks a worker to retry an event that it has set aside. The process that runs the worker
// picks up the request.
func (a *Admin) Retry(ctx context.Context, worker string, seq int64) error {
	return a.store.Write(ctx, func(tx eventlog.Tx) error {
		aside, err := tx.Get(asideDocument(worker, seq))
		if err != nil {
			return err
		}
		if aside == nil {
			return fmt.Errorf("worker %s has not set event %d aside", worker, seq)
		}
		return tx.Put(retryDocument(worker, seq), []byte("true"))
	})
}

// ResetWorker discards the saved fields of a worker, and returns them. It keeps the position in the
// log. It fails while a process runs the worker.
func (a *Admin) ResetWorker(ctx context.Context, worker string) (discarded json.RawMessage, err error) {
	err = a.store.Write(ctx, func(tx eventlog.Tx) error {
		document, err := tx.Get(workerDocument(worker))
		if err != nil {
			return err
		}
		if document == nil {
			return fmt.Errorf("reset worker %s: the worker has never run on this data", worker)
		}
		now, err := readProgress(tx, worker)
		if err != nil {
			return err
		}
		if !now.isFree("", time.Now()) {
			return fmt.Errorf("reset worker %s: process %s runs the worker; stop the process first", worker, now.Owner)
		}
		discarded, now.State = now.State, nil
		return now.put(tx, worker)
	})
	return discarded, err
}
