package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A process that runs a worker renews its lease. After the lease expires, another process takes over.
const (
	leaseDuration = 15 * time.Second
	renewInterval = leaseDuration / 3
)

// A progress is the stored progress and lease of a worker.
type progress struct {
	Position   int64           `json:"position"`         // last event that was handled
	Trying     int64           `json:"trying,omitempty"` // event that is being handled
	Tries      int             `json:"tries,omitempty"`  // number of tries so far
	Error      string          `json:"error,omitempty"`  // of the last try
	LastTick   []time.Time     `json:"ticked,omitempty"` // last tick of each periodic method
	TickNumber []int64         `json:"ticks,omitempty"`  // number of the last tick of each periodic method
	State      json.RawMessage `json:"state,omitempty"`  // the worker's exported fields
	Owner      string          `json:"owner,omitempty"`  // the process that runs it
	Until      time.Time       `json:"until,omitzero"`   // when the lease expires
}

// errLost means that another process has the lease of the worker now.
var errLost = errors.New("another process runs the worker")

// processName returns a unique name of this process.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text()[:6])
}

// Names of documents.
func workerDocument(worker string) string { return "worker/" + worker }
func asideDocument(worker string, seq int64) string {
	return fmt.Sprintf("aside/%s/%019d", worker, seq)
}
func retryDocument(worker string, seq int64) string {
	return fmt.Sprintf("retry/%s/%019d", worker, seq)
}

func readProgress(from interface{ Get(string) ([]byte, error) }, worker string) (s progress, err error) {
	document, err := from.Get(workerDocument(worker))
	if err != nil || document == nil {
		return s, err
	}
	if err := json.Unmarshal(document, &s); err != nil {
		return s, fmt.Errorf("read progress of worker %s: %w", worker, err)
	}
	return s, nil
}

func (s progress) put(tx Tx, worker string) error {
	document, err := strictjson.Marshal(s)
	if err != nil {
		return err
	}
	return tx.Put(workerDocument(worker), document)
}

// checkFields returns an error for each worker whose saved fields do not match its type.
func (a *App) checkFields(ctx context.Context) error {
	var errs []error
	for _, f := range a.features {
		for _, w := range f.Workers {
			name := f.Name + "/" + w.name
			s, err := readProgress(storeReader{ctx, a.store}, name)
			if err == nil && s.State != nil {
				err = a.restoreFields(name, w, s.State, reflect.New(w.fields.kind).Interface())
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// ResetWorker discards the saved fields of a worker, and returns them. It keeps the position in the
// log. It fails while a process runs the worker.
func ResetWorker(ctx context.Context, s Store, worker string) (discarded json.RawMessage, err error) {
	err = s.Write(ctx, func(tx Tx) error {
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

// initWorkers saves the starting position of new workers, so that they miss no event from now on, even
// if this process dies.
func (a *App) initWorkers(ctx context.Context) error {
	initial := map[string]progress{}
	a.mu.RLock()
	seq := a.seq
	a.mu.RUnlock()
	for _, f := range a.features {
		for _, w := range f.Workers {
			name := f.Name + "/" + w.name
			document, err := a.store.Get(ctx, workerDocument(name))
			if err != nil {
				return err
			}
			switch {
			case document != nil:
			case w.fromStart:
				initial[name] = progress{}
			default:
				initial[name] = progress{Position: seq}
			}
		}
	}
	if len(initial) == 0 {
		return nil
	}
	return a.store.Write(ctx, func(tx Tx) error {
		for name, s := range initial {
			document, err := tx.Get(workerDocument(name))
			if err == nil && document == nil {
				err = s.put(tx, name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// isFree reports whether a process may take the lease of the worker. A lease that ends too far in the
// future counts as free: the clock was set back, and its owner, if alive, renews it soon.
func (s progress) isFree(process string, now time.Time) bool {
	left := s.Until.Sub(now)
	return s.Owner == "" || s.Owner == process || left < 0 || left > 2*leaseDuration
}

// acquire takes the lease of a worker, unless another process has it.
func (a *App) acquire(ctx context.Context, worker string) (s progress, ok bool, err error) {
	if s, err = readProgress(storeReader{ctx, a.store}, worker); err != nil || !s.isFree(a.process, a.o.Now()) {
		return s, false, err
	}
	err = a.store.Write(ctx, func(tx Tx) error {
		if s, err = readProgress(tx, worker); err != nil {
			return err
		}
		if ok = s.isFree(a.process, a.o.Now()); !ok {
			return nil
		}
		s.Owner, s.Until = a.process, storable(a.o.Now().Add(leaseDuration))
		return s.put(tx, worker)
	})
	return s, ok && err == nil, err
}

// saveProgress saves the progress of a worker, renews the lease, and calls more, in one transaction.
// It returns errLost if another process has the lease.
func (a *App) saveProgress(ctx context.Context, worker string, s *progress, more func(Tx) error) error {
	return a.store.Write(ctx, func(tx Tx) error {
		now, err := readProgress(tx, worker)
		if err != nil {
			return err
		}
		if now.Owner != a.process {
			return errLost
		}
		s.Owner, s.Until = a.process, storable(a.o.Now().Add(leaseDuration))
		if more != nil {
			if err := more(tx); err != nil {
				return err
			}
		}
		return s.put(tx, worker)
	})
}

// release releases the lease, so that another process can take over without waiting.
func (a *App) release(ctx context.Context, worker string, s progress) error {
	return a.store.Write(ctx, func(tx Tx) error {
		now, err := readProgress(tx, worker)
		if err != nil || now.Owner != a.process {
			return err
		}
		s.Owner, s.Until = "", time.Time{}
		return s.put(tx, worker)
	})
}
