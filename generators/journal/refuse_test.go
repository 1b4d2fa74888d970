package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/journal"
)

// link makes a link, or skips the test where one may not.
func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(filepath.FromSlash(to), at); err != nil {
		t.Skip(err)
	}
}

// Nothing is written through a path that leads where no operation may write.
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
		"../x":                   "outside of the project",
		"/x":                     "outside of the project",
		"":                       "outside of the project",
		"tools/../../x":          "outside of the project",
		".":                      "not a clean path",
		"./x":                    "not a clean path",
		"tools//x":               "not a clean path",
		"tools/":                 "not a clean path",
		"tools/../x":             "not a clean path",
		`tools\x`:                "use slashes",
		"c:x":                    "colon",
		"a\nb":                   "does not name a file",
		".git/hooks/x":           "left alone",
		".GIT/hooks/x":           "left alone",
		".git./hooks/x":          "left alone",
		"GIT~1/x":                "left alone",
		"below/.git/config":      "left alone",
		".git":                   "left alone",
		".petrock/lock":          "left alone",
		".Petrock/x":             "left alone",
		"linked.go":              "linked.go is a link; move it away",
		"inner.go":               "inner.go is a link",
		"linked/x":               "linked is a link that leads nowhere, or out of the project",
		"up/x":                   "up is a link that leads nowhere, or out of the project",
		"dangling/x":             "dangling is a link that leads nowhere",
		"hooks/x":                "hooks is a link to what is not the project's own",
		"state/x":                "state is a link to what is not the project's own",
		"mod/x":                  "mod is a link, and not to a folder",
		"tools":                  "tools is a folder; move it away",
		"go.mod/x":               "go.mod is not a folder; move it away",
		"go.mod/x/y":             "go.mod is not a folder",
		"tools/Add.go":           "tools/Add.go and tools/add.go differ by letter case alone",
		"Tools/sub.go":           "Tools and tools differ by letter case alone",
		"instruments/ADD.GO":     "differ by letter case alone",
		"GO.MOD/x":               "differ by letter case alone",
		strings.Repeat("x", 300): "", // the system says why
	} {
		_, err := change(j, journal.Operation{Action: "generate"}, []journal.Change{
			{Path: "first.go", After: []byte("package x\n")},
			{Path: path, After: []byte("package x\n")},
		})
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, and not %q", path, err, say)
		}
		before.compare(t, dir)
	}
	tidy(t, dir)
	if names, err := os.ReadDir(outside); err != nil || len(names) > 0 {
		t.Errorf("outside, there are %v (%v)", names, err)
	}

	// A folder that is a link is fine if it stays inside, and is not removed with its last file.
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

// Files of one change must go together.
func TestTogether(t *testing.T) {
	t.Parallel()
	dir := tree{"a": " 1"}.write(t)
	j := open(t, dir)
	for _, c := range []struct {
		say   string
		paths []string
	}{
		{"x.go is changed twice", []string{"x.go", "y.go", "x.go"}},
		{"b/x.go and b/X.go differ by letter case alone", []string{"b/x.go", "b/X.go"}},
		{"differ by letter case alone", []string{"B/x.go", "b/y.go"}},
		{"differ by letter case alone", []string{"straſe", "STRASE"}},
		{"b is to be a file and a folder at once", []string{"b/x.go", "b"}},
	} {
		var files []journal.Change
		for _, path := range c.paths {
			files = append(files, journal.Change{Path: path, After: []byte("new")})
		}
		if _, err := change(j, journal.Operation{}, files); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%q: %v, and not %q", c.paths, err, c.say)
		}
	}
	// Both may be there already, where the system knows them apart.
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

// All files that changed meanwhile are named at once, and nothing is written.
func TestChangedMeanwhile(t *testing.T) {
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
	_, err = change(j, journal.Operation{Action: "generate"}, before.to(after))
	if !errors.Is(err, journal.ErrChanged) {
		t.Fatal(err)
	}
	for _, say := range []string{
		"go.mod changed meanwhile: it is not as it was", "tools/add.go changed meanwhile: it is not as it was",
		"old_gen.go changed meanwhile: it is gone", "tools/new/a/mail.go changed meanwhile: it was not there",
	} {
		if !strings.Contains(err.Error(), say) {
			t.Errorf("it says %v, and not %q", err, say)
		}
	}
	now.compare(t, dir)
	tidy(t, dir)
	if history, err := j.History(); err != nil || len(history) > 0 {
		t.Errorf("the history is %v (%v)", history, err)
	}
}

// What is in the place of .petrock, or of something in it, leads nowhere else.
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
				t.Errorf("%s may be a link", name)
			}
			if names, err := os.ReadDir(outside); err != nil || len(names) > 0 {
				t.Errorf("outside, there are %v (%v)", names, err)
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
		t.Errorf("a file in its place: %v", err)
	}
}
