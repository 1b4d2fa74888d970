package live

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A snapshot maps the files of a project, as slash-separated relative paths, to their stamps.
type snapshot map[string]stamp

// A stamp distinguishes contents of a file. Time stamps of file systems are coarse, so a stamp of a
// file that was modified recently also has a checksum.
type stamp struct {
	size     int64
	modified int64  // in nanoseconds
	sum      uint64 // 0 if not computed
}

// recent is the age up to which a file gets a checksum. It is longer than the interval of the
// watcher's scans, so that two successive scans have checksums to compare.
const recent = 2 * scanInterval

// maxSum is the size of the largest file that gets a checksum.
const maxSum = 1 << 20

// equal reports whether two stamps may belong to the same content.
func (s stamp) equal(other stamp) bool {
	return s.size == other.size && s.modified == other.modified && (s.sum == other.sum || s.sum == 0 || other.sum == 0)
}

// changed returns the sorted paths of the files that were added, removed or modified between two
// snapshots.
func (s snapshot) changed(other snapshot) []string {
	var paths []string
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

// takeSnapshot returns a snapshot of the files below root that a build may read. It fails only if
// root cannot be read.
func takeSnapshot(root string) (snapshot, error) { return walkProject(root, func(string) {}) }

// walkProject is takeSnapshot, and calls visit with each folder before it reads the folder.
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

// Intervals of a watcher.
const (
	quietTime    = 30 * time.Millisecond  // without an event, until the files are scanned
	maxWait      = 300 * time.Millisecond // from the first event until the files are scanned
	scanInterval = 5 * time.Second        // between scans without an event
	pollInterval = time.Second            // between scans if there are no events
)

// A watcher reports changes of a project's files. Events of the file system only make it scan the
// files earlier; the scans decide whether a file has changed.
type watcher struct {
	root    string
	log     io.Writer
	config  watchConfig
	changed chan struct{}
	wake    chan struct{}     // an event occurred
	stop    chan struct{}     // closed by close
	running sync.WaitGroup    // goroutines
	events  *fsnotify.Watcher // nil if it does not work
	last    snapshot
	missing bool // root does not exist
	missed  int  // successive scans that found changes without an event
	polling bool
}

// A watchConfig is what tests replace.
type watchConfig struct {
	open       func() (*fsnotify.Watcher, error)
	scan, poll time.Duration
}

// newWatcher starts watching the files below root. It writes to log once if it has to poll.
func newWatcher(root string, log io.Writer) (*watcher, error) {
	return startWatcher(root, log, watchConfig{fsnotify.NewWatcher, scanInterval, pollInterval})
}

func startWatcher(root string, log io.Writer, config watchConfig) (*watcher, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", root, err)
	}
	w := &watcher{root: root, log: log, config: config, changed: make(chan struct{}, 1), wake: make(chan struct{}, 1), stop: make(chan struct{})}
	if w.events, err = config.open(); err != nil {
		w.events = nil
		w.startPolling(err)
	} else {
		events := w.events
		w.running.Go(func() { w.receive(events) })
	}
	w.last, err = w.walk()
	w.missing = err != nil
	w.running.Go(w.run)
	return w, nil
}

// changes returns a channel that receives after files have changed since newWatcher. Changes that
// follow each other closely, or that happen before the channel is read, are reported once.
func (w *watcher) changes() <-chan struct{} { return w.changed }

// close ends the watcher. It must be called once.
func (w *watcher) close() {
	close(w.stop)
	w.running.Wait()
}

// receive turns events into wake-ups. It never blocks, because fsnotify may not be able to add
// folders while an event is waiting.
func (w *watcher) receive(events *fsnotify.Watcher) {
	for {
		select {
		case <-w.stop:
			return
		case event, ok := <-events.Events:
			if !ok {
				return
			}
			if event.Name != w.root && isIgnoredFile(filepath.Base(event.Name)) {
				continue
			}
		case _, ok := <-events.Errors: // such as an overflow: events are lost
			if !ok {
				return
			}
		}
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

func (w *watcher) run() {
	defer func() {
		if w.events != nil {
			w.events.Close()
		}
	}()
	var first time.Time // when the first event since the last scan was received
	timer := time.NewTimer(w.interval())
	defer timer.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-w.wake:
			now := time.Now()
			if first.IsZero() {
				first = now
			}
			timer.Reset(min(quietTime, first.Add(maxWait).Sub(now)))
		case <-timer.C:
			w.scan(!first.IsZero())
			first = time.Time{}
			timer.Reset(w.interval())
		}
	}
}

// interval returns the time until the next scan if there is no event.
func (w *watcher) interval() time.Duration {
	if w.polling || w.missing {
		return w.config.poll
	}
	return w.config.scan
}

// scan compares the files with the last scan, and reports a change. The parameter says whether an
// event was received since then.
func (w *watcher) scan(hasEvent bool) {
	files, err := w.walk()
	hasChanged := len(w.last.changed(files)) > 0
	switch {
	case hasEvent:
		w.missed = 0
	case hasChanged && !w.missing:
		w.missed++ // events may be late, but not twice
	}
	if w.missed == 2 && !w.polling {
		w.startPolling(errors.New("the file system does not report changes"))
	}
	w.last, w.missing = files, err != nil
	if hasChanged {
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

// walk takes a snapshot, and watches the folders that exist. Each folder is watched before it is
// read, so that no change is missed.
func (w *watcher) walk() (snapshot, error) {
	watched := map[string]bool{}
	watch := func(folder string) {
		if w.events == nil {
			return
		}
		// A known folder is added again, because another one of the same name may replace it.
		err := w.events.Add(folder)
		switch {
		case err == nil:
			watched[folder] = true
			return
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
			return
		case errors.Is(err, syscall.ENOSPC):
			err = errors.New("too many watched folders; raise fs.inotify.max_user_watches")
		}
		w.events.Close()
		w.events = nil
		w.startPolling(err)
	}
	files, err := walkProject(w.root, watch)
	if w.events == nil {
		return files, err
	}
	list := w.events.WatchList()
	isStale := len(list) != len(watched)
	for _, folder := range list {
		if !watched[folder] {
			isStale = true
			_ = w.events.Remove(folder) // it may have vanished
		}
	}
	if isStale { // fsnotify knows a folder that was moved by its old path
		return walkProject(w.root, watch)
	}
	return files, err
}

// startPolling scans the files in short intervals from now on, and logs why.
func (w *watcher) startPolling(cause error) {
	if !w.polling {
		w.polling = true
		fmt.Fprintf(w.log, "watch %s: %v; checking the files every %v\n", w.root, cause, w.config.poll)
	}
}
