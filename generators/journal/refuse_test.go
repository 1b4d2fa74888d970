package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/journal"
)

// link creates a symbolic link, or skips the test if the system does not allow it.
func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(filepath.FromSlash(to), at); err != nil {
		t.Skip(err)
	}
}

// Paths outside the project, and paths into .git and .petrock, are refused.
func TestPaths(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	before := tree{
		"go.mod":          " module x\n",
		"tools/add.go":    " package tools\n",
		".git/config":     " ",
		".git/hooks/note": " ",
		"tools/README":    " ",
	}
	dir := before.write(t)
	link(t, filepath.Join(outside, "file"), filepath.Join(dir, "linked.go"))
	link(t, "go.mod", filepath.Join(dir, "inner.go"))
	link(t, outside, filepath.Join(dir, "linked"))
	link(t, "..", filepath.Join(dir, "up"))
	link(t, "nowhere", filepath.Join(dir, "dangling"))
	link(t, ".git/hooks", filepath.Join(dir, "hooks"))
	link(t, ".petrock", filepath.Join(dir, "state"))
	link(t, "go.mod", filepath.Join(dir, "mod"))
	link(t, "tools", filepath.Join(dir, "instruments"))
	j := open(t, dir)

	for path, say := range map[string]string{
		"../x":                   "outside the project",
		"/x":                     "outside the project",
		"":                       "outside the project",
		"tools/../../x":          "outside the project",
		".":                      "not a clean path",
		"./x":                    "not a clean path",
		"tools//x":               "not a clean path",
		"tools/":                 "not a clean path",
		"tools/../x":             "not a clean path",
		`tools\x`:                "separate names by slashes",
		"c:x":                    "colon",
		"a\nb":                   "is not a valid path on every system",
		".git/hooks/x":           "is reserved",
		".GIT/hooks/x":           "is reserved",
		".git./hooks/x":          "is reserved",
		"GIT~1/x":                "is reserved",
		"below/.git/config":      "is reserved",
		".git":                   "is reserved",
		".hg/hgrc":               "is reserved",
		"tools/.SVN/x":           "is reserved",
		".petrock/lock":          "is reserved",
		".Petrock/x":             "is reserved",
		"linked.go":              `"linked.go" is not a regular file; move it away`,
		"inner.go":               `"inner.go" is not a regular file`,
		"linked/x":               `"linked" is a link that is broken, leaves the project`,
		"up/x":                   `"up" is a link that is broken, leaves the project`,
		"dangling/x":             `"dangling" is a link that is broken`,
		"hooks/x":                `"hooks" is a link into .git or .petrock`,
		"state/x":                `"state" is a link into .git or .petrock`,
		"mod/x":                  "or is not to a folder",
		"tools":                  `"tools" is not a regular file; move it away`,
		"go.mod/x":               `"go.mod" is not a folder; move it away`,
		"go.mod/x/y":             `"go.mod" is not a folder`,
		"tools/Add.go":           "tools/Add.go and tools/add.go differ only in letter case",
		"Tools/sub.go":           "Tools and tools differ only in letter case",
		"instruments/ADD.GO":     "differ only in letter case",
		"GO.MOD/x":               "differ only in letter case",
		strings.Repeat("x", 300): "", // the system says why
	} {
		_, err := change(j, journal.Operation{Action: "generate"}, []journal.Change{
			{Path: "first.go", After: []byte("package x\n")},
			{Path: path, After: []byte("package x\n")},
		})
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: got %v, want an error with %q in it", path, err, say)
		}
		before.compare(t, dir)
	}
	checkTidy(t, dir)
	if names, err := os.ReadDir(outside); err != nil || len(names) > 0 {
		t.Errorf("the folder outside contains %v, %v; want it empty", names, err)
	}

	// A link to a folder inside the project is allowed, and is not removed with its last file.
	if _, err := change(j, journal.Operation{}, []journal.Change{{Path: "instruments/sub.go", After: []byte("x")}}); err != nil {
		t.Error(err)
	}
	before["tools/sub.go"] = " x"
	before.compare(t, dir)
	var all []journal.Change
	for _, name := range []string{"add.go", "sub.go", "README"} {
		all = append(all, journal.Change{Path: "instruments/" + name, Before: []byte(before["tools/"+name][1:])})
		delete(before, "tools/"+name)
	}
	if _, err := change(j, journal.Operation{}, all); err != nil {
		t.Error(err)
	}
	before["tools/"] = ""
	before.compare(t, dir)
}

