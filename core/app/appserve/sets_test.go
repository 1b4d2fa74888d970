package appserve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// Amending commands take several events, ranges and types.
func TestSets(t *testing.T) {
	for _, test := range []struct {
		line  string
		posts string // after it
		says  string
		tells string // the end of the log
	}{
		{"log skip 2 4 --reason x", "a, c, e", "2 events from 2 to 4 are skipped from now on.", "2 events from 2 to 4 are skipped: x"},
		{"log skip 2-3 --reason x", "a, d, e", "Event 2 before:  posts/create, version 1, {\"title\":\"b\"}\n        after:   skipped\n", "2 events from 2 to 3 are skipped: x"},
		{"log skip 4- --reason x", "a, b, c", "2 events from 4 to 5", ""},
		{"log skip 1 3-4 2-3 --reason x", "e", "4 events from 1 to 4", ""},
		{"log skip --type posts/create --reason x", "", "5 events from 1 to 5", ""},
		{"log skip 2- --type posts/create --version 1 --reason x --dry-run", "a, b, c, d, e", "4 events from 2 to 5 are skipped with this change. Nothing was recorded.", ""},
		{"log map 2-3 --set title=\"z\" --reason x", "a, z, z, d, e", "after:   posts/create, version 1, {\"title\":\"z\"}", "2 events from 2 to 3 are read as posts/create: x"},
		{"log map --of posts/create --of-version 1 --set title=\"z\" --reason x", "z, z, z, z, z", "5 events from 1 to 5 are changed", ""},
		{"log map 1 --set title=\"z\" --reason x", "z, b, c, d, e", "Event 1, posts/create, is changed from now on.", "event 1 is read as posts/create: x"},
		{"log map 5 --unset titel --set title=\"z\" --rename a=b --reason x", "a, b, c, d, z", "Event 5, posts/create, is changed", ""},
	} {
		t.Run(test.line, func(t *testing.T) {
			dir := filled(t, "a", "b", "c", "d", "e")
			if out := must(t, dir, strings.Fields(test.line)...); !strings.Contains(out, test.says) {
				t.Errorf("got output\n%s, want %q in it", out, test.says)
			}
			wantPosts(t, dir, test.posts)
			if out := must(t, dir, "log"); test.tells != "" && !strings.HasSuffix(out, test.tells+"\n") {
				t.Errorf("the log is\n%s, want it to end with %q", out, test.tells)
			}
		})
	}
}

// An event that the change does not concern is an error if it is named, and left out of a range.
func TestSetsWithout(t *testing.T) {
	dir := filled(t, "a", "b", "c")
	must(t, dir, "log", "skip", "2", "--reason", "x")
	for line, want := range map[string]string{
		"log skip 2 3 --reason x":                             "event 2 is skipped already",
		"log skip 9 --reason x":                               "event 9 does not exist; the last event is 4",
		"log skip 4 --reason x":                               "event 4 is an amendment",
		"log skip 7- --reason x":                              "no event matches",
		"log skip --type posts/none --reason x":               "no event matches",
		"log map 1 --unset none --reason x":                   "event 1 is read like this already",
		"log map 1 --set a.b=1 --reason x":                    "amend event 1: no field a",
		"log map 1 --set title.b=1 --reason x":                "amend event 1: field title: not an object",
		"log restore 1-3 4 --reason x":                        "event 4 is an amendment",
		"log map 1-3 --set title=1 --reason x":                "with this amendment, event 1 of the log",
		"log map 1-3 --rename title=name --reason x":          "with this amendment, event 1 of the log",
		"log erase 1 9 --yes":                                 "event 9 does not exist; the last event is 4",
		"log erase 4 --yes":                                   "event 4 is an amendment; erase the event that it amends",
		"log erase 4-9 --yes":                                 "no event matches",
		"log erase --actor none --yes":                        "no event matches",
		"log erase 1-3 --type posts/create --field x=1 --yes": "no event matches",
	} {
		if _, err := run(t, dir, strings.Fields(line)...); terminal.ExitCode(err) != terminal.ExitFailure || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got exit code %d, error %v; want %d, and %q in it", line, terminal.ExitCode(err), err, terminal.ExitFailure, want)
		}
	}
	if out := must(t, dir, "log", "skip", "1-3", "--reason", "x"); !strings.HasPrefix(out, "2 events from 1 to 3 ") {
		t.Errorf("got output\n%s, want it to start with %q", out, "2 events from 1 to 3 ")
	}
	var report amendReport
	out := must(t, dir, "log", "restore", "1-", "--reason", "x", "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Events != 3 || report.First != 1 || report.Last != 3 || !report.Recorded || report.Before != nil || !sameJSON(report.After.Data, []byte(`{"title":"a"}`)) {
		t.Errorf(`got %s (%v), want 3 events from 1 to 3, recorded, nothing before, and {"title":"a"} after`, out, err)
	}
	wantPosts(t, dir, "a, b, c")
}

