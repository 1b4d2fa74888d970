package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"reflect"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A snapshot is the state of a feature after an event, as chunks of its stream, see [writeState],
// and a head, which is stored last. Documents of earlier attempts, without a head, are never used,
// and the next snapshot of the feature removes them:
//
//	snapshot/FEATURE/FINGERPRINT/head             the head
//	snapshot/FEATURE/FINGERPRINT/ATTEMPT/000000   the first chunk
//
// A document is a line with the checksum of its name and its content, and the content.

// A snapshotHead is the head of a snapshot.
type snapshotHead struct {
	Seq         int64         `json:"seq"` // of the last event in it
	ID          string        `json:"id"`  // of that event
	Fingerprint string        `json:"fingerprint"`
	Amended     string        `json:"amended"` // hash of the amendments that are in it
	Time        time.Time     `json:"time"`
	Attempt     string        `json:"attempt"`
	Chunks      int           `json:"chunks"`
	Took        time.Duration `json:"took"` // how long the state was locked
	Slow        bool          `json:"slow"` // there are no chunks: a replay takes less time
}

const (
	maxChunk    = 1_000_000                            // size of a document, in bytes
	maxContent  = maxChunk - 2*sha256.Size - len("\n") // of a chunk
	maxTogether = 2                                    // chunks in a transaction
	maxBuffer   = 8 * maxChunk                         // size of the chunks in memory
	maxGarbage  = 24 << 20                             // bytes by which the heap may grow until it is collected
	maxLocked   = 50 * time.Millisecond                // of a snapshot that is taken while the app serves
	drainBudget = 5 * time.Second                      // for the snapshots at the end of Run
)

// snapshotPrefix returns the start of the names of a feature's snapshots.
func snapshotPrefix(f *feature) string { return snapshotsPrefix + f.Name + "/" }

// snapshotsPrefix starts the names of all snapshots.
const snapshotsPrefix = "snapshot/"

// codePrefix returns the start of the names of a feature's snapshots by this code.
func (a *App) codePrefix(f *feature) string { return snapshotPrefix(f) + a.fingerprint(f) + "/" }

// headName ends the name of a head, after the prefix of its code.
const headName = "head"

// chunkName returns the end of the name of a chunk.
func chunkName(attempt string, i int) string { return fmt.Sprintf("%s/%06d", attempt, i) }

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

// restoreSnapshot loads the state of a feature from its snapshot, if that has at least half of the
// events.
func (a *App) restoreSnapshot(from storeReader, f *feature) {
	if checkSnapshottable(f.State.kind) != nil || a.fingerprint(f) == "" {
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
			state, err = nil, panicError(p)
		}
	}()
	chunks := a.readChunks(from, f, head)
	defer chunks.Close()
	state = reflect.New(f.State.kind).Interface()
	if err := readState(chunks, state); err != nil {
		if chunks.err != nil {
			return nil, chunks.err
		}
		return nil, fmt.Errorf("state does not fit %v: %w", f.State.kind, err)
	}
	return state, nil
}

// readHead returns the head of the snapshot that this code of a feature has taken, if there is one.
func (a *App) readHead(from View, f *feature) (head snapshotHead, ok bool, err error) {
	line, err := readSealed(from, a.codePrefix(f)+headName)
	if err != nil || line == nil {
		return head, false, err
	}
	err = (&strictjson.Decoder{Exact: true}).Decode(line, &head)
	return head, err == nil, err
}

// storedSnapshot returns the head of the snapshot that this code of a feature has taken, if there
// is one. It returns an error if the head is damaged, outdated, or of another log.
func (a *App) storedSnapshot(from View, f *feature) (head snapshotHead, ok bool, err error) {
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
		case head.Amended != amendmentsHash(a.amendments, head.Seq):
			return head, false, errUnused
		}
		return head, true, nil
	}
	return head, false, fmt.Errorf("snapshot was taken from another log, which has event %d", head.Seq)
}

// A chunkReader reads the stream in the chunks of a snapshot. A goroutine reads ahead.
type chunkReader struct {
	chunks chan []byte
	stop   chan struct{}
	failed error // of the goroutine; set before chunks is closed

	rest []byte // of the current chunk
	err  error  // failed, once the chunks before it are read
}

