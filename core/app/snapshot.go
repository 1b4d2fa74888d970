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
	"log/slog"
	"maps"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
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
func snapshotPrefix(f *feature) string { return snapshotsPrefix + f.Name + "/" }

// snapshotsPrefix starts the names of all snapshots.
const snapshotsPrefix = "snapshot/"

// fingerprint identifies the code that decides the state of a feature; empty if it is unknown.
func (a *App) fingerprint(f *feature) string { return a.fingerprints()[f] }

// findFingerprints returns the fingerprints of all features. If any feature has a Map, which
// decides the events that the others get, they all have the fingerprint of all features.
func (a *App) findFingerprints() map[*feature]string {
	program := sync.OnceValue(func() string {
		fingerprint, err := programFingerprint()
		if err != nil {
			a.o.Logger.Warn("snapshots disabled", "error", err)
		}
		return fingerprint
	})
	all, hasMap := map[*feature]string{}, false
	var text []byte
	for _, f := range a.features {
		if a.o.Fingerprint != nil {
			all[f] = a.o.Fingerprint(f.Name)
		}
		if all[f] == "" {
			all[f] = program()
		}
		hasMap = hasMap || f.Map != nil
		text = fmt.Appendln(text, f.Name, all[f])
	}
	if hasMap {
		combined := checksum(text)[:32]
		if slices.Contains(slices.Collect(maps.Values(all)), "") {
			combined = ""
		}
		for f := range all {
			all[f] = combined
		}
	}
	return all
}

// restoreSnapshot loads the state of a feature from its snapshot, if it has a usable one.
func (a *App) restoreSnapshot(from View, f *feature) {
	if checkSnapshottable(f.State.kind) != nil || a.fingerprint(f) == "" {
		return
	}
	head, state, err := a.readSnapshot(from, f)
	if err != nil {
		a.logError(slog.LevelWarn, "snapshot ignored; the log is replayed from the start", err, "feature", f.Name)
	}
	if state != nil {
		f.state, f.from, f.snapshot = state, head.Seq, head.Seq
	}
}

// errUnused means that a snapshot is intact but outdated.
var errUnused = errors.New("earlier events were amended since")

// readSnapshot returns the state of a snapshot; nil if there is no usable one.
func (a *App) readSnapshot(from View, f *feature) (head snapshotHead, state any, err error) {
	defer func() {
		if p := recover(); p != nil {
			state, err = nil, panicError(p)
		}
	}()
	head, text, err := a.storedSnapshot(from, f)
	if err != nil || text == nil {
		if errors.Is(err, errUnused) {
			err = nil
		}
		return head, nil, err
	}
	state = reflect.New(f.State.kind).Interface()
	if err := (&strictjson.Decoder{Exact: true}).Decode(text, state); err != nil {
		return head, nil, fmt.Errorf("state does not fit %v: %w", f.State.kind, err)
	}
	return head, state, nil
}

