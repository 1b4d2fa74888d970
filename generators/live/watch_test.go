package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// write writes files below root, given as names and texts.
func write(t *testing.T, root string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		file := filepath.Join(root, filepath.FromSlash(files[i]))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(files[i+1]), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func snap(t *testing.T, root string) snapshot {
	t.Helper()
	s, err := takeSnapshot(root)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "go.mod", "module m", "tools/add.go", "package tools", "tools/testdata/x.json", "{}", "data/x.db.go", "package data",
		".git/HEAD", "x", ".petrock/lock", "x", "node_modules/a/b.js", "x", "_old/a.go", "x", "tools/.add.go.swp", "x", "tools/add.go~", "x",
		"data/log.db", "x", "data/log.db-wal", "x", "data/log.db.lock", "x", "data/log.db.turn", "x", "server.log", "x")
	if err := os.Symlink("nowhere", filepath.Join(root, "dangling")); err != nil {
		t.Log(err) // Windows may not allow links
	}
	before := snap(t, root)
	if changed := (snapshot{}).changed(before); !slices.Equal(changed, []string{"data/x.db.go", "go.mod", "tools/add.go", "tools/testdata/x.json"}) {
		t.Errorf("files: %q", changed)
	}
	if changed := before.changed(snap(t, root)); changed != nil {
		t.Errorf("no file has changed, but %q", changed)
	}
	write(t, root, "tools/new.go", "package tools", "tools/testdata/x.json", "[]")
	if err := os.Remove(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	if changed := before.changed(snap(t, root)); !slices.Equal(changed, []string{"go.mod", "tools/new.go", "tools/testdata/x.json"}) {
		t.Errorf("changed: %q", changed)
	}
	if _, err := takeSnapshot(filepath.Join(root, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("snapshot of a folder that does not exist: %v", err)
	}
}

// A snapshot detects an edit that keeps the size and the time.
func TestSnapshotSameTime(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file, now := filepath.Join(root, "a.go"), time.Now()
	var snapshots []snapshot
	for _, text := range []string{"package a", "package b"} {
		write(t, root, "a.go", text)
		if err := os.Chtimes(file, now, now); err != nil {
			t.Fatal(err)
		}
		snapshots = append(snapshots, snap(t, root))
	}
	if changed := snapshots[0].changed(snapshots[1]); !slices.Equal(changed, []string{"a.go"}) {
		t.Errorf("changed: %q", changed)
	}
	// A file that was not modified recently is not read. It has changed only if its time has.
	hour := now.Add(-time.Hour)
	if err := os.Chtimes(file, hour, hour); err != nil {
		t.Fatal(err)
	}
	old := snap(t, root)
	if old["a.go"].sum != 0 || len(snapshots[1].changed(old)) != 1 || len(old.changed(snap(t, root))) != 0 {
		t.Errorf("%+v, %+v", snapshots[1], old)
	}
}

// A follower takes a snapshot whenever its watcher reports a change.
type follower struct {
	root  string
	log   *bytes.Buffer // read it after the watcher has ended
	mu    sync.Mutex
	seen  snapshot
	count int
	moved chan struct{}
	end   func()
}

// follow starts a watcher and a follower. A configuration lets the watcher poll.
func follow(t *testing.T, root string, config ...watchConfig) *follower {
	t.Helper()
	f := &follower{root: root, log: &bytes.Buffer{}, moved: make(chan struct{}, 1)}
	var w *watcher
	var err error
	if len(config) > 0 {
		w, err = startWatcher(root, f.log, config[0])
	} else {
		w, err = newWatcher(root, f.log)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.seen, _ = takeSnapshot(root)
	var running sync.WaitGroup
	stop := make(chan struct{})
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-w.changes():
			}
			s, _ := takeSnapshot(root)
			f.mu.Lock()
			f.seen = s
			f.count++
			f.mu.Unlock()
			select {
			case f.moved <- struct{}{}:
			default:
			}
		}
	})
	f.end = sync.OnceFunc(func() {
		w.close()
		close(stop)
		running.Wait()
	})
	t.Cleanup(f.end)
	return f
}

// wait waits until the follower has seen the files as they are now, and returns the number of
// changes that were reported so far.
func (f *follower) wait(t *testing.T) int {
	t.Helper()
	want, _ := takeSnapshot(f.root)
	deadline := time.After(20 * time.Second)
	for {
		f.mu.Lock()
		missing, count := f.seen.changed(want), f.count
		f.mu.Unlock()
		if len(missing) == 0 {
			return count
		}
		select {
		case <-f.moved:
		case <-deadline:
			t.Fatalf("after %d reports, changes of %q are not reported", count, missing)
		}
	}
}

