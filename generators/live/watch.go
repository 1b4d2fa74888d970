package live

import (
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