// Conflicting paths in one operation are refused.
func TestConflictingPaths(t *testing.T) {
	t.Parallel()
	dir := tree{"a": " 1"}.write(t)
	j := open(t, dir)
	for _, c := range []struct {
		say   string
		paths []string
	}{
		{"x.go is changed twice", []string{"x.go", "y.go", "x.go"}},
		{"b/x.go and b/X.go differ only in letter case", []string{"b/x.go", "b/X.go"}},
		{"differ only in letter case", []string{"B/x.go", "b/y.go"}},
		{"differ only in letter case", []string{"straſe", "STRASE"}},
		{"b would be both a file and a folder", []string{"b/x.go", "b"}},
	} {
		var files []journal.Change
		for _, path := range c.paths {
			files = append(files, journal.Change{Path: path, After: []byte("new")})
		}
		if _, err := change(j, journal.Operation{}, files); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%q: got %v, want an error with %q in it", c.paths, err, c.say)
		}
	}
	// Both may exist already, on a system that distinguishes them.
	if err := os.WriteFile(filepath.Join(dir, "A"), []byte("2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(text) != "1" {
		t.Skip("this system takes a and A for one")
	}
	if _, err := change(j, journal.Operation{}, []journal.Change{{Path: "A", Before: []byte("2")}}); err != nil {
		t.Errorf("one of two can be removed: %v", err)
	}
	tree{"a": " 1"}.compare(t, dir)
}

// The error names all files that changed in the meantime, and nothing is written.
func TestChangedSinceRead(t *testing.T) {
	t.Parallel()
	before, after := trees()
	dir := before.write(t)
	now := tree{}
	for name, text := range before {
		now[name] = text
	}
	now["go.mod"] = " module y\n" // which the change reads and does not write
	now["tools/add.go"] = " package tools // mine\n"
	now["tools/new/a/mail.go"] = " package mine\n"
	delete(now, "old_gen.go")
	edit := func(name string) error {
		file := filepath.Join(dir, filepath.FromSlash(name))
		return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(now[name][1:]), 0o644))
	}
	err := errors.Join(edit("go.mod"), edit("tools/add.go"), edit("tools/new/a/mail.go"), os.Remove(filepath.Join(dir, "old_gen.go")))
	if err != nil {
		t.Fatal(err)
	}
	j := open(t, dir)
	_, err = change(j, journal.Operation{Action: "generate"}, before.changesTo(after))
	if !errors.Is(err, journal.ErrChanged) {
		t.Fatal(err)
	}
	for _, say := range []string{
		"go.mod changed in the meantime", "tools/add.go changed in the meantime",
		"old_gen.go changed in the meantime", "tools/new/a/mail.go changed in the meantime",
	} {
		if !strings.Contains(err.Error(), say) {
			t.Errorf("got %v, want %q", err, say)
		}
	}
	now.compare(t, dir)
	checkTidy(t, dir)
	if history, err := j.History(); err != nil || len(history) > 0 {
		t.Errorf("the history is %v (%v); want no error and no history", history, err)
	}
}

// Links in the place of .petrock, or of a file in it, are refused.
func TestForeignState(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".petrock", ".petrock/objects", ".petrock/operations", ".petrock/lock"} {
		outside := t.TempDir()
		dir := tree{"go.mod": " module x\n"}.write(t)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		link(t, filepath.Join(outside, "x"), filepath.Join(dir, name))
		for range 2 {
			if _, err := journal.Open(t.Context(), dir, journal.Options{}); err == nil {
				t.Errorf("Open accepts a link as %s", name)
			}
			if names, err := os.ReadDir(outside); err != nil || len(names) > 0 {
				t.Errorf("the folder outside contains %v, %v; want it empty", names, err)
			}
			if err := os.MkdirAll(filepath.Join(outside, "y"), 0o755); err != nil || name == ".petrock/lock" {
				break
			}
			os.Remove(filepath.Join(dir, name))
			link(t, filepath.Join(outside, "y"), filepath.Join(dir, name))
			outside = filepath.Join(outside, "y")
		}
	}
	dir := tree{".petrock": " a file"}.write(t)
	if _, err := journal.Open(t.Context(), dir, journal.Options{}); err == nil || !strings.Contains(err.Error(), ".petrock is not a folder; move it away") {
		t.Errorf(`a file in its place: %v; want an error containing ".petrock is not a folder; move it away"`, err)
	}
}
