package appserve

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app/eventlog"
)

// contents returns the files of a folder, with hashes of their contents.
func contents(t *testing.T, dir string) (all string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			all += fmt.Sprintln(path)
			return err
		}
		text, err := os.ReadFile(path)
		all += fmt.Sprintf("%s %x\n", path, sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// log types and log sample show the events that a build must read, and create and change nothing.
func TestTypes(t *testing.T) {
	dir := filled(t, "a", "b", "c", "d")
	add(t, dir, eventlog.Record{Type: "posts/gone", Data: json.RawMessage(`{"n":1}`)}, eventlog.Record{Type: "posts/gone", Data: json.RawMessage(`{"n":2}`)})
	must(t, dir, "log", "skip", "1", "--reason", "x", "--force")
	must(t, dir, "log", "map", "5", "--type", "posts/create", "--input", `{"title":"was gone"}`, "--reason", "x", "--force")
	before := contents(t, dir)

	var got storedTypes
	if err := json.Unmarshal([]byte(must(t, dir, "log", "types", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprint(storedTypes{dir, []eventlog.TypeCount{{Type: "posts/create", Version: 1, Count: 4, First: 2, Last: 5}, {Type: "posts/gone", Version: 1, Count: 1, First: 6, Last: 6}}}); fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := must(t, dir, "log", "types"), "TYPE          VERSION  EVENTS  FIRST  LAST\nposts/create  1        4       2      5\nposts/gone    1        1       6      6\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	sample := must(t, dir, "log", "sample", "posts/create", "--limit", "3")
	if lines := strings.Split(sample, "\n"); len(lines) != 4 || !strings.Contains(lines[0], `"seq":2,`) || !strings.Contains(lines[2], `"data":{"title":"was gone"}`) {
		t.Errorf("got sample\n%s, want three lines, the first with %s, the third with %s", sample, `"seq":2,`, `"data":{"title":"was gone"}`)
	}
	if out := must(t, dir, "log", "sample", "posts/create", "--version", "2"); out != "" {
		t.Errorf("got sample %s, want %q", out, "")
	}
	if _, err := run(t, dir, "log", "sample", "posts/create", "--limit", "0"); err == nil {
		t.Error("limit 0: got no error, want one")
	}
	if after := contents(t, dir); after != before {
		t.Errorf("got files\n%swant\n%s", after, before)
	}
}

// If the data does not exist, it has no events, and is not created.
func TestTypesWithoutData(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "data")
	var got map[string]any
	if err := json.Unmarshal([]byte(must(t, dir, "log", "types", "--json")), &got); err != nil || fmt.Sprint(got) != fmt.Sprintf("map[data:%s types:[]]", dir) {
		t.Errorf("got %v, %v; want the data %s, no types and no error", got, err, dir)
	}
	if out := must(t, dir, "log", "types"); out != "no events in "+dir+"\n" {
		t.Errorf("got %s, want %v", out, "no events in "+dir+"\n")
	}
	if out := must(t, dir, "log", "sample", "posts/create"); out != "" {
		t.Errorf("got sample %s, want %q", out, "")
	}
	if files := contents(t, parent); files != parent+"\n" {
		t.Errorf("got files %s, want %v", files, parent+"\n")
	}
	if err := os.WriteFile(filepath.Join(parent, fileName), []byte("something else, which is longer than nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, parent, "log", "types"); err == nil {
		t.Errorf("got %s for a file that is not a store, want an error", out)
	}
}

// log types does not wait for a server.
func TestTypesWhileServing(t *testing.T) {
	dir := t.TempDir()
	client, end := serve(t, dir)
	defer end()
	for i := range 3 {
		if result := client.CallTool("posts_create", create{fmt.Sprint(i)}); result.IsError {
			t.Fatal(result.Text())
		}
		if out := must(t, dir, "log", "types"); !strings.Contains(out, fmt.Sprintf("posts/create  1        %d       1      %[1]d\n", i+1)) {
			t.Errorf("got\n%s, want %d events of posts/create", out, i+1)
		}
	}
}

// A program ignores events of skipped types in all of its commands.
func TestSkip(t *testing.T) {
	dir := filled(t, "a")
	add(t, dir, eventlog.Record{Type: "scratch/poke", Data: json.RawMessage(`{}`)})
	if _, err := run(t, dir, "replay"); err == nil || !strings.Contains(err.Error(), "//petrock:map scratch/poke") {
		t.Errorf("got error %v, want \"//petrock:map scratch/poke\" in it", err)
	}
	for _, line := range []string{"replay", "log skip 1 --reason x", "log restore 1 --reason x", "backup " + filepath.Join(t.TempDir(), "b.jsonl.gz")} {
		cmd := command(New("weather", posts()).Skip("scratch/poke"), append(strings.Fields(line), "--data", dir)...)
		var out strings.Builder
		cmd.SetOut(&out)
		if err := cmd.ExecuteContext(t.Context()); err != nil || strings.Contains(out.String(), "cannot be applied") {
			t.Errorf(`%s: got %s, %v; want no error, and no "cannot be applied"`, line, out.String(), err)
		}
	}
}

// A database without the log has no events. The password is not printed.
func TestTypesWithoutLog(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("no log: %w", fs.ErrNotExist), `"data": "postgres://me:xxxxx@db/x",`},
		{errors.New("unreachable"), "unreachable"},
	} {
		d := WithPostgres(New("weather", posts()), func(_ context.Context, _, _ string, mode eventlog.OpenMode) (*eventlog.Memory, error) {
			if mode != eventlog.OpenExisting {
				t.Errorf("the log is opened with the mode %v, want eventlog.OpenExisting", mode)
			}
			return nil, test.err
		})
		t.Setenv("WEATHER_DATA", "postgres://me:secret@db/x")
		cmd := command(d, "log", "types", "--json")
		var out strings.Builder
		cmd.SetOut(&out)
		err := cmd.ExecuteContext(t.Context())
		if got := fmt.Sprint(out.String(), err); !strings.Contains(got, test.want) || strings.Contains(got, "secret") || (err == nil) != errors.Is(test.err, fs.ErrNotExist) {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
