package place_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/cmd/petrock/internal/filelock"
	"github.com/petrock/petrock/cmd/petrock/internal/place"
)

// open claims a place and puts two names into it.
func open(t *testing.T, dest string) *place.Place {
	t.Helper()
	p, err := place.Open(dest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(p.Dir(), "go.mod"))
	write(t, filepath.Join(p.Dir(), "tools", "add.go"))
	return p
}

func write(t *testing.T, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// holds fails the test unless a folder holds these names, all that are hidden among them.
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
		t.Errorf("%s holds %q, not %q", dir, got, want)
	}
}

func TestMove(t *testing.T) {
	for _, dest := range []string{"hello", "a/b/hello", "my folder/hello", strings.Repeat("x", 255)} {
		parent := t.TempDir()
		p := open(t, filepath.Join(parent, dest))
		if _, err := os.Stat(p.Dest()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("before the move it is there: %v", err)
		}
		if err := errors.Join(p.Move(), p.Close()); err != nil {
			t.Fatal(err)
		}
		holds(t, filepath.Join(parent, dest), "go.mod", "tools")
		holds(t, filepath.Dir(filepath.Join(parent, dest)), filepath.Base(dest))
	}
}

// An empty folder stays the folder that it is: somebody may be in it.
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
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("it is another folder now (%v)", err)
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
	write(t, filepath.Join(dir, "full", "README.md"))
	write(t, filepath.Join(dir, "file"))
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for dest, say := range map[string]string{
		"full":         "not empty: it holds README.md",
		"file":         "not a folder",
		"file/below/x": "not a directory",
		"link":         "leads nowhere",
		"x\x00y":       "invalid argument",
	} {
		_, err := place.Open(filepath.Join(dir, dest))
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v, and not %q", dest, err, say)
		}
		if dest != "file/below/x" && place.Check(filepath.Join(dir, dest)) == nil {
			t.Errorf("%s: a look at it finds nothing wrong", dest)
		}
	}
	holds(t, dir, "file", "full", "link")
	holds(t, filepath.Join(dir, "full"), "README.md")
}

// Somebody else came first while this one was at work.
func TestTakenMeanwhile(t *testing.T) {
	parent := t.TempDir()
	dest := filepath.Join(parent, "hello")
	p := open(t, dest)
	write(t, filepath.Join(dest, "theirs"))
	if err := p.Move(); err == nil {
		t.Error("the move overwrites")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, dest, "theirs")
	holds(t, parent, "hello")

	empty := t.TempDir()
	p = open(t, empty)
	write(t, filepath.Join(empty, "tools", "theirs.go"))
	if err := p.Move(); err == nil {
		t.Error("the move overwrites")
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
	if _, err := place.Open(dest); err == nil || !strings.Contains(err.Error(), "another petrock is at work") {
		t.Errorf("the second gets %v", err)
	}
	if err := errors.Join(first.Move(), first.Close()); err != nil {
		t.Fatal(err)
	}
	var notEmpty *place.NotEmptyError
	if _, err := place.Open(dest); !errors.As(err, &notEmpty) {
		t.Errorf("the third gets %v", err)
	}
}

// What a killed process leaves is removed by the next, for whatever it comes; what a living one
// holds is not.
func TestLeftovers(t *testing.T) {
	parent := t.TempDir()
	for _, left := range []string{".petrock-new-00000001/project/go.mod", ".petrock-new-00000001/lock", ".petrock-new-00000002/overlay.json"} {
		write(t, filepath.Join(parent, left))
	}
	write(t, filepath.Join(parent, ".petrock-new-00000003", "project", "go.mod"))
	lock, err := filelock.Try(filepath.Join(parent, ".petrock-new-00000003", "lock"))
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

	write(t, filepath.Join(parent, ".petrock-new", "project", "half.go"))
	p := open(t, parent)
	if err := errors.Join(p.Move(), p.Close()); err != nil {
		t.Fatal(err)
	}
	holds(t, parent, "go.mod", "tools")
}

// A move into an empty folder that was cut short is finished.
func TestFinished(t *testing.T) {
	dest := t.TempDir()
	write(t, filepath.Join(dest, "go.mod"))
	write(t, filepath.Join(dest, ".petrock-new", "moving"))
	write(t, filepath.Join(dest, ".petrock-new", "project", "tools", "add.go"))
	p, err := place.Open(dest)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Finished() {
		t.Error("it does not say so")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, dest, "go.mod", "tools")
}