func (a *App) readChunks(from View, f *feature, head snapshotHead) *chunkReader {
	r := &chunkReader{chunks: make(chan []byte, 2), stop: make(chan struct{})}
	go func() {
		defer close(r.chunks)
		heap := heapBytes()
		for i := range head.Chunks {
			if heapBytes() > heap+max(heap/3, 16<<20) {
				runtime.GC() // by itself, it would let the heap double
				heap = heapBytes()
			}
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

// seal returns the checksum of a document.
func seal(name string, content []byte) string {
	sum := sha256.New()
	io.WriteString(sum, name+"\n")
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil))
}

// readSealed returns the content of a document; nil if it does not exist.
func readSealed(from View, name string) ([]byte, error) {
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

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// takeSnapshots takes snapshots that are due and take little time, and keeps the summary of types
// recent.
func (a *App) takeSnapshots(ctx context.Context) {
	summarized := int64(-summaryInterval)
	for ctx.Err() == nil {
		grown, _ := a.changes()
		summarized = a.summarize(ctx, summarized)
		if a.snapshotDue(ctx, maxLocked) {
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

// SnapshotDue takes the snapshots that are due: a feature has many events since its last one.
// Servers call it before they are ready, because commands wait while a large state is encoded.
func (a *App) SnapshotDue(ctx context.Context) { a.snapshotDue(ctx, math.MaxInt64) }

// snapshotDue takes the snapshots that are due, of features whose last one has locked the state for
// less than a limit. It reports whether there were any.
func (a *App) snapshotDue(ctx context.Context, limit time.Duration) (due bool) {
	if a.o.ReadOnly != "" || a.o.NoSnapshot || a.o.NoNewSnapshot {
		return false
	}
	for _, f := range a.features {
		if !a.isDue(f, limit) {
			continue
		}
		due = true
		if head, ok, err := a.readHead(storeReader{ctx, a.store}, f); err == nil && ok {
			a.noteSnapshot(f, head) // another process may have taken it
			if !a.isDue(f, limit) {
				continue
			}
		}
		if err := a.snapshot(ctx, f); err != nil && ctx.Err() == nil {
			a.logError(slog.LevelWarn, "take snapshot", err, "feature", f.Name)
		}
	}
	return due
}

// isDue reports whether a feature has many events since the last snapshot. The interval grows with
// the log, so that all snapshots together cost little.
func (a *App) isDue(f *feature, limit time.Duration) bool {
	const minEvents = 10_000
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.isValid() && f.stuck == nil && f.locked < limit && a.seq-max(f.snapshot, f.tried) >= max(minEvents, a.seq/10) &&
		checkSnapshottable(f.State.kind) == nil && a.fingerprint(f) != ""
}

// noteSnapshot records that a snapshot is stored, unless it is outdated or damaged.
func (a *App) noteSnapshot(f *feature, head snapshotHead) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if head.Seq <= a.seq && head.Attempt != f.unusable && head.Amended == amendmentsHash(a.amendments, head.Seq) {
		f.tried, f.locked = head.Seq, head.Took
		if !head.Slow {
			f.snapshot = head.Seq
		}
	}
}

// Snapshot stores the current states, so that a program with the same fingerprints starts faster.
// Commands wait while a state is encoded. Servers need not call it: [App.Run] takes snapshots.
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
	w := &snapshotWriter{ctx: ctx, app: a, feature: f, prefix: a.codePrefix(f)}
	err := w.encode()
	if errors.Is(err, errSlow) {
		w.discard()
		w.head.Slow, w.buffer, w.stored, err = true, nil, 0, nil
	}
	if err == nil && w.head.ID != "" { // otherwise there is no new event, or the feature is stuck
		err = w.finish()
	}
	switch {
	case err != nil && w.stored > 0:
		w.discard()
	case err == nil && w.head.ID != "":
		a.noteSnapshot(f, w.head)
	}
	if errors.Is(err, errUnused) {
		err = nil // the next snapshot includes the change
	}
	return err
}

// A snapshotWriter stores the stream of a state. If the state is large, it unlocks the state at
// times, because commands lock the state while no other can write to the store. If a command then
// changes the state, there is no snapshot.
type snapshotWriter struct {
	ctx      context.Context
	app      *App
	feature  *feature
	prefix   string // of the documents
	head     snapshotHead
	state    any
	buffer   []byte        // the stream that is not stored yet
	document []byte        // reused
	stored   int           // number of stored chunks
	lockedAt time.Time     // zero if the state is not locked
	limit    time.Duration // of the time that the state is locked; 0 means none
	heap     uint64        // bytes at the start
}

// encode writes the stream of the current state, and sets the head. Without an ID, there is none.
func (w *snapshotWriter) encode() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encode state: %w", panicError(p))
		}
		w.unlock()
	}()
	a, f := w.app, w.feature
	if err := a.lockCurrent(w.ctx); err != nil {
		return err
	}
	w.lockedAt = time.Now()
	if f.stuck != nil || a.lastID == "" {
		return nil // the state does not include the last events, or there is none since the last snapshot
	}
	w.head = snapshotHead{
		Seq: a.seq, ID: a.lastID, Fingerprint: a.fingerprint(f), Amended: amendmentsHash(a.amendments, a.seq),
		Time: storable(a.o.Now()), Attempt: newID(),
	}
	w.state, w.heap = f.state, heapBytes()
	if a.eventCost > 0 { // decoding takes at most half of the time of encoding
		w.limit = 2 * a.eventCost * time.Duration(a.seq)
		for _, other := range a.features {
			if other != f {
				w.limit = max(w.limit-other.locked, 1)
			}
		}
	}
	return writeState(w, f.state)
}

