package appserve

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// An amendment that makes a log worse is refused, unless it is forced.
func TestAmendmentIsTried(t *testing.T) {
	for _, line := range []string{
		"log skip 1 --reason x", // which event 2 needs
		"log map 3 --type posts/writ --reason x",
		"log map 1 --type posts/creat --reason x",
		"log map 3 --type posts/create --version 7 --reason x",
		"log map 3 --type posts/create --input {\"title\":1} --reason x",
	} {
		t.Run(line, func(t *testing.T) {
			dir := filled(t, "a")
			add(t, dir, eventlog.Record{Type: "posts/drop", Data: json.RawMessage(`{}`)}, eventlog.Record{Type: "posts/write", Data: json.RawMessage(`{"title":"b"}`)})
			before := must(t, dir, "log")
			_, err := run(t, dir, strings.Fields(line)...)
			if terminal.ExitCode(err) != terminal.ExitFailure || !strings.HasPrefix(err.Error(), "with this amendment, event ") || !strings.Contains(err.Error(), "to record the change anyway, add --force") {
				t.Errorf("got exit code %d, error %v; want %d, and an error that starts with %q and contains %q", terminal.ExitCode(err), err, terminal.ExitFailure, "with this amendment, event ", "to record the change anyway, add --force")
			}
			if strings.Contains(err.Error(), "NAME log") {
				t.Errorf(`the error is %v, want the name of the program instead of NAME`, err)
			}
			if after := must(t, dir, "log"); after != before {
				t.Errorf("the log is\n%s, want %v", after, before)
			}
			if out := must(t, dir, append(strings.Fields(line), "--force")...); !strings.Contains(out, "weather replay") {
				t.Errorf("by force it says\n%s, want \"weather replay\" in it", out)
			}
			if out := must(t, dir, "log", "--type", "app/amended"); out == "" {
				t.Error("--force recorded no event of type app/amended")
			}
		})
	}
}

// An amendment can be undone, and the log shows all of them.
func TestRestore(t *testing.T) {
	dir := filled(t, "a", "<b>")
	must(t, dir, "log", "skip", "2", "--reason", "two\nlines")
	must(t, dir, "log", "map", "1", "--type", "posts/drop", "--input", "{}", "--reason", "wrong", "--force")
	for _, line := range []string{"log restore 1", "log restore 1 --reason"} {
		if _, err := run(t, dir, strings.Fields(line)...); err == nil {
			t.Errorf("%s says nothing, want an error", line)
		}
	}
	wantLog(t, dir,
		`posts/create {"title":"a"} (read as posts/drop: wrong)`,
		`posts/create {"title":"<b>"} (skipped: two�lines)`,
		`app/amended event 2 is skipped: two�lines`,
		`app/amended event 1 is read as posts/drop: wrong`)
	for _, seq := range []string{"1", "2"} {
		if out := must(t, dir, "log", "restore", seq, "--reason", "right"); !strings.Contains(out, "Event "+seq+", posts/create, is read as it was recorded from now on.") {
			t.Errorf("got output\n%s, want %q in it", out, "Event "+seq+", posts/create, is read as it was recorded from now on.")
		}
		_, err := run(t, dir, "log", "restore", seq, "--reason", "right")
		if terminal.ExitCode(err) != terminal.ExitFailure || !strings.Contains(err.Error(), "event "+seq+" has no amendment to undo") {
			t.Errorf("once more: got exit code %d, error %v; want %d, and %q in it", terminal.ExitCode(err), err, terminal.ExitFailure, "event "+seq+" has no amendment to undo")
		}
	}
	wantLog(t, dir,
		`posts/create {"title":"a"} (restored: right)`,
		`posts/create {"title":"<b>"} (restored: right)`,
		`app/amended event 2 is skipped: two�lines`,
		`app/amended event 1 is read as posts/drop: wrong`,
		`app/amended event 1 is read as posts/create: right`,
		`app/amended event 2 is read as posts/create: right`)
	client, end := serve(t, dir)
	defer end()
	if got := client.CallTool("posts_list", nil).Text(); got != "a, <b>" {
		t.Errorf("the posts are %s, want \"a, <b>\"", got)
	}
}

// Undoing an amendment that made a log readable is refused.
func TestRestoreIsTried(t *testing.T) {
	dir := filled(t, "a")
	add(t, dir, eventlog.Record{Type: "posts/write", Data: json.RawMessage(`{"title":"b"}`)})
	must(t, dir, "log", "skip", "2", "--reason", "never used")
	if _, err := run(t, dir, "log", "restore", "2", "--reason", "x"); terminal.ExitCode(err) != terminal.ExitFailure || !strings.Contains(err.Error(), "posts/write") || !strings.Contains(err.Error(), "--force") {
		t.Errorf(`got exit code %d, error %v; want %d, and "posts/write" and "--force" in it`, terminal.ExitCode(err), err, terminal.ExitFailure)
	}
	if _, err := run(t, dir, "log", "restore", "1", "--reason", "x"); err == nil || !strings.Contains(err.Error(), "no amendment to undo") {
		t.Errorf(`of an event that was not amended: got %v, want an error with "no amendment to undo" in it`, err)
	}
	must(t, dir, "replay")
	must(t, dir, "log", "restore", "2", "--reason", "x", "--force")
	if _, err := run(t, dir, "replay"); err == nil {
		t.Error("replay after a forced restore returned no error, want one")
	}
}

// wantLog checks the table of the log, without numbers and times.
func wantLog(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(must(t, dir, "log")) {
		got = append(got, strings.Join(strings.Fields(line)[4:], " "))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log is\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLogAmendment(t *testing.T) {
	dir := filled(t, "a", "b")
	must(t, dir, "log", "skip", "2", "--reason", "never <used>")
	var got []*app.Amendment
	for line := range strings.Lines(must(t, dir, "log", "--json")) {
		var event struct{ Amendment *app.Amendment }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		got = append(got, event.Amendment)
	}
	if len(got) != 3 || got[0] != nil || got[2] != nil || got[1] == nil || !got[1].Skip || got[1].Reason != "never <used>" {
		t.Errorf("the amendments are %v, want three, of which the second skips its event", got)
	}
}

func TestSameJSON(t *testing.T) {
	for _, test := range []struct {
		one, other string
		want       bool
	}{
		{`{"a":1,"b":"<"}`, `{ "b": "\u003c", "a": 1 }`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{`{`, `{`, true},
		{`{`, `{}`, false},
	} {
		if got := sameJSON([]byte(test.one), []byte(test.other)); got != test.want {
			t.Errorf("%s and %s: %t, want %v", test.one, test.other, got, test.want)
		}
	}
}
