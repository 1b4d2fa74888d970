package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/petrock/petrock/core/plumbing/project"
)

// New starts to watch and to build a project.
func New(o Options) (*Supervisor, error) {
	o.environ = childEnviron(o)
	var guard io.Closer = io.NopCloser(nil)
	if o.Guard {
		variable, stop, err := startGuard()
		if err != nil {
			return nil, err
		}
		o.environ, guard = append(o.environ, variable), stop
	}
	b, err := newBuilder(o.Root, o.environ)
	if err != nil {
		return nil, errors.Join(err, guard.Close())
	}
	log := newLogQueue(o.Log)
	o.Log = log
	w := newWatcher(o.Root, o.Log)
	return start(o, files{
		snapshot: w.snapshot,
		changes:  w.changed,
		build:    b.build,
		features: b.fingerprints,
		release:  b.release,
		close:    func() error { w.close(); log.close(); return errors.Join(b.close(), guard.Close()) },
		patience: 10 * time.Second, firstAnswer: 3 * time.Second, slowStart: 10 * time.Second,
	}), nil
}

func start(o Options, f files) *Supervisor {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Supervisor{
		o: o, files: f, cancel: cancel,
		done: make(chan struct{}), kick: make(chan struct{}, 1), changed: make(chan struct{}), sessions: map[*session]struct{}{},
	}
	go s.run(ctx)
	return s
}