// errSlow means that a replay takes less time than the snapshots.
var errSlow = errors.New("a replay takes less time")

func (w *snapshotWriter) unlock() {
	if !w.lockedAt.IsZero() {
		w.app.mu.RUnlock()
		w.head.Took += time.Since(w.lockedAt)
		w.lockedAt = time.Time{}
	}
}

// Write buffers a part of the stream.
func (w *snapshotWriter) Write(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	if w.limit > 0 && w.head.Took+time.Since(w.lockedAt) > w.limit {
		return 0, errSlow
	}
	if len(w.buffer) > maxChunk {
		w.buffer = slices.Grow(w.buffer, max(len(p), maxBuffer+maxChunk-len(w.buffer))) // at once
	}
	w.buffer = append(w.buffer, p...)
	if len(w.buffer) < maxBuffer {
		return len(p), nil
	}
	return len(p), w.spill()
}

// spill stores the whole chunks in the buffer, while the state is not locked.
func (w *snapshotWriter) spill() error {
	w.unlock()
	if err := w.store(len(w.buffer) / maxContent); err != nil {
		return err
	}
	a := w.app
	if err := a.lockToRead(w.ctx); err != nil {
		return err
	}
	w.lockedAt = time.Now()
	if !a.isValid() || a.seq != w.head.Seq || w.feature.state != w.state {
		return errors.New("the state has changed meanwhile; retry later")
	}
	return nil
}

// store stores the first chunks in the buffer, in small transactions.
func (w *snapshotWriter) store(chunks int) error {
	for chunks > 0 {
		some := min(chunks, maxTogether)
		err := w.app.write(w.ctx, func(tx Tx) error {
			if err := w.checkAmendments(tx); err != nil {
				return err
			}
			return w.put(tx, some)
		})
		if err != nil {
			return err
		}
		w.stored += some
		w.buffer = w.buffer[:copy(w.buffer, w.buffer[some*maxContent:])]
		chunks -= some
		if heapBytes() > w.heap+maxGarbage {
			runtime.GC() // by itself, it would let the heap double
		}
	}
	return nil
}

// put stores the first chunks in the buffer.
func (w *snapshotWriter) put(tx Tx, chunks int) error {
	for i := range chunks {
		content := w.buffer[i*maxContent : min((i+1)*maxContent, len(w.buffer))]
		name := w.prefix + chunkName(w.head.Attempt, w.stored+i)
		w.document = append(append(append(w.document[:0], seal(name, content)...), '\n'), content...)
		if err := tx.Put(name, w.document); err != nil {
			return err
		}
	}
	return nil
}