func TestEditField(t *testing.T) {
	edits := fieldEdits{set: []string{`a.b={"x":1}`, "new=12345678901234567890"}, unset: []string{"gone", "a.c"}, rename: []string{"old=name", "a.d=e", "none=x"}}
	if err := edits.parse(); err != nil {
		t.Fatal(err)
	}
	r := eventlog.Record{Type: "t", Version: 1, Data: []byte(`{"gone":1,"old":"<","a":{"b":2,"c":3,"d":4,"f":1.0}}`)}
	am, ok, err := edits.apply(app.Amendment{Version: 2}, r, nil)
	if want := `{"a":{"b":{"x":1},"e":4,"f":1.0},"name":"<","new":12345678901234567890}`; err != nil || !ok || !sameJSON(am.Data, []byte(want)) || am.Version != 2 || am.Type != "t" {
		t.Errorf(`got %s: %t, %v, want Version 2, Type "t"`, am.Data, ok, err)
	}
	if got := strings.Join(edits.names(), "; "); got != "set a.b; set new; unset gone; unset a.c; rename old=name; rename a.d=e; rename none=x" {
		t.Errorf("the edits are %s, want %q", got, "set a.b; set new; unset gone; unset a.c; rename old=name; rename a.d=e; rename none=x")
	}
	am, ok, err = (&fieldEdits{set: []string{"b=2"}}).apply(app.Amendment{}, r, &app.Amendment{Type: "u", Version: 3, Data: []byte(`{"b":1}`)})
	if err != nil || !ok || am.Type != "u" || am.Version != 3 || string(am.Data) != `{"b":2}` {
		t.Errorf(`on an amended event: %+v, %v, want Type "u", Version 3, Data %q`, am, err, `{"b":2}`)
	}
}

// Events that belong together are erased together: the erasure is tried once, and the files are
// rewritten once.
func TestEraseSet(t *testing.T) {
	const want = "2 events from 1 to 2"
	for _, line := range []string{"1-2", "2 1", "--actor secret", "1- --actor secret --version 1"} {
		t.Run(line, func(t *testing.T) {
			dir := filled(t)
			add(t, dir,
				eventlog.Record{Actor: "secret", Type: "posts/create", Data: json.RawMessage(`{"title":"secret"}`)},
				eventlog.Record{Actor: "secret", Type: "posts/drop", Data: json.RawMessage(`{}`)},
				eventlog.Record{Type: "posts/create", Data: json.RawMessage(`{"title":"b"}`)})
			if _, err := run(t, dir, "log", "erase", "1", "--yes"); err == nil {
				t.Error("log erase 1 succeeds although event 2 needs event 1")
			}
			args := append([]string{"log", "erase", "--yes"}, strings.Fields(line)...)
			if out := must(t, dir, append(args, "--dry-run")...); !strings.Contains(out, "Would erase "+want+". Nothing was erased.") {
				t.Errorf("got output %s, want %q in it", out, "Would erase "+want+". Nothing was erased.")
			}
			if len(filesWith(t, dir, "secret")) == 0 {
				t.Errorf(`after a dry run no file in %s contains "secret", want it kept`, dir)
			}
			if out := must(t, dir, args...); !strings.HasPrefix(out, "Erased "+want+".") {
				t.Errorf("got output %s, want it to start with %q", out, "Erased "+want+".")
			}
			if found := filesWith(t, dir, "secret"); len(found) > 0 {
				t.Errorf("the content is in %q, want none", found)
			}
			wantPosts(t, dir, "b")
			if out := must(t, dir, "log", "--type", "app/amended"); strings.Count(out, "\n") != 1 || !strings.Contains(out, "2 events from 1 to 2 are erased by ") {
				t.Errorf("the log has\n%s, want 1 line, \"2 events from 1 to 2 are erased by \" in it", out)
			}
		})
	}
}