// A hundred saves in a second are reported, and not each for itself.
func TestWatchRapidSaves(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "tools/add.go", "package tools")
	f := follow(t, root)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := range 100 {
		<-tick.C
		write(t, root, "tools/add.go", fmt.Sprintf("package tools // %03d", i))
	}
	if count := f.wait(t); count < 2 || count > 60 {
		t.Errorf("%d reports", count)
	}
	f.end()
	if f.log.Len() > 0 {
		t.Errorf("log: %s", f.log)
	}
}

// Switching a branch, then deleting, creating and moving folders: the end state is that of the
// files.
func TestWatchFolders(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "project")
	for i := range 500 {
		write(t, root, fmt.Sprintf("p%d/f%d.go", i%25, i), "package p")
	}
	f := follow(t, root)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	for i := range 500 {
		write(t, root, fmt.Sprintf("p%d/f%d.go", i%25, i), "package q")
	}
	if count := f.wait(t); count > 20 {
		t.Errorf("%d reports of 500 changed files", count)
	}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"delete a folder", func() { must(os.RemoveAll(in("p1"))) }},
		{"create it again", func() { write(t, root, "p1/f.go", "package p") }},
		{"change a file in it", func() { write(t, root, "p1/f.go", "package changed") }},
		{"replace a folder", func() { must(os.RemoveAll(in("p2"))); write(t, root, "p2/f.go", "package p") }},
		{"change a file in that", func() { write(t, root, "p2/f.go", "package changed") }},
		{"create nested folders", func() { write(t, root, "a/b/c/d/e.go", "package d") }},
		{"change a file in those", func() { write(t, root, "a/b/c/d/e.go", "package changed") }},
		{"move a folder", func() { must(os.Rename(in("a"), in("z"))) }},
		{"change a file in its folder", func() { write(t, root, "z/b/c/d/e.go", "package again") }},
		{"create a folder in its place", func() { write(t, root, "a/b/c/d/e.go", "package a") }},
		{"change a file there", func() { write(t, root, "a/b/c/d/e.go", "package changed") }},
		{"change the moved file", func() { write(t, root, "z/b/c/d/e.go", "package more") }},
		{"move it and replace it", func() { must(os.Rename(in("z"), in("0"))); write(t, root, "z/b/c/d/e.go", "package z") }},
		{"change the file moved twice", func() { write(t, root, "0/b/c/d/e.go", "package twice") }},
		{"change its replacement", func() { write(t, root, "z/b/c/d/e.go", "package changed") }},
		{"delete the project", func() { must(os.RemoveAll(root)) }},
		{"create the project again", func() { write(t, root, "p1/f.go", "package p") }},
		{"change a file of the project", func() { write(t, root, "p1/f.go", "package changed") }},
		{"move the project", func() { must(os.Rename(root, root+"2")) }},
		{"move it back", func() { must(os.Rename(root+"2", root)) }},
		{"change it then", func() { write(t, root, "p1/f.go", "package changed again") }},
	} {
		began := time.Now()
		step.do()
		f.wait(t)
		t.Logf("%v: %s", time.Since(began).Round(time.Millisecond), step.name)
	}
	f.end()
	if f.log.Len() > 0 {
		t.Errorf("log: %s", f.log)
	}
}

// Where events do not work, the watcher polls, and says so once.
func TestWatchPolling(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		open func() (*fsnotify.Watcher, error)
		want string
	}{
		"no watcher": {func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }, "too many open files"},
		"no folders": {func() (*fsnotify.Watcher, error) {
			w, err := fsnotify.NewWatcher()
			if err == nil {
				err = w.Close()
			}
			return w, err
		}, "closed"},
		"no events": {func() (*fsnotify.Watcher, error) {
			w, err := fsnotify.NewWatcher()
			if err == nil {
				w.Events = make(chan fsnotify.Event)
			}
			return w, err
		}, "does not report changes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, "a.go", "package a")
			f := follow(t, root, watchConfig{test.open, 50 * time.Millisecond, 20 * time.Millisecond})
			for i := range 4 {
				write(t, root, "a.go", fmt.Sprintf("package a%d", i), fmt.Sprintf("new/b%d/c.go", i), "package c")
				f.wait(t)
			}
			f.end()
			if said := f.log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, test.want) || !strings.Contains(said, "checking the files every 20ms") {
				t.Errorf("log: %q", said)
			}
		})
	}
}

// Files that a running server writes are not reported.
func TestWatchIgnored(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "data/log.db", "x", ".petrock/x", "x")
	w, err := startWatcher(root, io.Discard, watchConfig{fsnotify.NewWatcher, 20 * time.Millisecond, time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	write(t, root, "data/log.db", "xx", "data/log.db-wal", "x", ".petrock/x", "xx", ".petrock/y", "x", "server.log", "x")
	select {
	case <-w.changes():
		t.Error("a change was reported")
	case <-time.After(500 * time.Millisecond):
	}
	write(t, root, "a.go", "package a")
	select {
	case <-w.changes():
	case <-time.After(20 * time.Second):
		t.Error("no change was reported")
	}
}
