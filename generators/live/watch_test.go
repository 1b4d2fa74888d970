package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// takeSnapshot returns a snapshot of the files below root.
func takeSnapshot(root string) (snapshot, error) { return walkProject(root, func(string) {}) }

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
		t.Errorf("files: got %q, want %q", changed, []string{"data/x.db.go", "go.mod", "tools/add.go", "tools/testdata/x.json"})
	}
	if changed := before.changed(snap(t, root)); changed != nil {
		t.Errorf("changed() = %q, want nil: no file has changed", changed)
	}
	write(t, root, "tools/new.go", "package tools", "tools/testdata/x.json", "[]")
	if err := os.Remove(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	if changed := before.changed(snap(t, root)); !slices.Equal(changed, []string{"go.mod", "tools/new.go", "tools/testdata/x.json"}) {
		t.Errorf("changed() = %q, want %q", changed, []string{"go.mod", "tools/new.go", "tools/testdata/x.json"})
	}
	if _, err := takeSnapshot(filepath.Join(root, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("snapshot of a folder that does not exist: got %v, want %v", err, os.ErrNotExist)
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
		t.Errorf("changed() = %q, want %q", changed, []string{"a.go"})
	}
	// A file that was not modified recently is not read. It has changed only if its time has.
	hour := now.Add(-time.Hour)
	if err := os.Chtimes(file, hour, hour); err != nil {
		t.Fatal(err)
	}
	old := snap(t, root)
	if old["a.go"].sum != 0 || len(snapshots[1].changed(old)) != 1 || len(old.changed(snap(t, root))) != 0 {
		t.Errorf("the snapshots are %+v and %+v; want the second without a checksum of a.go, which has changed once and then no more", snapshots[1], old)
	}
}

// A follower is a supervisor that takes a snapshot instead of a build.
type follower struct {
	root  string
	mu    sync.Mutex
	seen  snapshot
	count int
	moved chan struct{}
}

// follow starts a follower, and waits until it has seen the files.
func follow(t *testing.T, root string) *follower {
	t.Helper()
	f := &follower{root: root, moved: make(chan struct{}, 1)}
	w := newWatcher(root, io.Discard)
	s := start(Options{Root: root, Name: "hello", Log: io.Discard}, files{
		snapshot: w.snapshot,
		changes:  w.changed,
		build: func(_ context.Context, folder string) (program, error) {
			if folder == petrockFolder {
				return program{}, nil
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.seen, _ = takeSnapshot(root)
			f.count++
			select {
			case f.moved <- struct{}{}:
			default:
			}
			return program{}, nil
		},
		close: func() error { w.close(); return nil },
	})
	t.Cleanup(func() { s.Close() })
	f.wait(t)
	return f
}

// wait waits until the follower has seen the files as they are now, and returns the number of
// builds so far.
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
			t.Fatalf("after %d builds, changes of %q are not built", count, missing)
		}
	}
}

// A hundred saves in a second are built, and not each for itself.
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
		t.Errorf("there were %d builds, want 2 to 60", count)
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
		t.Errorf("there were %d builds, want at most 20", count)
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
		{"delete the project and create it again", func() { must(os.RemoveAll(root)); write(t, root, "p1/f.go", "package p") }},
		{"change a file of the project", func() { write(t, root, "p1/f.go", "package changed") }},
		{"move the project, and back", func() { must(os.Rename(root, root+"2")); must(os.Rename(root+"2", root)) }},
		{"change it then", func() { write(t, root, "p1/f.go", "package changed again") }},
	} {
		began := time.Now()
		step.do()
		f.wait(t)
		t.Logf("%v: %s", time.Since(began).Round(time.Millisecond), step.name)
	}
}

// Files that a running server writes are not built.
func TestWatchIgnored(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a.go", "package a", "data/log.db", "x", ".petrock/x", "x")
	f := follow(t, root)
	write(t, root, "data/log.db", "xx", "data/log.db-wal", "x", ".petrock/x", "xx", ".petrock/y", "x", "server.log", "x")
	time.Sleep(500 * time.Millisecond)
	if count := f.wait(t); count != 1 {
		t.Errorf("%d builds, want 1", count)
	}
	write(t, root, "a.go", "package b")
	f.wait(t)
}