// childEnviron returns the environment of the servers and of the go command.
func childEnviron(o Options) []string {
	environ, added := os.Environ(), goEnviron(o.Root)
	if data := flagValue(o.Args, "data"); data != "" { // the dev server looks at the events of the server
		variable := project.Variable(o.Name, "data")
		added[variable] = data
		environ = slices.DeleteFunc(environ, func(v string) bool { return strings.HasPrefix(v, variable+"_FILE=") })
	}
	// Servers of one supervisor accept each other's requestState. The system seeds the generator of
	// math/rand; with crypto/rand, the client would wait longer for the first build.
	if variable := project.Variable(o.Name, "state_key"); os.Getenv(variable)+os.Getenv(variable+"_FILE") == "" {
		added[variable] = fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
	}
	for name, value := range added {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// run builds at the start and after each change.
func (s *Supervisor) run(ctx context.Context) {
	defer close(s.done)
	said := ""
	for {
		err := s.look(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != said { // the next look may have the same error
			s.logf("%v", err)
		}
		said = fmt.Sprint(err)
		select {
		case <-s.files.changes:
			s.update(func() { s.outdated = true })
		case <-time.After(scanInterval):
		case <-s.kick:
		case <-ctx.Done():
			return
		}
	}
}

// look compares the files with those of the last build, and builds if they differ.
func (s *Supervisor) look(ctx context.Context) error {
	s.mu.Lock()
	s.begun++
	s.mu.Unlock()
	defer s.update(func() { s.ended, s.outdated = s.begun, len(s.files.changes) > 0 })
	now, err := s.files.snapshot()
	if err != nil {
		return err
	}
	s.mu.Lock()
	before, mustDerive := s.handled, s.mustDerive
	s.mustDerive = false
	s.mu.Unlock()
	isFirst := before == nil
	began := time.Now()
	var derived error
	if !isFirst && (mustDerive || s.deriving != nil || len(now.changed(before)) > 0) {
		derived = s.derive(ctx)
		if now, err = s.files.snapshot(); err != nil {
			return err
		}
	}
	changed := now.changed(before)
	if !isFirst && len(changed) == 0 {
		return derived
	}
	s.update(func() { s.outdated = true })
	isNew, err := s.compile(ctx, serverKind, now, derived)
	if isFirst || slices.ContainsFunc(changed, mayAffectPetrock) {
		_, petrockErr := s.compile(ctx, petrockKind, now, nil)
		err = errors.Join(err, petrockErr)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.say("error", err.Error()+"\nThe last good build runs read-only, if there is one.")
	case derived != nil:
		s.say("error", derived.Error())
	case isNew:
		s.logf("built cmd/%s in %v", s.o.Name, time.Since(began).Round(time.Millisecond))
	}
	s.update(func() { s.handled = now })
	return nil
}

// mayAffectPetrock reports whether a change of a file may affect the program with the dev server.
func mayAffectPetrock(path string) bool {
	return path == "go.mod" || path == "go.sum" || strings.HasPrefix(path, "core/") || strings.HasPrefix(path, "generators/")
}

// derive writes derived files with a dev server, if one runs. A dev server does one call at a time,
// and tests can take long. If it is busy, derive returns, and another look follows.
func (s *Supervisor) derive(ctx context.Context) error {
	if s.deriving != nil {
		select {
		case <-s.deriving: // of files as they were before
			s.deriving = nil
		default:
			return nil
		}
	}
	p := s.devServer()
	if p == nil {
		return nil
	}
	derived := make(chan error, 1)
	go func() {
		derived <- p.derive(ctx)
		s.lookSoon()
	}()
	select {
	case err := <-derived:
		return err
	case <-time.After(s.files.patience):
		s.deriving = derived
		return nil
	}
}

// devServer returns the dev server of a session, or nil if none runs.
func (s *Supervisor) devServer() *peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.sessions {
		if p := session.slots[petrockKind].current.Load(); p != nil {
			return p
		}
	}
	return nil
}

// derive calls the dev server's tool build.
func (p *peer) derive(ctx context.Context) error {
	params := object(nil).with("name", quote(Prefix+"build")).with("arguments", []byte(`{"no_compile":true}`)).with("_meta", statelessMeta()).json()
	result, err := p.call(ctx, "tools/call", params)
	isRefused := isTrue(result, "isError") || len(elements(member(result, "structuredContent", "refused"))) > 0
	if err == nil && isRefused {
		err = errors.New(textOf(result))
	}
	return err
}

// textOf returns the first text of a tool's result.
func textOf(result json.RawMessage) string {
	for _, block := range elements(member(result, "content")) {
		return text(member(block, "text"))
	}
	return string(result)
}

// compile builds a server from the files in a snapshot. It reports whether the program is new.
// derived is why derived files could not be updated, which may be why the server does not compile.
func (s *Supervisor) compile(ctx context.Context, k kind, files snapshot, derived error) (isNew bool, err error) {
	var built program
	if k == serverKind {
		built, err = s.buildServer(ctx, files)
	} else {
		built, err = s.files.build(ctx, petrockFolder)
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		err = errors.Join(derived, err)
	}
	var before, good program
	s.update(func() {
		b := &s.builds[k]
		good = b.good
		b.count++
		if b.err = err; err == nil {
			before, b.program = b.program, built
		}
	})
	isNew = err == nil && before.id != built.id
	if isNew && before.path != "" && before.path != good.path {
		s.files.release(before) // servers that run it keep it until they end
	}
	return isNew, err
}

// buildServer builds the project's server from the files in a snapshot. If files have changed
// since, the program has no fingerprints, because they may be those of other code.
func (s *Supervisor) buildServer(ctx context.Context, files snapshot) (program, error) {
	s.mu.Lock()
	last := s.builds[serverKind].program
	s.mu.Unlock()
	built, err := s.files.build(ctx, "cmd/"+s.o.Name)
	if err != nil {
		return built, err
	}
	if built.id == last.id {
		built.features = last.features // a program that has not changed is not restarted
		return built, nil
	}
	features, err := s.files.features(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.logf("the server uses no snapshots of earlier builds: %v", err)
		}
		return built, nil
	}
	if now, err := s.files.snapshot(); err == nil && len(now.changed(files)) == 0 {
		built.features = features
	}
	return built, nil
}

// settle waits until the files as they are now have been built, or do not compile.
func (s *Supervisor) settle(ctx context.Context) error {
	now, err := s.files.snapshot()
	if err != nil {
		return err
	}
	s.mu.Lock()
	next := s.begun + 1
	s.mu.Unlock()
	s.lookSoon()
	return s.await(ctx, func() bool { return s.ended >= next || s.handled != nil && len(now.changed(s.handled)) == 0 })
}

// lookSoon asks for a look at the files.
func (s *Supervisor) lookSoon() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// A snapshot maps the files of a project, as slash-separated relative paths, to their stamps.
type snapshot map[string]stamp

// A stamp distinguishes contents of a file. Time stamps of file systems are coarse, so a stamp of a
// file that was modified recently also has a checksum.
type stamp struct {
	size     int64
	modified int64  // in nanoseconds
	sum      uint64 // 0 if not computed
}

// recent is the age up to which a file gets a checksum. It is longer than the resolution of time
// stamps and the interval of snapshots, so that two successive ones have checksums to compare.
const recent = 5 * scanInterval

// maxSum is the size of the largest file that gets a checksum.
const maxSum = 1 << 20

// equal reports whether two stamps may belong to the same content.
func (s stamp) equal(other stamp) bool {
	return s.size == other.size && s.modified == other.modified && (s.sum == other.sum || s.sum == 0 || other.sum == 0)
}

// changed returns the sorted paths of the files that were added, removed or modified between two
// snapshots.
func (s snapshot) changed(other snapshot) (paths []string) {
	for name, before := range s {
		if after, ok := other[name]; !ok || !before.equal(after) {
			paths = append(paths, name)
		}
	}
	for name := range other {
		if _, ok := s[name]; !ok {
			paths = append(paths, name)
		}
	}
	slices.Sort(paths)
	return paths
}

// walkProject returns a snapshot of the files below root that a build may read. It calls visit with
// each folder before it reads the folder. It fails only if root cannot be read.
func walkProject(root string, visit func(folder string)) (snapshot, error) {
	files, now := snapshot{}, time.Now()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		full := filepath.Join(root, filepath.FromSlash(name))
		switch {
		case err != nil && name == ".":
			return fmt.Errorf("read the project in %s: %w", root, err)
		case err != nil:
			return nil // it vanished, or it cannot be read
		case entry.IsDir() && name != "." && isIgnoredFolder(entry.Name()):
			return fs.SkipDir
		case entry.IsDir():
			visit(full)
			return nil
		case isIgnoredFile(entry.Name()):
			return nil
		}
		info, err := os.Stat(full) // of the file that a link points to
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		s := stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
		if now.Sub(info.ModTime()) < recent && s.size <= maxSum {
			if text, err := os.ReadFile(full); err == nil {
				sum := fnv.New64a()
				sum.Write(text)
				s.sum = sum.Sum64()
			}
		}
		files[name] = s
		return nil
	})
	return files, err
}

