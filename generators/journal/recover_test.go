package journal_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/journal"
)

// interruptHalfway returns a project with an operation that was interrupted after its user files
// were written and before its derived files were.
func interruptHalfway(t *testing.T) (dir string) {
	t.Helper()
	before, after := trees()
	dir = before.write(t)
	_, dead := run(t, dir, journal.WithStep(func(what, path string) error {
		if what == "rename" && path == "a_gen.go" {
			kill()
		}
		return nil
	}), "generate", before, after)
	if !dead {
		t.Fatal("the process was not killed")
	}
	return dir
}

// Files that others refer to are written first and removed last.
func TestOrder(t *testing.T) {
	t.Parallel()
	before, after := trees()
	dir := before.write(t)
	var steps []string
	_, _ = run(t, dir, journal.WithStep(func(what, path string) error {
		if !strings.HasPrefix(path, ".petrock/") && (what == "rename" || what == "remove") {
			steps = append(steps, what+" "+path)
		}
		return nil
	}), "generate", before, after)
	want := "rename empty, rename run.sh, rename tools/add.go, rename tools/new/a/mail.go, rename tools/new/a/mail.sh, rename tools/new/a/void, " +
		"rename a_gen.go, rename tools/new/wire_gen.go, remove old_gen.go, remove tools/old/gone, remove tools/old/old.go"
	if got := strings.Join(steps, ", "); got != want {
		t.Errorf("the steps are\n%s\nwant\n%s", got, want)
	}
}

// Recovery does not touch files that were edited after the interruption, and restores all others.
func TestEditedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"tools/add.go":        "mine\n", // was done already
		"a_gen.go":            "mine\n", // was still to be done
		"tools/new/a/mail.go": "-",      // was made
		"tools/old/old.go":    "-",      // was to be removed, and is gone: as it was to be
		"tools/new/a/mail.sh": "/",      // is a folder now
	} {
		t.Run(name, func(t *testing.T) {
			before, after := trees()
			dir := interruptHalfway(t)
			file := filepath.Join(dir, filepath.FromSlash(name))
			want, finished := maps.Clone(before), false
			var err error
			switch text {
			case "-":
				err = os.Remove(file)
				finished = name == "tools/old/old.go" || name == "tools/new/a/mail.go" // as before is fine, too
			case "/":
				if err = os.Remove(file); err == nil {
					err = os.Mkdir(file, 0o755)
				}
				want[name+"/"] = ""
			default:
				err = os.WriteFile(file, []byte(text), 0o644)
				want[name] = " " + text
			}
			if err != nil {
				t.Fatal(err)
			}
			j := open(t, dir)
			said := j.Recovered()
			checkTidy(t, dir)
			if finished {
				after.compare(t, dir)
				if !strings.Contains(said, "has now been completed") {
					t.Errorf(`Recovered() = %q, want it to contain "has now been completed"`, said)
				}
				return
			}
			want.compare(t, dir)
			for _, say := range []string{"generate all (0001-", "has been rolled back: " + name + " changed in the meantime", "not restored, check them: " + name} {
				if !strings.Contains(said, say) {
					t.Errorf("got %q, want %q", said, say)
				}
			}
			if history, err := j.History(); err != nil || len(history) != 0 {
				t.Errorf("the history is %+v (%v); want no error and no history", history, err)
			}
		})
	}
}

// If the new content of a file is lost, the operation is rolled back. If its old content is lost,
// it stays as it is.
func TestLostObjects(t *testing.T) {
	t.Parallel()
	before, _ := trees()
	dir := interruptHalfway(t)
	objects, err := filepath.Glob(filepath.Join(dir, ".petrock", "objects", "*"))
	if err != nil || len(objects) == 0 {
		t.Fatal(objects, err)
	}
	for _, file := range objects {
		if text, err := os.ReadFile(file); err != nil || string(text) == "package x // 2\n" || string(text) == "package tools\n" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	j := open(t, dir)
	before["tools/add.go"] = " package tools // more\n"
	before.compare(t, dir)
	checkTidy(t, dir)
	said := j.Recovered()
	for _, say := range []string{"has been rolled back: a_gen.go: read saved content", "not restored, check them: tools/add.go"} {
		if !strings.Contains(said, say) {
			t.Errorf("got %q, want %q", said, say)
		}
	}
}

// A pending.json that no operation can have written is refused.
func TestForgedPending(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0", 64)
	for text, say := range map[string]string{
		`{`: "unexpected end of JSON input; it describes an interrupted operation: check the project's files, then remove it",
		`{"action": "generate", "id": "../../x"}`:                                 `"../../x" is not the id of an operation`,
		`{"action": "generate"}`:                                                  `"" is not the id of an operation`,
		`{"files": [{"path": "../x", "before": "` + hash + `"}]}`:                 "outside the project",
		`{"files": [{"path": ".git/hooks/pre-commit", "after": "` + hash + `"}]}`: "is reserved",
		`{"files": [{"path": "x", "after": "../../x"}]}`:                          "is not a hash",
	} {
		dir := tree{"go.mod": " module x\n", ".petrock/pending.json": " " + text}.write(t)
		for range 2 {
			if _, err := journal.Open(t.Context(), dir, journal.Options{}); err == nil || !strings.Contains(err.Error(), say) || !strings.Contains(err.Error(), ".petrock/pending.json") {
				t.Errorf("%s: got %v, want an error with %q and .petrock/pending.json in it", text, err, say)
			}
		}
		tree{"go.mod": " module x\n"}.compare(t, dir)
	}
}