// checkAmendments returns an error if an event in the state was amended or erased meanwhile.
func (w *snapshotWriter) checkAmendments(tx Tx) error {
	amendments, err := readAmendments(tx)
	if err == nil && w.head.Amended != amendmentsHash(amendments, w.head.Seq) {
		err = errUnused
	}
	return err
}

// finish stores the rest of the stream and the head, and removes older snapshots.
func (w *snapshotWriter) finish() error {
	if err := w.store(len(w.buffer)/maxContent - 1); err != nil {
		return err
	}
	rest := (len(w.buffer) + maxContent - 1) / maxContent
	w.head.Chunks = w.stored + rest
	head, err := strictjson.Marshal(w.head)
	if err != nil {
		return err
	}
	return w.app.write(w.ctx, func(tx Tx) error {
		if err := w.checkAmendments(tx); err != nil {
			return err
		}
		chunks, err := tx.Names(w.prefix + w.head.Attempt + "/")
		if err != nil {
			return err
		}
		if len(chunks) != w.stored {
			return errors.New("another process has taken a snapshot meanwhile")
		}
		if err := w.put(tx, rest); err != nil {
			return err
		}
		name := w.prefix + headName
		if err := tx.Put(name, append([]byte(seal(name, head)+"\n"), head...)); err != nil {
			return err
		}
		return w.dropOthers(tx)
	})
}

// discard removes the chunks of a snapshot that was not finished.
func (w *snapshotWriter) discard() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), time.Second)
	defer cancel()
	_ = w.app.store.Write(ctx, func(tx Tx) error { // the next snapshot removes them too
		for i := range w.stored {
			if err := tx.Put(w.prefix+chunkName(w.head.Attempt, i), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropOthers removes all other snapshots of the feature, except the latest of other code, which may
// be in use.
func (w *snapshotWriter) dropOthers(tx Tx) error {
	names, err := tx.Names(snapshotPrefix(w.feature))
	if err != nil {
		return err
	}
	keep := []string{w.prefix + headName, w.prefix + w.head.Attempt + "/"}
	var latest snapshotHead
	var kept []string
	for _, name := range names {
		prefix, isHead := strings.CutSuffix(name, "/"+headName)
		if !isHead || name == keep[0] {
			continue
		}
		var head snapshotHead
		content, err := readSealed(tx, name)
		if err == nil && json.Unmarshal(content, &head) == nil && head.Time.After(latest.Time) {
			latest, kept = head, []string{name, prefix + "/" + head.Attempt + "/"}
		}
	}
	keep = append(keep, kept...)
	for _, name := range names {
		if !slices.ContainsFunc(keep, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			if err := tx.Put(name, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// heapBytes returns the size of the heap, garbage included.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// CheckSnapshots returns an error if the state of a feature changes when it is encoded and decoded.
// It needs memory for a second state. Use it in tests.
func (a *App) CheckSnapshots(ctx context.Context) error {
	var errs []error
	for _, f := range a.features {
		if checkSnapshottable(f.State.kind) == nil {
			if err := a.checkRoundTrip(ctx, f); err != nil {
				errs = append(errs, fmt.Errorf("feature %s: %w", f.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// checkRoundTrip returns an error if the state of a feature changes when it is encoded and decoded.
func (a *App) checkRoundTrip(ctx context.Context, f *feature) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(p)
		}
	}()
	if err := a.lockCurrent(ctx); err != nil {
		return err
	}
	defer a.mu.RUnlock()
	if f.stuck != nil {
		return nil
	}
	in, out := io.Pipe()
	sum, second := sha256.New(), sha256.New()
	var writing sync.WaitGroup
	writing.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				out.CloseWithError(panicError(p))
			}
		}()
		out.CloseWithError(writeState(io.MultiWriter(sum, out), f.state))
	})
	again := reflect.New(f.State.kind).Interface()
	err = readState(in, again)
	in.CloseWithError(err)
	writing.Wait()
	if err != nil {
		return err
	}
	if err := writeState(second, again); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), second.Sum(nil)) {
		return errors.New("the state changes when it is encoded and decoded")
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

// programFingerprint returns the hash of the running program's file, which changes with the code of
// the features and their dependencies.
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
