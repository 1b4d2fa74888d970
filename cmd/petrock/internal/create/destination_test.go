package create

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/plumbing/filelock"
)

// open opens a destination and writes two files.
func open(t *testing.T, dest string) *destination {
	t.Helper()
	p, err := openDestination(dest)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(p.Dir(), "go.mod"))
	writeFile(t, filepath.Join(p.Dir(), "tools", "add.go"))
	return p
}

func writeFile(t *testing.T, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// holds fails the test unless a folder has exactly these entries, including hidden ones.
func holds(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("entries of %s = %q, want %q", dir, got, want)
	}
}

func TestMove(t *testing.T) {
	for _, dest := range []string{"hello", "a/b/hello", "my folder/hello", strings.Repeat("x", 255)} {
		parent := t.TempDir()
		p := open(t, filepath.Join(parent, dest))
		if _, err := os.Stat(p.Dest()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Stat of the destination before the move = %v, want %v", err, os.ErrNotExist)
		}
		if err := errors.Join(p.Move(), p.Close()); err != nil {
			t.Fatal(err)
		}
		holds(t, filepath.Join(parent, dest), "go.mod", "tools")
		holds(t, filepath.Dir(filepath.Join(parent, dest)), filepath.Base(dest))
	}
}

// An empty folder is not replaced, because it may be the working directory of another process.
func TestMoveIntoEmptyFolder(t *testing.T) {
	dest := t.TempDir()
	before, err := os.Stat(dest)
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, dest)
	if err := errors.Join(p.Move(), p.Close()); err != nil {
		t.Fatal(err)
	}
	holds(t, dest, "go.mod", "tools")
	after, err := os.Stat(dest)
	if err != nil {
		t.Error(err)
	} else if !os.SameFile(before, after) {
		t.Errorf("%s is another folder now, want the same", after.Name())
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	if err := open(t, filepath.Join(parent, "a", "b", "hello")).Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, parent)
	if err := open(t, parent).Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, parent)
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "full", "README.md"))
	writeFile(t, filepath.Join(dir, "file"))
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for dest, say := range map[string]string{
		"full":         "not empty: it contains README.md",
		"file":         "not a folder",
		"file/below/x": "not a directory",
		"link":         "broken symbolic link",
		"x\x00y":       "invalid argument",
	} {
		_, err := openDestination(filepath.Join(dir, dest))
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("openDestination(%q): err = %v, want it to contain %q", dest, err, say)
		}
		if dest != "file/below/x" && checkDestination(filepath.Join(dir, dest)) == nil {
			t.Errorf("checkDestination(%q) = nil, want an error", dest)
		}
	}
	holds(t, dir, "file", "full", "link")
	holds(t, filepath.Join(dir, "full"), "README.md")
}

// A move fails if another process has written to the destination in the meantime, and its files
// stay.
func TestTakenMeanwhile(t *testing.T) {
	parent := t.TempDir()
	dest := filepath.Join(parent, "hello")
	p := open(t, dest)
	writeFile(t, filepath.Join(dest, "theirs"))
	var notEmpty *notEmptyError
	if err := p.Move(); !errors.As(err, &notEmpty) {
		t.Errorf("Move() = %v (%T), want %T", err, err, notEmpty)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, dest, "theirs")
	holds(t, parent, "hello")

	empty := t.TempDir()
	p = open(t, empty)
	writeFile(t, filepath.Join(empty, "tools", "theirs.go"))
	if err := p.Move(); !errors.As(err, &notEmpty) {
		t.Errorf("Move() = %v (%T), want %T", err, err, notEmpty)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, empty, "tools")
	holds(t, filepath.Join(empty, "tools"), "theirs.go")
}

func TestTwoAtOnePlace(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "hello")
	first := open(t, dest)
	if _, err := openDestination(dest); err == nil || !strings.Contains(err.Error(), "another petrock process is creating") {
		t.Errorf(`the second run: err = %v, want it to contain "another petrock process is creating"`, err)
	}
	if err := errors.Join(first.Move(), first.Close()); err != nil {
		t.Fatal(err)
	}
	var notEmpty *notEmptyError
	if _, err := openDestination(dest); !errors.As(err, &notEmpty) {
		t.Errorf("the third gets %v (%T), want %T", err, err, notEmpty)
	}
}

// A run removes the hidden folders of killed runs, for any destination, but not those of running
// ones.
func TestLeftovers(t *testing.T) {
	parent := t.TempDir()
	for _, left := range []string{".petrock-new-00000001/project/go.mod", ".petrock-new-00000001/lock", ".petrock-new-00000002/scratch/overlay.json"} {
		writeFile(t, filepath.Join(parent, left))
	}
	writeFile(t, filepath.Join(parent, ".petrock-new-00000003", "project", "go.mod"))
	lock, err := filelock.TryLock(filepath.Join(parent, ".petrock-new-00000003", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := open(t, filepath.Join(parent, "hello")).Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, parent, ".petrock-new-00000003")
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, filepath.Join(parent, "hello")).Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, parent)

	// Even a run that is refused removes them.
	writeFile(t, filepath.Join(parent, ".petrock-new-00000004", "project", "go.mod"))
	writeFile(t, filepath.Join(parent, "full", "file"))
	if _, err := openDestination(filepath.Join(parent, "full")); err == nil {
		t.Error("openDestination of a full folder: err = nil, want an error")
	}
	holds(t, parent, "full")
	if err := os.RemoveAll(filepath.Join(parent, "full")); err != nil {
		t.Fatal(err)
	}

	writeFile(t, filepath.Join(parent, ".petrock-new", "project", "half.go"))
	p := open(t, parent)
	if err := errors.Join(p.Move(), p.Close()); err != nil {
		t.Fatal(err)
	}
	holds(t, parent, "go.mod", "tools")
}

