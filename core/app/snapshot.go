package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A snapshotHead is the first line of a snapshot. The state follows as JSON on the second line, and
// the checksum of both on the third.
type snapshotHead struct {
	Seq         int64     `json:"seq"` // of the last event in it
	ID          string    `json:"id"`  // of that event
	Fingerprint string    `json:"fingerprint"`
	Amended     string    `json:"amended"` // hash of the amendments that are in it
	Time        time.Time `json:"time"`
}

// snapshotPrefix returns the start of the names of a feature's snapshots.
func snapshotPrefix(f *feature) string { return "snapshot/" + f.Name + "/" }

// fingerprint returns the fingerprint of the code, empty if it is not known.
func (a *App) fingerprint() string {
	a.mark.Do(func() {
		if a.marked = a.o.Fingerprint; a.marked == "" {
			var err error
			if a.marked, err = programFingerprint(); err != nil {
				a.o.Logger.Warn("no snapshots without a fingerprint", "error", err)
			}
		}
	})
	return a.marked
}

// restore loads the state of a feature from its snapshot, if there is one that fits. If not, the
// whole log is replayed.
func (a *App) restore(from source, f *feature) {
	if snapshottable(f.State.kind) != nil || a.fingerprint() == "" {
		return
	}
	head, state, err := a.readSnapshot(from, f)
	if err != nil {
		a.o.Logger.Warn("snapshot ignored; the log is replayed from the start", "feature", f.Name, "error", err)
	}
	if state != nil {
		f.state, f.from, f.snapshot = state, head.Seq, head.Seq
	}
}

// errUnused means that a snapshot is intact and outdated.
var errUnused = errors.New("events before it were amended since")

// readSnapshot returns the state of a snapshot, nil if there is none that fits.
func (a *App) readSnapshot(from source, f *feature) (head snapshotHead, state any, err error) {
	defer func() {
		if p := recover(); p != nil {
			state, err = nil, panicked(p)
		}
	}()
	head, text, err := a.storedSnapshot(from, f)
	if err != nil || text == nil {
		if errors.Is(err, errUnused) {
			err = nil
		}
		return head, nil, err
	}
	made := reflect.New(f.State.kind).Interface()
	if err := strictjson.NewExactDecoder(f.State.kind).Decode(text, made); err != nil {
		return head, nil, fmt.Errorf("its state does not fit %v: %w", f.State.kind, err)
	}
	return head, made, nil
}

// storedSnapshot returns the snapshot of a feature that this build has taken, with the state as
// JSON, nil if there is none. It verifies that the snapshot is intact and of this log.
func (a *App) storedSnapshot(from source, f *feature) (head snapshotHead, text []byte, err error) {
	document, err := from.Get(snapshotPrefix(f) + a.fingerprint())
	if err != nil || document == nil {
		return head, nil, err
	}
	end := max(bytes.LastIndexByte(document, '\n'), 0)
	if string(document[end:]) != "\n"+checksum(document[:end]) {
		return head, nil, errors.New("wrong checksum: it was damaged or changed")
	}
	line, text, _ := bytes.Cut(document[:end], []byte("\n"))
	if err := strictjson.NewExactDecoder(reflect.TypeFor[snapshotHead]()).Decode(line, &head); err != nil {
		return head, nil, err
	}
	for r, err := range from.Records(head.Seq - 1) {
		switch {
		case err != nil:
			return head, nil, err
		case head.Fingerprint != a.fingerprint():
			return head, nil, fmt.Errorf("it was taken by another build, %s", head.Fingerprint)
		case r.Seq != head.Seq || r.ID != head.ID:
			return head, nil, fmt.Errorf("it was taken from another log: event %d is %s there, and %s here", head.Seq, head.ID, r.ID)
		case head.Amended != a.amended(head.Seq):
			return head, nil, errUnused
		}
		return head, text, nil
	}
	return head, nil, fmt.Errorf("it was taken from another log, which had an event %d", head.Seq)
}

