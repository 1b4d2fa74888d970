package journal_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/journal"
)

// A tree is the files of a project, by path, without .petrock. The text begins with an x if the
// file is executable, and a blank if not.
type tree map[string]string

// write writes the tree to a new folder and returns the folder.
func (want tree) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range want {
		file := filepath.Join(dir, filepath.FromSlash(name))
		mode := fs.FileMode(0o644)
		if text[0] == 'x' {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text[1:]), mode)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read returns the tree in a folder. An empty folder is an entry whose name ends with a slash.
func read(t *testing.T, dir string) tree {
	t.Helper()
	got := tree{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, file)
		name = filepath.ToSlash(name)
		switch {
		case name == ".petrock":
			return fs.SkipDir
		case entry.IsDir():
			if inside, err := os.ReadDir(file); err == nil && len(inside) == 0 && name != "." {
				got[name+"/"] = ""
			}
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		mark := " "
		if info.Mode()&0o100 != 0 {
			mark = "x"
		}
		got[name] = mark + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// changesTo returns the changes that turn one tree into another.
func (before tree) changesTo(after tree) []journal.Change {
	var files []journal.Change
	for name, text := range before {
		file := journal.Change{Path: name, Before: []byte(text[1:]), Derived: strings.HasSuffix(name, "_gen.go")}
		if now, ok := after[name]; ok {
			file.After = []byte(now[1:])
		}
		files = append(files, file)
	}
	for name, text := range after {
		if _, ok := before[name]; !ok {
			file := journal.Change{Path: name, After: []byte(text[1:]), Derived: strings.HasSuffix(name, "_gen.go")}
			if text[0] == 'x' {
				file.Mode = 0o755
			}
			files = append(files, file)
		}
	}
	return files
}

// trees returns the states before and after an operation that contains every kind of change.
func trees() (before, after tree) {
	before = tree{
		"go.mod":           " module x\n",
		"run.sh":           "xecho 1\n",
		"tools/add.go":     " package tools\n",
		"tools/old/old.go": " package old\n",
		"tools/old/gone":   "xgone\n",
		"a_gen.go":         " package x // 1\n",
		"old_gen.go":       " package x // old\n",
		"empty":            " ",
	}
	after = tree{
		"go.mod":                " module x\n",
		"run.sh":                "xecho 2\n",
		"tools/add.go":          " package tools // more\n",
		"tools/new/a/mail.go":   " package a\n",
		"tools/new/a/mail.sh":   "xmail\n",
		"tools/new/a/void":      " ",
		"a_gen.go":              " package x // 2\n",
		"tools/new/wire_gen.go": " package wire\n",
		"empty":                 " not any more\n",
	}
	if runtime.GOOS == "windows" { // where nothing is marked as a program
		for _, all := range []tree{before, after} {
			for name, text := range all {
				all[name] = " " + text[1:]
			}
		}
	}
	return before, after
}

func (want tree) compare(t *testing.T, dir string) {
	t.Helper()
	if got := read(t, dir); !maps.Equal(got, want) {
		t.Errorf("got files\n%q, want\n%q", got, want)
	}
}

func open(t *testing.T, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// checkTidy fails the test if .petrock contains temporary files.
func checkTidy(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"pending.json", "staged"} {
		if _, err := os.Lstat(filepath.Join(dir, ".petrock", name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf(".petrock/%s: got %v, want %v", name, err, fs.ErrNotExist)
		}
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	before, after := trees()
	dir := before.write(t)
	j := open(t, dir)
	if said := j.Recovered(); said != "" {
		t.Errorf("Recovered() = %q, want none: nothing was interrupted", said)
	}
	if history, err := j.History(); err != nil || len(history) != 0 {
		t.Errorf("at first, the history is %v (%v); want no error and no history", history, err)
	}
	op, err := change(j, journal.Operation{Action: "generate", Title: "generate all"}, before.changesTo(after))
	if err != nil {
		t.Fatal(err)
	}
	after.compare(t, dir)
	checkTidy(t, dir)
	if !strings.HasPrefix(op.ID, "0001-") || len(op.ID) != 11 || time.Since(op.Time) > time.Minute {
		t.Errorf("the operation is %+v; want an ID of 11 characters that starts with 0001-, and a time of the last minute", op)
	}
	if len(op.Files) != 11 { // all but go.mod
		t.Errorf("the operation records %d files, want 11", len(op.Files))
	}

	// Undo it, in a journal that is opened again.
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir)
	history, err := j.History()
	if err != nil || len(history) != 1 || history[0].ID != op.ID || history[0].Title != "generate all" || !history[0].Time.Equal(op.Time) {
		t.Fatalf("the history is %+v (%v)", history, err)
	}
	undo, err := change(j, journal.Operation{Action: "undo", Title: "undo " + op.ID, Undoes: op.ID}, reverse(t, j, history[0]))
	if err != nil {
		t.Fatal(err)
	}
	before.compare(t, dir)
	if !strings.HasPrefix(undo.ID, "0002-") {
		t.Errorf(`the second operation: got %q, want the prefix "0002-"`, undo.ID)
	}
	history, err = j.History()
	if err != nil || len(history) != 2 || history[1].Undoes != op.ID {
		t.Errorf("the history is %+v (%v); want no error and two operations, the second an undo of %s", history, err, op.ID)
	}
}

// reverse returns the changes that undo an operation.
func reverse(t *testing.T, j *journal.Journal, op journal.Operation) []journal.Change {
	t.Helper()
	var files []journal.Change
	for _, record := range op.Files {
		before, err := j.Contents(record.Before)
		if err != nil {
			t.Fatal(err)
		}
		after, err := j.Contents(record.After)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, journal.Change{Path: record.Path, Before: after, After: before, Mode: record.Mode, Derived: record.Derived})
	}
	return files
}

// An operation without an action is not recorded; one without files is.
func TestNoRecord(t *testing.T) {
	t.Parallel()
	before, after := trees()
	dir := before.write(t)
	j := open(t, dir)
	op, err := change(j, journal.Operation{}, before.changesTo(after))
	if err != nil || op.ID != "" {
		t.Fatalf(`%+v %v; want no error and ID ""`, op, err)
	}
	after.compare(t, dir)
	checkTidy(t, dir)
	if _, err := change(j, journal.Operation{}, after.changesTo(after)); err != nil {
		t.Error(err)
	}
	if history, err := j.History(); err != nil || len(history) != 0 {
		t.Errorf("the history is %v (%v); want no error and no history", history, err)
	}
	if _, err := change(j, journal.Operation{Action: "undo", Undoes: "0001-abcdef"}, nil); err != nil {
		t.Error(err)
	}
	if history, err := j.History(); err != nil || len(history) != 1 || history[0].Files == nil {
		t.Errorf("the history is %+v (%v); want no error and one operation with its files", history, err)
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	dir := tree{"go.mod": " module x\n"}.write(t)
	j := open(t, dir)
	if _, err := j.Root().Stat("go.mod"); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, ".petrock", ".gitignore")); err != nil || string(text) != "*\n" {
		t.Errorf(`.gitignore is %q (%v), want "*\n"`, text, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := journal.Open(ctx, dir, journal.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second Open returned %v, want %v", err, context.DeadlineExceeded)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(t.Context(), filepath.Join(dir, "nowhere"), journal.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a project that is not there: got %v, want %v", err, fs.ErrNotExist)
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	second, err := journal.Open(t.Context(), dir, journal.Options{Waiting: func() { j.Close() }})
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

// Errors name the files of .petrock that are lost or damaged.
func TestDamaged(t *testing.T) {
	t.Parallel()
	before, after := trees()
	dir := before.write(t)
	j := open(t, dir)
	op, err := change(j, journal.Operation{Action: "generate"}, before.changesTo(after))
	if err != nil {
		t.Fatal(err)
	}
	hash := op.Files[0].Before
	object := filepath.Join(dir, ".petrock", "objects", hash)
	if err := os.WriteFile(object, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Contents(hash); err == nil || !strings.Contains(err.Error(), hash+" was changed") {
		t.Errorf("a changed object: %v; want an error containing %q", err, hash+" was changed")
	}
	if err := os.Remove(object); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Contents(hash); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a lost object: got %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := j.Contents("../operations/" + op.ID + ".json"); err == nil {
		t.Error("Contents accepts an invalid hash")
	}
	for name, text := range map[string]string{
		"operations/0002-aaaaaa.json": "{",
		"operations/0003-aaaaaa.json": `{"id": "0004-aaaaaa", "action": "generate"}`,
		"operations/notes.json":       "{}",
		"operations/.DS_Store":        "",
	} {
		if err := os.WriteFile(filepath.Join(dir, ".petrock", filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err = j.History()
	for _, say := range []string{"0002-aaaaaa.json: unexpected end", `0003-aaaaaa.json: contains operation "0004-aaaaaa"`, "notes.json", "move it away"} {
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("history: got %v, want an error with %q in it", err, say)
		}
	}
	if err != nil && strings.Contains(err.Error(), "DS_Store") {
		t.Error(err)
	}
	// The next operation still gets a new number.
	op, err = change(j, journal.Operation{Action: "generate"}, nil)
	if err != nil || !strings.HasPrefix(op.ID, "0004-") {
		t.Errorf(`the next operation is %s (%v); want no error and ID starting with "0004-"`, op.ID, err)
	}
}

// Numbers of more than four digits come after the others.
func TestManyOperations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	for _, id := range []string{"9999-aaaaaa", "10000-aaaaaa"} {
		text := `{"id": "` + id + `", "action": "generate"}`
		if err := os.WriteFile(filepath.Join(dir, ".petrock", "operations", id+".json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	op, err := change(j, journal.Operation{Action: "generate"}, nil)
	if err != nil || !strings.HasPrefix(op.ID, "10001-") {
		t.Fatalf(`the next operation is %s (%v); want no error and ID starting with "10001-"`, op.ID, err)
	}
	history, err := j.History()
	if err != nil || len(history) != 3 || history[0].ID != "9999-aaaaaa" || history[2].ID != op.ID {
		t.Errorf("the history is %+v (%v); want no error and three operations, the first 9999-aaaaaa and the third %s", history, err, op.ID)
	}
}

func BenchmarkApply(b *testing.B) {
	dir := b.TempDir()
	j, err := journal.Open(b.Context(), dir, journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	from, to := tree{}, tree{"tools/mail.go": " package tools\n", "tools/mail_test.go": " package tools\n", "tools/tools_gen.go": " package tools\n"}
	for b.Loop() {
		if _, err := change(j, journal.Operation{}, from.changesTo(to)); err != nil {
			b.Fatal(err)
		}
		from, to = to, from
	}
}

// Files keep their permissions, regardless of the umask.
func TestMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	dir := tree{"a": " 1"}.write(t)
	file := filepath.Join(dir, "a")
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	j := open(t, dir)
	var op journal.Operation
	for _, step := range []journal.Change{
		{Path: "a", Before: []byte("1"), After: []byte("2"), Mode: 0o600}, // which counts for a new file alone
		{Path: "a", Before: []byte("2")},
		{Path: "a", After: []byte("3")},
	} {
		if step.Before == nil {
			step.Mode = op.Files[0].Mode
		}
		var err error
		if op, err = change(j, journal.Operation{Action: "generate"}, []journal.Change{step}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if step.After != nil && (err != nil || info.Mode() != 0o666) || op.Files[0].Mode != 0o666 {
			t.Errorf("%s: %v %v, recorded as %v", step.Action(), info, err, op.Files[0].Mode)
		}
	}
	info, err := os.Stat(filepath.Join(dir, ".petrock", "objects", journal.Hash([]byte("3"))))
	if err != nil {
		t.Error(err)
	} else if info.Mode() != 0o600 {
		t.Errorf("an object has the mode %v, want %v", info.Mode(), os.FileMode(0o600))
	}
}

// change applies and records an operation.
func change(j *journal.Journal, op journal.Operation, files []journal.Change) (journal.Operation, error) {
	op, err := j.Apply(op, files)
	if err == nil {
		err = j.Record(op)
	}
	return op, err
}