// backup - writes only the backup to standard output, and restore - reads it. So an old backup can
// be cleaned.
func TestBackupStream(t *testing.T) {
	dir := filled(t, "a", "secret", "c")
	var stdout, stderr bytes.Buffer
	if err := runWith(t, dir, nil, &stdout, &stderr, "backup", "-"); err != nil || !strings.HasPrefix(stderr.String(), "Backed up 3 events to standard output.") {
		t.Fatalf(`got %s, %v; want output that starts with "Backed up 3 events to standard output.", and no error`, &stderr, err)
	}
	if _, err := os.Stat("-"); err == nil {
		t.Error("there is a file named -")
	}
	old := filepath.Join(t.TempDir(), "old.jsonl.gz")
	if err := os.WriteFile(old, stdout.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	other, third := t.TempDir(), t.TempDir()
	if out := must(t, other, "restore", old); !strings.HasPrefix(out, "Restored 3 events") {
		t.Errorf("got output %s, want it to start with %q", out, "Restored 3 events")
	}
	must(t, other, "log", "erase", "--yes", "--field", "title=secret")
	var cleaned bytes.Buffer
	if err := runWith(t, other, nil, &cleaned, &stderr, "backup", "-"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := runWith(t, third, &cleaned, &out, &stderr, "restore", "-"); err != nil || !strings.HasPrefix(out.String(), "Restored 4 events, of ") {
		t.Errorf(`got %s, %v; want output that starts with "Restored 4 events, of ", and no error`, &out, err)
	}
	wantPosts(t, third, "a, c")
	if found := filesWith(t, third, "secret"); len(found) > 0 {
		t.Errorf("the content is in %q, want none", found)
	}
	err := runWith(t, t.TempDir(), bytes.NewReader(stdout.Bytes()[:stdout.Len()/2]), &out, &stderr, "restore", "-")
	if err == nil || !strings.Contains(err.Error(), "was cut off") {
		t.Errorf("half a backup: %v, want \"was cut off\" in it", err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "restore-*.jsonl.gz")); len(left) > 0 || err != nil {
		t.Errorf("temporary files are left: %q, %v, want none", left, err)
	}
}

func TestSelection(t *testing.T) {
	s := selection{}
	if err := s.parse(strings.Fields("20-30 5 6-7 25-28 31 100-")); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.ranges); got != "[{5 7} {20 31} {100 0}]" {
		t.Errorf("the ranges are %s, want \"[{5 7} {20 31} {100 0}]\"", got)
	}
	for seq, want := range map[int64]bool{1: false, 4: false, 5: true, 7: true, 8: false, 19: false, 20: true, 31: true, 32: false, 99: false, 100: true, 1 << 40: true} {
		if got := s.includes(eventlog.Record{Seq: seq}, nil); got != want {
			t.Errorf("event %d: %t, want %v", seq, got, want)
		}
	}
	for field, want := range map[string]bool{"id=k2": true, "id=k": false, "n=5": true, "n=5.0": false, "b=true": true, "none=": false, "e=": true} {
		s := selection{fields: []string{field}}
		if got := s.includes(eventlog.Record{Data: []byte(`{"id":"k2","n": 5,"b":true,"e":""}`)}, nil); got != want {
			t.Errorf("%s: %t, want %v", field, got, want)
		}
	}
}

// log show and log --json have the cause of an event.
func TestLogCause(t *testing.T) {
	dir := filled(t, "a")
	add(t, dir, eventlog.Record{Type: "posts/create", Data: json.RawMessage(`{"title":"b"}`), Cause: json.RawMessage(`{"event":1,"worker":"posts/digest"}`)})
	var event struct{ Cause eventlog.Cause }
	if err := json.Unmarshal([]byte(must(t, dir, "log", "show", "1")), &event); err != nil || event.Cause.Tool != "posts_create" || event.Cause.Request == "" {
		t.Errorf(`the cause is %+v, want Cause.Tool "posts_create": %v`, event.Cause, err)
	}
	if out := must(t, dir, "log", "--json", "--after", "1"); !strings.Contains(out, `"cause":{"event":1,"worker":"posts/digest"}`) {
		t.Errorf("the log is %s, want %q in it", out, `"cause":{"event":1,"worker":"posts/digest"}`)
	}
	wantLog(t, dir, `posts/create {"title":"a"}`, `posts/create {"title":"b"} (by event 1)`)
}