// checksum returns the checksum of a snapshot.
func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// amended returns a hash of the amendments of the first events.
func (a *App) amended(seq int64) string {
	concerned := map[int64]Amendment{}
	for at, am := range a.amendments {
		if at <= seq {
			concerned[at] = am
		}
	}
	if len(concerned) == 0 {
		return ""
	}
	text, _ := json.Marshal(concerned) // cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// snapshotDue reports whether replay of the events since the last snapshot would take a while. The
// interval grows with the log, so that all snapshots together cost little.
func (a *App) snapshotDue() bool {
	const many = 10_000
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.sound() && slices.ContainsFunc(a.features, func(f *feature) bool {
		return f.stuck == nil && a.at-f.snapshot >= max(many, a.at/10) && snapshottable(f.State.kind) == nil
	})
}

// takeSnapshots takes snapshots when they are due.
func (a *App) takeSnapshots(ctx context.Context) {
	for ctx.Err() == nil {
		grown, _ := a.growth()
		if a.snapshotDue() {
			if err := a.Snapshot(ctx); err != nil && ctx.Err() == nil {
				a.o.Logger.Warn("taking a snapshot", "error", err)
			}
			select { // at most once a minute
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			continue
		}
		select {
		case <-grown:
		case <-ctx.Done():
		}
	}
}

// Snapshot stores the current states, so that a program with the same fingerprint starts faster.
// Commands wait while a state is encoded.
func (a *App) Snapshot(ctx context.Context) error {
	if a.fingerprint() == "" {
		return errors.New("take snapshots: the program's own file cannot be read, so snapshots of other builds could not be recognized")
	}
	var errs []error
	for _, f := range a.features {
		if snapshottable(f.State.kind) != nil {
			continue // the deriver warns about it
		}
		if err := a.snapshot(ctx, f); err != nil {
			errs = append(errs, fmt.Errorf("feature %s: %w", f.Name, err))
		}
	}
	return errors.Join(errs...)
}

// snapshot stores the state of a feature.
func (a *App) snapshot(ctx context.Context, f *feature) error {
	head, text, err := a.written(ctx, f)
	if err != nil || head.ID == "" {
		return err // there is no event, nothing is new since the last snapshot, or it is stuck
	}
	line, err := strictjson.Marshal(head)
	if err != nil {
		return err
	}
	document := bytes.Join([][]byte{line, text}, []byte("\n"))
	document = append(append(document, '\n'), checksum(document)...)
	others, err := a.store.Names(ctx, snapshotPrefix(f))
	if err != nil {
		return err
	}
	name := snapshotPrefix(f) + head.Fingerprint
	err = a.store.Write(ctx, func(tx Tx) error {
		if err := dropSnapshots(tx, others, name); err != nil {
			return err
		}
		return tx.Put(name, document)
	})
	if err == nil {
		a.mu.Lock()
		f.snapshot = head.Seq
		a.mu.Unlock()
	}
	return err
}

// written returns the state of a feature as a snapshot stores it.
func (a *App) written(ctx context.Context, f *feature) (head snapshotHead, text []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encoding its state: %w", panicked(p))
		}
	}()
	encode := func() error {
		if err := a.rlock(ctx); err != nil {
			return err
		}
		defer a.mu.RUnlock()
		if f.stuck != nil {
			return nil // its state is that of an earlier event
		}
		head = snapshotHead{Seq: a.at, ID: a.lastID, Fingerprint: a.fingerprint(), Amended: a.amended(a.at), Time: storable(a.o.Now())}
		text, err = strictjson.Marshal(f.state)
		return err
	}
	if err := encode(); err != nil || head.ID == "" {
		return head, nil, err
	}
	return head, text, survives(f.State.kind, text)
}

// survives returns an error if a state changes when it is encoded and decoded.
func survives(kind reflect.Type, text []byte) error {
	again := reflect.New(kind).Interface()
	if err := strictjson.NewExactDecoder(kind).Decode(text, again); err != nil {
		return err
	}
	written, err := strictjson.Marshal(again)
	if err == nil && !bytes.Equal(text, written) {
		err = errors.New("the state changes when it is encoded as JSON and decoded")
	}
	return err
}

// dropSnapshots removes all snapshots of other builds but the latest, which may still be in use.
func dropSnapshots(tx Tx, names []string, but string) error {
	latest, keep := time.Time{}, ""
	for _, name := range names {
		document, err := tx.Get(name)
		if err != nil {
			return err
		}
		var head snapshotHead
		line, _, _ := bytes.Cut(document, []byte("\n"))
		if json.Unmarshal(line, &head) == nil && name != but && head.Time.After(latest) {
			latest, keep = head.Time, name
		}
	}
	for _, name := range names {
		if name != but && name != keep {
			if err := tx.Put(name, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// snapshottable returns an error if states of a type cannot be stored as JSON.
func snapshottable(t reflect.Type) error { return keepable(t, t.Name(), map[reflect.Type]bool{}) }

// keepable checks a type. JSON has no unexported fields, loses the type of an interface value, and
// with omitempty turns an empty map into a nil one, to which nothing can be added.
func keepable(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	if seen[t] || t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return keepable(t.Elem(), path, seen)
	case reflect.Map:
		return errors.Join(keepable(t.Key(), path, seen), keepable(t.Elem(), path, seen))
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return fmt.Errorf("%s is a %s", path, t.Kind())
	case reflect.Struct:
		for field := range t.Fields() {
			if !field.IsExported() || strings.HasPrefix(field.Tag.Get("json"), "-") {
				return fmt.Errorf("%s.%s is not encoded as JSON", path, field.Name)
			}
			if _, how, _ := strings.Cut(field.Tag.Get("json"), ","); field.Type.Kind() == reflect.Map && slices.Contains(strings.Split(how, ","), "omitempty") {
				return fmt.Errorf("%s.%s becomes nil when it is empty, as JSON leaves it out (remove omitempty)", path, field.Name)
			}
			if err := keepable(field.Type, path+"."+field.Name, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// programFingerprint returns the hash of the running program's file. It changes whenever the code
// changes, in a feature or in its dependencies.
func programFingerprint() (string, error) {
	path, err := "/proc/self/exe", error(nil) // on Linux this is the running program, even if the file was replaced
	if runtime.GOOS != "linux" {
		path, err = os.Executable()
	}
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the program: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("reading the program: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}