// storedSnapshot returns the snapshot that this code of a feature has taken, with the state as
// JSON; nil if there is none. It returns an error if the snapshot is damaged, outdated, or of
// another log.
func (a *App) storedSnapshot(from View, f *feature) (head snapshotHead, text []byte, err error) {
	document, err := from.Get(snapshotPrefix(f) + a.fingerprint(f))
	if err != nil || document == nil {
		return head, nil, err
	}
	end := max(bytes.LastIndexByte(document, '\n'), 0)
	if string(document[end:]) != "\n"+checksum(document[:end]) {
		return head, nil, errors.New("wrong checksum; the snapshot was damaged or changed")
	}
	line, text, _ := bytes.Cut(document[:end], []byte("\n"))
	if err := (&strictjson.Decoder{Exact: true}).Decode(line, &head); err != nil {
		return head, nil, err
	}
	for r, err := range from.Records(head.Seq - 1) {
		switch {
		case err != nil:
			return head, nil, err
		case head.Fingerprint != a.fingerprint(f):
			return head, nil, fmt.Errorf("snapshot was taken by other code, %s", head.Fingerprint)
		case r.Seq != head.Seq || r.ID != head.ID:
			return head, nil, fmt.Errorf("snapshot was taken from another log, in which the id of event %d is %s, not %s", head.Seq, head.ID, r.ID)
		case head.Amended != amendmentsHash(a.amendments, head.Seq):
			return head, nil, errUnused
		}
		return head, text, nil
	}
	return head, nil, fmt.Errorf("snapshot was taken from another log, which has event %d", head.Seq)
}

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// amendmentsHash returns a hash of the amendments of events up to seq; empty without amendments.
func amendmentsHash(amendments map[int64]Amendment, seq int64) string {
	included := maps.Clone(amendments)
	maps.DeleteFunc(included, func(at int64, _ Amendment) bool { return at > seq })
	if len(included) == 0 {
		return ""
	}
	text, _ := json.Marshal(included) // cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// snapshotDue reports whether there are many events since the last snapshot. The interval grows with
// the log, so that all snapshots together cost little.
func (a *App) snapshotDue() bool {
	const minEvents = 10_000
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.isValid() && slices.ContainsFunc(a.features, func(f *feature) bool {
		return f.stuck == nil && a.seq-f.snapshot >= max(minEvents, a.seq/10) && checkSnapshottable(f.State.kind) == nil
	})
}

// takeSnapshots takes snapshots when they are due, and keeps the summary of types recent.
func (a *App) takeSnapshots(ctx context.Context) {
	summarized := int64(-summaryInterval)
	for ctx.Err() == nil {
		grown, _ := a.changes()
		summarized = a.summarize(ctx, summarized)
		if a.snapshotDue() {
			if err := a.Snapshot(ctx); err != nil && ctx.Err() == nil {
				a.logError(slog.LevelWarn, "take snapshot", err)
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

// Snapshot stores the current states, so that a program with the same fingerprints starts faster.
// Commands wait while a state is encoded.
func (a *App) Snapshot(ctx context.Context) error {
	if a.o.ReadOnly != "" {
		return fmt.Errorf("take snapshot: the server is read-only: %s", a.o.ReadOnly)
	}
	var errs []error
	for _, f := range a.features {
		if checkSnapshottable(f.State.kind) != nil {
			continue // petrock sync warns about it
		}
		if err := a.snapshot(ctx, f); err != nil {
			errs = append(errs, fmt.Errorf("feature %s: %w", f.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (a *App) snapshot(ctx context.Context, f *feature) error {
	if a.fingerprint(f) == "" {
		return errors.New("take snapshot: the program's own file cannot be read, so its snapshots could not be distinguished from those of other builds")
	}
	head, text, err := a.encodeSnapshot(ctx, f)
	if err != nil || head.ID == "" {
		return err // no event since the last snapshot, or the feature is stuck
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
		amendments, err := readAmendments(tx)
		if err != nil {
			return err
		}
		if head.Amended != amendmentsHash(amendments, head.Seq) {
			return errUnused // an event was amended or erased meanwhile
		}
		if err := dropSnapshots(tx, others, name); err != nil {
			return err
		}
		return tx.Put(name, document)
	})
	switch {
	case err == nil:
		a.mu.Lock()
		f.snapshot = head.Seq
		a.mu.Unlock()
	case errors.Is(err, errUnused):
		err = nil // the next snapshot includes the change
	}
	return err
}

// encodeSnapshot returns the head and the encoded state of a snapshot. Without an ID, there is none.
func (a *App) encodeSnapshot(ctx context.Context, f *feature) (head snapshotHead, text []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encode state: %w", panicError(p))
		}
	}()
	encode := func() error {
		if err := a.lockCurrent(ctx); err != nil {
			return err
		}
		defer a.mu.RUnlock()
		if f.stuck != nil {
			return nil // the state does not include the last events
		}
		head = snapshotHead{Seq: a.seq, ID: a.lastID, Fingerprint: a.fingerprint(f), Amended: amendmentsHash(a.amendments, a.seq), Time: storable(a.o.Now())}
		text, err = strictjson.Marshal(f.state)
		return err
	}
	if err := encode(); err != nil || head.ID == "" {
		return head, nil, err
	}
	return head, text, checkRoundTrip(f.State.kind, text)
}

// checkRoundTrip returns an error if a state changes when it is encoded and decoded.
func checkRoundTrip(kind reflect.Type, text []byte) error {
	state := reflect.New(kind).Interface()
	if err := (&strictjson.Decoder{Exact: true}).Decode(text, state); err != nil {
		return err
	}
	again, err := strictjson.Marshal(state)
	if err == nil && !bytes.Equal(text, again) {
		err = errors.New("the state changes when it is encoded as JSON and decoded")
	}
	return err
}

// dropSnapshots removes the snapshots of other code, except the latest, which may be in use. own is
// the name of this code's snapshot.
func dropSnapshots(tx Tx, names []string, own string) error {
	latest, keep := time.Time{}, ""
	for _, name := range names {
		document, err := tx.Get(name)
		if err != nil {
			return err
		}
		var head snapshotHead
		line, _, _ := bytes.Cut(document, []byte("\n"))
		if json.Unmarshal(line, &head) == nil && name != own && head.Time.After(latest) {
			latest, keep = head.Time, name
		}
	}
	for _, name := range names {
		if name != own && name != keep {
			if err := tx.Put(name, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSnapshottable returns an error if states of a type cannot be stored as JSON.
func checkSnapshottable(t reflect.Type) error {
	return checkEncodable(t, t.Name(), map[reflect.Type]bool{})
}

// checkEncodable returns an error if JSON loses a part of a type: unexported fields, the types of
// interface values, or, with omitempty, empty maps, which become nil.
func checkEncodable(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	if seen[t] || t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return checkEncodable(t.Elem(), path, seen)
	case reflect.Map:
		return errors.Join(checkEncodable(t.Key(), path, seen), checkEncodable(t.Elem(), path, seen))
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return fmt.Errorf("%s is a %s", path, t.Kind())
	case reflect.Struct:
		for field := range t.Fields() {
			if !field.IsExported() || strings.HasPrefix(field.Tag.Get("json"), "-") {
				return fmt.Errorf("%s.%s is not encoded as JSON", path, field.Name)
			}
			if _, options, _ := strings.Cut(field.Tag.Get("json"), ","); field.Type.Kind() == reflect.Map && slices.Contains(strings.Split(options, ","), "omitempty") {
				return fmt.Errorf("%s.%s is omitted when empty and becomes nil (remove omitempty)", path, field.Name)
			}
			if err := checkEncodable(field.Type, path+"."+field.Name, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// programFingerprint returns the hash of the running program's file, which changes with the code of the
// features and their dependencies.
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
		return "", fmt.Errorf("read the program: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read the program: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}