// isIgnoredFolder reports whether the go command and petrock ignore a folder with this name.
func isIgnoredFolder(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "node_modules"
}

// isIgnoredFile reports whether a file with this name is written by an editor or a running server,
// and not read by builds.
func isIgnoredFile(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") {
		return true
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".lock"), ".turn")
	extension := path.Ext(name)
	extension, _, _ = strings.Cut(extension, "-") // .db-wal
	return slices.Contains([]string{".db", ".sqlite", ".sqlite3", ".log", ".tmp"}, extension)
}

const (
	quietTime    = 30 * time.Millisecond  // without an event, until a change is reported
	maxWait      = 300 * time.Millisecond // from the first event until a change is reported
	scanInterval = 2 * time.Second        // between snapshots without an event
)

// A watcher reports changes of a project's files within milliseconds, where it can: not all file
// systems have events, and events can be lost. So a [Supervisor] also compares snapshots.
type watcher struct {
	root    string
	events  *fsnotify.Watcher // nil if the system does not offer one
	changed chan struct{}     // receives after events; events that follow each other closely are one
}

// newWatcher returns a watcher of the files below root. [watcher.snapshot] starts to watch them.
func newWatcher(root string, log io.Writer) *watcher {
	w := &watcher{root: root, changed: make(chan struct{}, 1)}
	var err error
	if w.events, err = fsnotify.NewWatcher(); err != nil {
		fmt.Fprintf(log, "watch %s: %v; changes are noticed within %v\n", root, err, scanInterval)
		w.events = nil
		return w
	}
	go w.run()
	return w
}

// snapshot is walkProject, and watches the folders that exist. Each folder is watched before it is
// read, so that no change is missed. A known folder is added again, because another one of the same
// name may replace it.
func (w *watcher) snapshot() (snapshot, error) {
	return walkProject(w.root, func(folder string) {
		if w.events != nil {
			_ = w.events.Add(folder) // if it fails, the next snapshots show changes
		}
	})
}

// close ends the watcher.
func (w *watcher) close() {
	if w.events != nil {
		w.events.Close()
	}
}

// run reports events until the watcher is closed.
func (w *watcher) run() {
	var first time.Time         // of the events that were not reported yet
	var report <-chan time.Time // nil if there are none
	for {
		select {
		case event, ok := <-w.events.Events:
			if !ok {
				return
			}
			if isIgnoredFile(filepath.Base(event.Name)) {
				continue
			}
			if report == nil {
				first = time.Now()
			}
			report = time.After(min(quietTime, maxWait-time.Since(first)))
		case <-w.events.Errors: // such as an overflow: the next snapshot shows the changes
		case <-report:
			report = nil
			select {
			case w.changed <- struct{}{}:
			default:
			}
		}
	}
}
