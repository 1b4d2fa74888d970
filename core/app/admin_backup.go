package app

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/statestream"
)

// WriteBackup writes the events and documents of a view of the store to out, without snapshots, and
// returns the number of events.
func (a *Admin) WriteBackup(ctx context.Context, out io.Writer, v eventlog.View) (events int64, err error) {
	zip := gzip.NewWriter(out)
	write := func(line []byte) error {
		_, err := zip.Write(line)
		return cmp.Or(err, ctx.Err())
	}
	head, err := encodeLine(backupLine{Backup: &backupHead{backupVersion, a.o.Program, storable(time.Now())}})
	if err != nil {
		return 0, err
	}
	if err := write(head); err != nil {
		return 0, err
	}
	end, err := encodeView(v, write)
	if err != nil {
		return 0, err
	}
	last, err := encodeLine(backupLine{End: &end})
	if err != nil {
		return 0, err
	}
	return end.Events, errors.Join(write(last), zip.Close())
}

// Copy copies the events and documents of a view, such as a [Backup], without snapshots, to the
// store, which must have no events. It compares both by their digests, and commits only if they are
// equal. A failed Copy changes nothing.
func (a *Admin) Copy(ctx context.Context, from eventlog.View) (Digest, error) {
	want, err := a.Digest(ctx, from)
	if err != nil {
		return want, err
	}
	runtime.GC() // one state at a time
	return want, a.store.Write(ctx, func(tx eventlog.Tx) error {
		if err := copyView(ctx, tx, from); err != nil {
			return err
		}
		got, err := a.Digest(ctx, tx)
		if err == nil && got != want {
			err = errors.New("the copy differs from its source; nothing was copied")
		}
		return err
	})
}

// ErrNotEmpty means that the target of a copy has events.
var ErrNotEmpty = errors.New("the log has events")

func copyView(ctx context.Context, tx eventlog.Tx, from eventlog.View) error {
	for _, err := range tx.Records(0) {
		return cmp.Or(err, ErrNotEmpty)
	}
	for old, err := range keptDocuments(tx) { // such as the positions of new workers
		if err == nil {
			err = tx.Put(old.Name, nil)
		}
		if err != nil {
			return err
		}
	}
	for d, err := range keptDocuments(from) {
		if err == nil {
			err = tx.Put(d.Name, d.Value)
		}
		if err != nil {
			return err
		}
	}
	for r, err := range from.Records(0) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = tx.Append(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A Digest identifies the content of a store. Digests of the same build can be compared.
type Digest struct {
	Events  int64
	content string // hash of the events and documents
	states  string // hash of the states after replay

	// Unreplayed is the reason if the states are unknown: an event cannot be applied.
	Unreplayed string
}

// Digest returns the digest of a view, for example of a backup. It replays the log without
// snapshots.
func (a *Admin) Digest(ctx context.Context, v eventlog.View) (Digest, error) {
	end, err := encodeView(v, func([]byte) error { return ctx.Err() })
	if err != nil {
		return Digest{}, err
	}
	d := Digest{Events: end.Events, content: end.SHA256}
	replayed, err := Open(ctx, viewStore{v}, a.o.toReplay(), a.features...)
	if stuck, ok := errors.AsType[*StuckError](err); ok {
		d.Unreplayed = fmt.Sprintf("event %d cannot be applied", stuck.Record.Seq)
		return d, nil
	}
	if err != nil {
		return d, err
	}
	sum := sha256.New()
	for _, f := range replayed.features {
		io.WriteString(sum, f.Name+"\n")
		if err := statestream.Write(sum, f.state); err != nil {
			d.Unreplayed = fmt.Sprintf("encode the state of %s: %v", f.Name, err)
			return d, nil
		}
	}
	d.states = hex.EncodeToString(sum.Sum(nil))
	return d, nil
}