// A move into an empty folder that was interrupted, after any number of entries, is finished.
func TestFinished(t *testing.T) {
	all := []string{".git", "cmd", "go.mod", "tools"}
	for moved := range len(all) + 2 { // in the last round, the folder of the entries is removed too
		dest := t.TempDir()
		mark(t, dest, all...)
		writeFile(t, filepath.Join(dest, ".petrock-new", "lock"))
		if moved <= len(all) {
			if err := os.MkdirAll(filepath.Join(dest, ".petrock-new", "project"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for i, name := range all {
			if i < moved {
				writeFile(t, filepath.Join(dest, name, "file"))
			} else {
				writeFile(t, filepath.Join(dest, ".petrock-new", "project", name, "file"))
			}
		}
		p, err := openDestination(dest)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Finished() {
			t.Error("Finished() = false, want true after the move")
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		holds(t, dest, all...)
	}
}

// If the rest cannot be moved, nothing is lost, and a later run moves it.
func TestUnfinished(t *testing.T) {
	dest := t.TempDir()
	writeFile(t, filepath.Join(dest, "cmd", "main.go"))
	writeFile(t, filepath.Join(dest, "go.mod")) // written by the user in the meantime
	mark(t, dest, "cmd", "go.mod", "tools")
	writeFile(t, filepath.Join(dest, ".petrock-new", "project", "go.mod"))
	writeFile(t, filepath.Join(dest, ".petrock-new", "project", "tools", "add.go"))
	for range 2 {
		var unfinished *unfinishedError
		if _, err := openDestination(dest); !errors.As(err, &unfinished) || !strings.Contains(err.Error(), "go.mod") {
			t.Fatalf("got %v (%T), want %T that names go.mod", err, err, unfinished)
		}
		holds(t, filepath.Join(dest, ".petrock-new", "project"), "go.mod", "tools")
	}
	if err := os.Remove(filepath.Join(dest, "go.mod")); err != nil {
		t.Fatal(err)
	}
	p, err := openDestination(dest)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, dest, "cmd", "go.mod", "tools")
}

// If the user has removed the entries that an interrupted move had moved, the rest is not moved,
// and the user's files stay.
func TestGivenUp(t *testing.T) {
	dest := t.TempDir()
	mark(t, dest, "cmd", "go.mod")
	writeFile(t, filepath.Join(dest, ".petrock-new", "project", "go.mod"))
	writeFile(t, filepath.Join(dest, "theirs"))
	if _, err := openDestination(dest); err == nil || !strings.Contains(err.Error(), "cmd no longer exists") {
		t.Errorf(`next to a file of the user: err = %v, want it to contain "cmd no longer exists"`, err)
	}
	holds(t, dest, ".petrock-new", "theirs")
	if err := os.Remove(filepath.Join(dest, "theirs")); err != nil {
		t.Fatal(err)
	}
	p := open(t, dest)
	if p.Finished() {
		t.Error("Finished() = true, want false: only a part was moved")
	}
	if err := errors.Join(p.Move(), p.Close()); err != nil {
		t.Fatal(err)
	}
	holds(t, dest, "go.mod", "tools")
}

// mark writes the file that a process leaves if it is killed while it moves these names.
func mark(t *testing.T, dest string, names ...string) {
	t.Helper()
	file := filepath.Join(dest, ".petrock-new", "moving")
	writeFile(t, file)
	if err := os.WriteFile(file, []byte(`["`+strings.Join(names, `","`)+`"]`), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A link, a file, or a folder with third-party files that has the name of a hidden folder is not
// changed.
func TestForeign(t *testing.T) {
	precious := t.TempDir()
	writeFile(t, filepath.Join(precious, "file"))
	link := func(at string) error { return os.Symlink(precious, at) }
	file := func(at string) error { return os.WriteFile(at, nil, 0o644) }
	folder := func(at string) error { writeFile(t, filepath.Join(at, "diary")); return nil }

	// The name of the hidden folder next to the destination.
	parent := t.TempDir()
	probe := open(t, filepath.Join(parent, "hello"))
	beside := filepath.Base(filepath.Dir(probe.Dir()))
	probe.Close()

	for what, put := range map[string]func(string) error{"a link": link, "a file": file, "a folder": folder} {
		for _, inside := range []bool{false, true} {
			parent := t.TempDir()
			dest, hidden := filepath.Join(parent, "hello"), filepath.Join(parent, beside)
			if inside {
				dest, hidden = parent, filepath.Join(parent, ".petrock-new")
			}
			if err := put(hidden); err != nil {
				t.Fatal(err)
			}
			if _, err := openDestination(dest); err == nil || !strings.Contains(err.Error(), "already exists") {
				t.Errorf(`%s (inside: %t): got %v; want an error containing "already exists"`, what, inside, err)
			}
			holds(t, parent, filepath.Base(hidden))
		}
	}

	parent = t.TempDir()
	writeFile(t, filepath.Join(parent, ".petrock-new-notes", "diary"))
	writeFile(t, filepath.Join(parent, ".petrock-new-0000000a", "diary"))
	if err := link(filepath.Join(parent, ".petrock-new-0000000b")); err != nil {
		t.Fatal(err)
	}
	if err := open(t, filepath.Join(parent, "hello")).Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, parent, ".petrock-new-0000000a", ".petrock-new-0000000b", ".petrock-new-notes")
	holds(t, precious, "file")
}
