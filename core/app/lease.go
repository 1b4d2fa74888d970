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

// A process renews the lease of its worker three times before it expires. If it does not, another
// process takes over.
const (
	lease = 15 * time.Second
	renew = lease / 3
)

// A standing is the stored progress and lease of a worker.
type standing struct {
	Position int64           `json:"position"`         // all events up to it are done
	Trying   int64           `json:"trying,omitempty"` // the event that was begun and is not done
	Tries    int             `json:"tries,omitempty"`  // number of tries
	Error    string          `json:"error,omitempty"`  // of the last try
	Ticked   []time.Time     `json:"ticked,omitempty"` // when each period was last done
	Ticks    []int64         `json:"ticks,omitempty"`  // how often each period was done
	State    json.RawMessage `json:"state,omitempty"`  // the worker's exported fields
	Owner    string          `json:"owner,omitempty"`  // the process that runs it
	Until    time.Time       `json:"until,omitzero"`   // when the lease expires
}

// errLost means that another process has the lease of the worker now.
var errLost = errors.New("another process runs it now")

// processName returns a name of this process that no other process has or had.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text()[:6])
}

// workerName and asideName are the names of documents.
func workerName(worker string) string { return "worker/" + worker }
func asideName(worker string, seq int64) string {
	return fmt.Sprintf("aside/%s/%019d", worker, seq)
}
func retryName(worker string, seq int64) string {
	return fmt.Sprintf("retry/%s/%019d", worker, seq)
}

// readStanding reads the standing of a worker.
func readStanding(from interface{ Get(string) ([]byte, error) }, worker string) (s standing, err error) {
	document, err := from.Get(workerName(worker))
	if err != nil || document == nil {
		return s, err
	}
	if err := json.Unmarshal(document, &s); err != nil {
		return s, fmt.Errorf("reading the standing of worker %s: %w", worker, err)
	}
	return s, nil
}

func (s standing) put(tx Tx, worker string) error {
	document, err := strictjson.Marshal(s)
	if err != nil {
		return err
	}
	return tx.Put(workerName(worker), document)
}

// checkFields returns an error for a worker whose saved fields do not fit its type.
func (a *App) checkFields(ctx context.Context) error {
	var errs []error
	for _, f := range a.features {
		for _, w := range f.Workers {
			name := f.Name + "/" + w.name
			s, err := readStanding(reading{ctx, a.store}, name)
			if err == nil && s.State != nil {
				err = a.restoreFields(name, w, s.State, reflect.New(w.fields.kind).Interface())
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// ResetWorker discards the saved fields of a worker, and returns them. Its position in the log
// stays. It refuses while a process runs the worker.
func ResetWorker(ctx context.Context, s Store, worker string) (discarded json.RawMessage, err error) {
	err = s.Write(ctx, func(tx Tx) error {
		document, err := tx.Get(workerName(worker))
		if err != nil {
			return err
		}
		if document == nil {
			return fmt.Errorf("reset worker %s: it has never run on this data", worker)
		}
		now, err := readStanding(tx, worker)
		if err != nil {
			return err
		}
		if !now.isFree("", time.Now()) {
			return fmt.Errorf("reset worker %s: process %s runs it; stop that first", worker, now.Owner)
		}
		discarded, now.State = now.State, nil
		return now.put(tx, worker)
	})
	return discarded, err
}

// enrol saves the starting position of new workers, so that they miss no event from here on, even
// if this process dies.
func (a *App) enrol(ctx context.Context) error {
	var begin map[string]standing
	a.mu.RLock()
	at := a.at
	a.mu.RUnlock()
	for _, f := range a.features {
		for _, w := range f.Workers {
			name := f.Name + "/" + w.name
			document, err := a.store.Get(ctx, workerName(name))
			if err != nil {
				return err
			}
			if document != nil {
				continue
			}
			if begin == nil {
				begin = map[string]standing{}
			}
			if begin[name] = (standing{Position: at}); w.start {
				begin[name] = standing{}
			}
		}
	}
	if begin == nil {
		return nil
	}
	return a.store.Write(ctx, func(tx Tx) error {
		for name, s := range begin {
			if document, err := tx.Get(workerName(name)); err != nil || document != nil {
				if err != nil {
					return err
				}
				continue
			}
			if err := s.put(tx, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// isFree reports whether a process may take the lease of the worker. A lease that is longer than
// any that is granted means that the clock was set back: its owner, if alive, renews it soon.
func (s standing) isFree(process string, now time.Time) bool {
	left := s.Until.Sub(now)
	return s.Owner == "" || s.Owner == process || left < 0 || left > 2*lease
}

// acquire takes the lease of a worker, unless another process has it.
func (a *App) acquire(ctx context.Context, worker string) (s standing, ok bool, err error) {
	if s, err = readStanding(reading{ctx, a.store}, worker); err != nil || !s.isFree(a.process, a.o.Now()) {
		return s, false, err
	}
	err = a.store.Write(ctx, func(tx Tx) error {
		if s, err = readStanding(tx, worker); err != nil {
			return err
		}
		if ok = s.isFree(a.process, a.o.Now()); !ok {
			return nil
		}
		s.Owner, s.Until = a.process, storable(a.o.Now().Add(lease))
		return s.put(tx, worker)
	})
	return s, ok && err == nil, err
}

// save saves the standing of a worker together with the changes of more, and renews the lease. It
// returns errLost if another process has the lease.
func (a *App) save(ctx context.Context, worker string, s *standing, more func(Tx) error) error {
	return a.store.Write(ctx, func(tx Tx) error {
		now, err := readStanding(tx, worker)
		if err != nil {
			return err
		}
		if now.Owner != a.process {
			return errLost
		}
		s.Owner, s.Until = a.process, storable(a.o.Now().Add(lease))
		if more != nil {
			if err := more(tx); err != nil {
				return err
			}
		}
		return s.put(tx, worker)
	})
}

// release releases the lease, so that another process need not wait for it to expire.
func (a *App) release(ctx context.Context, worker string, s standing) error {
	err := a.store.Write(ctx, func(tx Tx) error {
		now, err := readStanding(tx, worker)
		if err != nil || now.Owner != a.process {
			return err
		}
		s.Owner, s.Until = "", time.Time{}
		return s.put(tx, worker)
	})
	return err
}
