package app

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/panics"
	"github.com/petrock/petrock/core/app/internal/statestream"
	"github.com/petrock/petrock/core/strictjson"
)

// restoreSnapshot loads the state of a feature from its snapshot, if that has at least half of the
// events.
func (a *App) restoreSnapshot(from storeReader, f *feature) {
	if statestream.Check(f.State.kind) != nil || a.fingerprint(f) == "" {
		return
	}
	if err := a.loadSnapshot(from, f); err != nil {
		a.logError(slog.LevelWarn, "snapshot ignored; the log is replayed from the start", err, "feature", f.Name)
	}
}

// errUnused means that a snapshot is intact but outdated.
var errUnused = errors.New("earlier events were amended since")

// loadSnapshot sets the state of a feature, if there is a snapshot to use.
func (a *App) loadSnapshot(from storeReader, f *feature) error {
	for {
		head, ok, err := a.storedSnapshot(from, f)
		if errors.Is(err, errUnused) || err == nil && (!ok || head.Slow) {
			return nil
		}
		if err != nil {
			return err
		}
		last, err := from.store.Last(from.ctx)
		if err != nil || head.Seq < last/2 {
			return err
		}
		state, err := a.decodeSnapshot(from, f, head)
		if err == nil {
			f.state, f.from, f.snapshot, f.locked = state, head.Seq, head.Seq, head.Took
			return nil
		}
		if again, ok, _ := a.storedSnapshot(from, f); !ok || again.Attempt == head.Attempt {
			f.unusable = head.Attempt
			return err
		} // another process has replaced it
	}
}

// decodeSnapshot returns the state in a snapshot.
func (a *App) decodeSnapshot(from storeReader, f *feature, head snapshotHead) (state any, err error) {
	defer func() {
		if p := recover(); p != nil {
			state, err = nil, panics.Error(p)
		}
	}()
	chunks := a.readChunks(from, f, head)
	defer chunks.Close()
	state = reflect.New(f.State.kind).Interface()
	if err := statestream.Read(chunks, state); err != nil {
		if chunks.err != nil {
			return nil, chunks.err
		}
		return nil, fmt.Errorf("state does not fit %v: %w", f.State.kind, err)
	}
	return state, nil
}

// storedSnapshot returns the head of the snapshot that this code of a feature has taken, if there
// is one. It returns an error if the head is damaged, outdated, or of another log.
func (a *App) storedSnapshot(from eventlog.View, f *feature) (head snapshotHead, ok bool, err error) {
	head, ok, err = a.readHead(from, f)
	if err != nil || !ok {
		return head, false, err
	}
	for r, err := range from.Records(head.Seq - 1) {
		switch {
		case err != nil:
			return head, false, err
		case head.Fingerprint != a.fingerprint(f):
			return head, false, fmt.Errorf("snapshot was taken by other code, %s", head.Fingerprint)
		case r.Seq != head.Seq || r.ID != head.ID:
			return head, false, fmt.Errorf("snapshot was taken from another log, in which the id of event %d is %s, not %s", head.Seq, head.ID, r.ID)
		case head.Amended != a.amendments.Hash(head.Seq):
			return head, false, errUnused
		}
		return head, true, nil
	}
	return head, false, fmt.Errorf("snapshot was taken from another log, which has event %d", head.Seq)
}

// readHead returns the head of the snapshot that this code of a feature has taken, if there is one.
func (a *App) readHead(from eventlog.View, f *feature) (head snapshotHead, ok bool, err error) {
	line, err := readSealed(from, a.codePrefix(f)+headName)
	if err != nil || line == nil {
		return head, false, err
	}
	err = (&strictjson.Decoder{Exact: true}).Decode(line, &head)
	return head, err == nil, err
}

// A chunkReader reads the stream in the chunks of a snapshot. A goroutine reads ahead.
type chunkReader struct {
	chunks chan []byte
	stop   chan struct{}
	failed error // of the goroutine; set before chunks is closed

	rest []byte // of the current chunk
	err  error  // failed, once the chunks before it are read
}

func (a *App) readChunks(from eventlog.View, f *feature, head snapshotHead) *chunkReader {
	r := &chunkReader{chunks: make(chan []byte, 2), stop: make(chan struct{})}
	go func() {
		defer close(r.chunks)
		for i := range head.Chunks {
			name := a.codePrefix(f) + chunkName(head.Attempt, i)
			chunk, err := readSealed(from, name)
			if err == nil && chunk == nil {
				err = fmt.Errorf("document %s is missing", name)
			}
			if err != nil {
				r.failed = err
				return
			}
			select {
			case r.chunks <- chunk:
			case <-r.stop:
				return
			}
		}
	}()
	return r
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		chunk, ok := <-r.chunks
		if !ok {
			r.err = r.failed
			return 0, cmp.Or(r.err, io.EOF)
		}
		r.rest = chunk
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close waits until the goroutine has ended.
func (r *chunkReader) Close() error {
	close(r.stop)
	for range r.chunks {
	}
	return nil
}

// readSealed returns the content of a document; nil if it does not exist.
func readSealed(from eventlog.View, name string) ([]byte, error) {
	document, err := from.Get(name)
	if err != nil || document == nil {
		return nil, err
	}
	sum, content, _ := bytes.Cut(document, []byte("\n"))
	if string(sum) != seal(name, content) {
		return nil, fmt.Errorf("document %s: wrong checksum; the snapshot was damaged or changed", name)
	}
	return content, nil
}

// seal returns the checksum of a document.
func seal(name string, content []byte) string {
	sum := sha256.New()
	io.WriteString(sum, name+"\n")
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil))
}
