package appserve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// Usage errors and failures have different exit codes.
func TestUsage(t *testing.T) {
	dir := filled(t, "a")
	for line, want := range map[string]string{
		"log show x":                         "not the number of an event",
		"log show 0":                         "not the number of an event",
		"log --after -1":                     "must not be negative",
		"backup":                             "backup needs FILE, such as weather-monday.jsonl.gz",
		"restore":                            "restore needs FILE, such as weather-monday.jsonl.gz",
		"log copy a":                         "log copy needs FROM and TO, such as data /srv/weather",
		"log erase x":                        "not the number of an event",
		"log erase 1":                        "pass --yes",
		"log skip":                           "log skip requires the numbers of events",
		"log show 1 2":                       `unexpected argument "2": usage: show SEQ`,
		"workers retry":                      "workers retry needs WORKER, such as posts/digest",
		"log skip 1":                         "requires --reason",
		"log restore 1":                      "requires --reason",
		"log map 1 --reason x":               "requires --type",
		"log map 1 --type posts/create":      "requires --reason",
		"log map 1 --set title=a --reason x": "a text needs quotes",
		"log map 1 --rename a --reason x":    "not OLD=NEW",
		"log map --set title=1 --reason x":   "requires the numbers of events",
		"log skip 3-1 --reason x":            "ends before it starts",
		"log skip 1-x --reason x":            "not the number of an event",
		"log erase":                          "requires the numbers of events",
		"log erase --field id":               "not NAME=VALUE",
		"log downgrade posts/create":         "requires --to VERSION",
		"log downgrade":                      "log downgrade needs TYPE, such as posts/create",
		"log map 1 --type posts/create --reason x --input {": "not valid JSON",
		"workers retry posts/digest x":                       "not the number of an event",
		"log --limit 1 --last 1":                             "--limit shows the oldest events, and --last the newest",
		"log --follow --before 3":                            "--follow cannot be combined with --before",
		"log --last -1":                                      "must not be negative",
		"log --since yesterday":                              `--since "yesterday" is not a time; use`,
		"log --type [":                                       "is not a valid pattern",
		"workers retry posts/digest":                         "or --all",
		"workers retry posts/digest 1 --all":                 "or --all",
	} {
		if _, err := run(t, dir, strings.Fields(line)...); terminal.ExitCode(err) != terminal.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got exit code %d, error %v; want %d, and %q in it", line, terminal.ExitCode(err), err, terminal.ExitUsage, want)
		}
	}
	for line, want := range map[string]string{
		"log show 2":                                 "event 2 does not exist; the last event is 1",
		"log skip 2 --reason x":                      "event 2 does not exist; the last event is 1",
		"workers retry posts/digest 1":               "worker posts/digest has not set event 1 aside",
		"workers retry posts/digset 1":               "worker posts/digset does not exist; the workers are: posts/digest",
		"workers retry digest --all":                 "worker digest does not exist; the workers are: posts/digest",
		"log erase 2 --yes":                          "event 2 does not exist; the last event is 1",
		"restore no":                                 "read backup no: open no",
		"log copy " + dir + " " + dir:                "the log has events",
		"backup " + dir:                              "already exists",
		"backup " + filepath.Join(dir, "no", "file"): "does not exist; create it first",
	} {
		if _, err := run(t, dir, strings.Fields(line)...); terminal.ExitCode(err) != terminal.ExitFailure || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got exit code %d, error %v; want %d, and %q in it", line, terminal.ExitCode(err), err, terminal.ExitFailure, want)
		}
	}
}

func TestLog(t *testing.T) {
	dir := filled(t, "a", "b", "c")
	add(t, dir, eventlog.Record{Type: "users/invite", Data: json.RawMessage(`{"name":"<é>"}`)})
	out := must(t, dir, "log")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "1 ") || !strings.Contains(lines[0], "posts/create") || !strings.HasSuffix(lines[0], `{"title":"a"}`) || !strings.HasSuffix(lines[3], `{"name":"<é>"}`) {
		t.Errorf("the log is\n%s, want four lines, the first with 1, posts/create and {\"title\":\"a\"}, the last with {\"name\":\"<é>\"}", out)
	}
	for args, want := range map[string]string{
		"": "1 2 3 4", "--after 1": "2 3 4", "--limit 2": "1 2", "--after 1 --limit 1": "2", "--type posts": "1 2 3", "--type posts/create --limit 2": "1 2",
		"--type users/invite": "4", "--after 9": "", "--follow --limit 3": "1 2 3",
		"--before 3": "1 2", "--after 1 --before 4": "2 3", "--last 2": "3 4", "--last 2 --before 4": "2 3", "--last 1 --type posts": "3", "--last 9": "1 2 3 4", "--last 1 --after 4": "",
		"--type users,*/create": "1 2 3 4", "--type */inv* --type users/x": "4", "--type post*": "", "--text B": "2", "--text É": "4", "--text title --last 1": "3",
		"--since 1h": "1 2 3", "--until 1h": "4", "--since 2026-01-01 --until 0s": "1 2 3", "--until 2026-01-01T00:00:00+02:00": "4",
		"--cause posts_create": "1 2 3", "--cause posts/digest": "",
	} {
		var got []string
		for line := range strings.Lines(must(t, dir, append([]string{"log", "--json"}, strings.Fields(args)...)...)) {
			if strings.HasPrefix(line, "no events ") { // on standard error
				break
			}
			var record eventlog.Record
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(record.Seq))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("log %s shows %v, want %s", args, got, want)
		}
	}
	actor := appmcp.Actor(t.Context())
	if !strings.Contains(lines[0], "  "+actor+" ") || !strings.Contains(lines[3], "  - ") {
		t.Errorf("the log is\n%s\nwant the actor %s in the first line, and - in the last", out, actor)
	}
	if out := must(t, dir, "log", "--actor", actor, "--after", "1"); strings.Count(out, "\n") != 2 || strings.Contains(out, "users/invite") {
		t.Errorf("log --actor %s shows\n%s, want 2 lines, no \"users/invite\"", actor, out)
	}
	if out := must(t, dir, "log", "--actor", "eve", "--type", "posts"); out != "no events of type posts of actor eve\n" {
		t.Errorf("log --actor eve shows %s, want %q", out, "no events of type posts of actor eve\n")
	}
	must(t, dir, "log", "skip", "4", "--reason", "wrong")
	if out := must(t, dir, "log", "show", "5"); !strings.Contains(out, `"actor": "`+actor+`"`) {
		t.Errorf("the amendment is %s, want %q in it", out, `"actor": "`+actor+`"`)
	}
	var shown, notice bytes.Buffer
	cmd := command(New("weather", posts()), "log", "--json", "--type", "post", "--data", dir)
	cmd.SetOut(&shown)
	cmd.SetErr(&notice)
	if err := cmd.Execute(); err != nil || shown.String() != "" || notice.String() != "no events of type post\n" {
		t.Errorf("log --type post: %v, stdout %q, stderr %q; want no error, nothing, and %q", err, shown.String(), notice.String(), "no events of type post\n")
	}
}

// log --follow shows what servers commit, and ends without an error.
func TestFollow(t *testing.T) {
	dir := filled(t, "a")
	in, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cmd := command(New("weather", posts()), "log", "--follow", "--data", dir)
	cmd.SetOut(out)
	done := make(chan error, 1)
	go func() {
		done <- cmd.ExecuteContext(ctx)
		out.Close()
	}()
	lines := bufio.NewReader(in)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"a"`) {
		t.Fatalf("first line: %s, %v, want %q in it", line, err, `"a"`)
	}
	client, end := serve(t, dir)
	defer end()
	client.CallTool("posts_create", create{"b"})
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"b"`) {
		t.Fatalf("next line: %s, %v, want %q in it", line, err, `"b"`)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("log --follow ended with %v, want no error", err)
	}
}

// A log with an event that cannot be applied can be shown and repaired, with log skip or log map.
func TestAmend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "input.json")
	if err := os.WriteFile(file, []byte(`{"title":"from a file"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"log", "skip", "2", "--reason", "never used"}, "a, z"},
		{[]string{"log", "map", "2", "--type", "posts/create", "--reason", "renamed"}, "a, b, z"},
		{[]string{"log", "map", "2", "--type", "posts/create", "--version", "1", "--input", `{"title":"typed"}`, "--reason", "renamed"}, "a, typed, z"},
		{[]string{"log", "map", "2", "--type", "posts/create", "--input", "@" + file, "--reason", "renamed"}, "a, from a file, z"},
	} {
		t.Run(test.want, func(t *testing.T) {
			dir := filled(t, "a")
			add(t, dir, eventlog.Record{Type: "posts/write", Data: json.RawMessage(`{"title":"b"}`)}, eventlog.Record{Type: "posts/create", Data: json.RawMessage(`{"title":"z"}`)})
			var stuck *app.StuckError
			if _, err := run(t, dir, "replay"); !errors.As(err, &stuck) || stuck.Record.Seq != 2 || !strings.Contains(err.Error(), "weather log skip 2") {
				t.Fatalf(`replay: got %v; want event 2 and "weather log skip 2"`, err)
			}
			if out := must(t, dir, "log", "show", "2"); !strings.Contains(out, "posts/write") || strings.Contains(out, "amendment") {
				t.Errorf("the event is shown as\n%s, want \"posts/write\" in it, and no \"amendment\"", out)
			}
			if out := must(t, dir, test.args...); !strings.Contains(out, "weather replay") {
				t.Errorf("got output\n%s, want \"weather replay\" in it", out)
			}
			if out := must(t, dir, "log", "show", "2"); !strings.Contains(out, "posts/write") || !strings.Contains(out, `"amendment": {`) || !strings.Contains(out, test.args[len(test.args)-1]) {
				t.Errorf("the event is shown as\n%s, want %q, %q and %q in it", out, "posts/write", `"amendment": {`, test.args[len(test.args)-1])
			}
			if out := must(t, dir, "replay"); !strings.Contains(out, "4 events in ") {
				t.Errorf("replay: got %s, want \"4 events in \" in it", out)
			}
			client, end := serve(t, dir)
			defer end()
			if got := client.CallTool("posts_list", nil).Text(); got != test.want {
				t.Errorf("the posts are %s, want %v", got, test.want)
			}
		})
	}
}

func TestReplay(t *testing.T) {
	dir := filled(t, "a", "b")
	var report struct {
		Events             int64
		Seconds, PerSecond float64
		Snapshot           bool
	}
	if err := json.Unmarshal([]byte(must(t, dir, "replay", "--json", "--snapshot")), &report); err != nil {
		t.Fatal(err)
	}
	if report.Events != 2 || report.Seconds <= 0 || report.PerSecond <= 0 || !report.Snapshot {
		t.Errorf("got report %+v, want Events 2, Seconds above 0, PerSecond above 0", report)
	}
	client, end := serve(t, dir)
	defer end()
	if text := client.ReadResource("app://features")[0].Text; !strings.Contains(text, `"snapshot":2`) {
		t.Errorf("the features are %s, want %q in it", text, `"snapshot":2`)
	}
	if got := client.CallTool("posts_list", nil).Text(); got != "a, b" {
		t.Errorf("from a snapshot the posts are %s, want \"a, b\"", got)
	}
}

// With --snapshot off, no snapshot is used. mcp and serve have the flag.
func TestSnapshotFlag(t *testing.T) {
	dir := filled(t, "a", "b")
	must(t, dir, "replay", "--snapshot")
	for _, test := range []struct {
		command, args string
		want          string // the start of the features, or an error
	}{
		{"serve", "", `"snapshot":2`},
		{"mcp", "--snapshot auto", `"snapshot":2`},
		{"serve", "--snapshot off", `"snapshot":0`},
		{"mcp", "--snapshot off", `"snapshot":0`},
		{"serve", "--snapshot maybe", `--snapshot "maybe": use auto or off`},
		{"call", "--snapshot off", "unknown flag: --snapshot"},
	} {
		d := New("weather", posts())
		cmd := &cobra.Command{Use: test.command}
		d.Flags(cmd)
		err := cmd.ParseFlags(append(strings.Fields(test.args), "--data", dir))
		server := mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1"}, mcp.Options{})
		var end func() error
		if err == nil {
			end, err = d.Open(t.Context(), server, slog.New(slog.NewTextHandler(t.Output(), nil)))
		}
		if err != nil {
			if err.Error() != test.want {
				t.Errorf("%s %s: got the error %v, want %s", test.command, test.args, err, test.want)
			}
			continue
		}
		if text := mcptest.Connect(t, server).ReadResource("app://features")[0].Text; !strings.Contains(text, test.want) {
			t.Errorf("%s %s: the features are %s, want %q in it", test.command, test.args, text, test.want)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

// editSnapshot changes the snapshot of posts by hand. A sealed one has the right checksum.
func editSnapshot(t *testing.T, dir, old, new string, sealed bool) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	names, err := store.Names(t.Context(), "snapshot/posts/")
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "/head") })
	if err != nil || len(names) != 1 {
		t.Fatalf("got the names %v, %v; want one", names, err)
	}
	err = store.Write(t.Context(), func(tx eventlog.Tx) error {
		document, err := tx.Get(names[0])
		if err != nil {
			return err
		}
		changed := strings.Replace(string(document), old, new, 1)
		if changed == string(document) {
			t.Errorf("the document is %s, want %s in it", document, old)
		}
		if sealed {
			_, content, _ := strings.Cut(changed, "\n")
			changed = fmt.Sprintf("%x\n%s", sha256.Sum256([]byte(names[0]+"\n"+content)), content)
		}
		return tx.Put(names[0], []byte(changed))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Replay finds a snapshot that is damaged or differs from the log, and replaces it with --snapshot.
func TestReplayVerifiesSnapshots(t *testing.T) {
	for _, test := range []struct {
		name   string
		sealed bool
		says   string
	}{
		{"changed", false, "snapshot of posts: damaged: document snapshot/posts/"},
		{"changed with its checksum", true, "snapshot of posts at event 2: differs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filled(t, "a", "b")
			if out := must(t, dir, "replay"); !strings.Contains(out, "\nsnapshot of posts: none\n") {
				t.Errorf("without a snapshot: got %s, want %q in it", out, "\nsnapshot of posts: none\n")
			}
			must(t, dir, "replay", "--snapshot")
			if out := must(t, dir, "replay"); !strings.Contains(out, "\nsnapshot of posts at event 2: matches\n") {
				t.Errorf("got output %s, want %q in it", out, "\nsnapshot of posts at event 2: matches\n")
			}
			editSnapshot(t, dir, `["a","b"]`, `["a","c"]`, test.sealed)
			for _, args := range [][]string{{"replay"}, {"replay", "--json"}} {
				out, err := run(t, dir, args...)
				if terminal.ExitCode(err) != terminal.ExitFailure || err.Error() != "wrong snapshots: posts; run weather replay --snapshot to replace them" {
					t.Errorf("%v: got the error %v with exit code %d; want %d and %s", args, err, terminal.ExitCode(err), terminal.ExitFailure, "wrong snapshots: posts; run weather replay --snapshot to replace them")
				}
				if len(args) == 1 && !strings.Contains(out, test.says) {
					t.Errorf("%v: got output %s, want %q in it", args, out, test.says)
				}
			}
			must(t, dir, "replay", "--snapshot")
			if out := must(t, dir, "replay"); !strings.Contains(out, "\nsnapshot of posts at event 2: matches\n") {
				t.Errorf("then: got %s, want %q in it", out, "\nsnapshot of posts at event 2: matches\n")
			}
		})
	}
}

// A truncated or removed log file is an error, not an empty log.
func TestTruncatedLog(t *testing.T) {
	dir := filled(t, "a")
	if err := os.Truncate(filepath.Join(dir, fileName), 0); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"replay", "log", "workers"} {
		if _, err := run(t, dir, line); terminal.ExitCode(err) != terminal.ExitFailure || !strings.Contains(err.Error(), "the file is empty; restore a backup") {
			t.Errorf("%s: got exit code %d, error %v; want %d, and %q in it", line, terminal.ExitCode(err), err, terminal.ExitFailure, "the file is empty; restore a backup")
		}
	}
	d := New("weather", posts())
	d.dir = dir
	_, err := d.Open(t.Context(), mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1"}, mcp.Options{}), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "but event 1 was committed") {
		t.Errorf("the server starts with %v, want \"but event 1 was committed\" in it", err)
	}
	if err := os.Remove(filepath.Join(dir, fileName)); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"replay", "log", "workers"} {
		if _, err := run(t, dir, line); err == nil || !strings.Contains(err.Error(), "but event 1 was committed") {
			t.Errorf("without the file, %s: got %v, want \"but event 1 was committed\" in it", line, err)
		}
	}
}

func TestPrintReplay(t *testing.T) {
	for events, want := range map[int64]string{0: "0 events in 2 seconds, 3 a second.\n", 1: "1 event in 2 seconds, 3 a second.\n", 2: "2 events in 2 seconds, 3 a second.\n"} {
		var out strings.Builder
		if err := (replayReport{Events: events, Seconds: 2, PerSecond: 3}).print(&out); err != nil || out.String() != want {
			t.Errorf("got output %s, error %v, want %v", out.String(), err, want)
		}
	}
}

// Commands that only read change nothing, whether or not the log can be applied, and start no
// worker.
func TestLookingWritesNothing(t *testing.T) {
	dir := t.TempDir()
	store, err := New("weather", posts()).create(t.Context(), dir) // no worker has run on it
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	add(t, dir, eventlog.Record{Type: "posts/create", Data: json.RawMessage(`{"title":"a"}`)}, eventlog.Record{Type: "posts/write", Data: json.RawMessage(`{}`)})
	before := content(t, dir)
	for _, line := range []string{
		"log", "log --json", "log show 1", "workers", "workers --json", "workers retry posts/digest --all", "workers retry posts/digest 1", "replay", "replay --json",
		"log map 2 --type posts/writ --reason x", "log restore 1 --reason x",
	} {
		_, _ = run(t, dir, strings.Fields(line)...) // some cannot be done
		if after := content(t, dir); after != before {
			t.Fatalf("after %s the data is\n%s, want %v", line, after, before)
		}
	}
	must(t, dir, "log", "skip", "2", "--reason", "x")
	before = content(t, dir)
	if must(t, dir, "replay"); content(t, dir) != before {
		t.Errorf("after replay the data is\n%s, want %v", content(t, dir), before)
	}
}

// content returns the data of a folder: the number of events, and the documents.
func content(t *testing.T, dir string) string {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	last, err := store.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names, err := store.Names(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%d events\n", last)
	for _, name := range names {
		document, err := store.Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintf("%s: %s\n", name, document)
	}
	return all
}

func TestShort(t *testing.T) {
	for text, want := range map[string]string{"abc": "abc", "abcdef": "abcdef", "abcdefg": "abcde…", "é\x1b[2J": "é\uFFFD[2J"} {
		if got := shorten(text, 6); got != want {
			t.Errorf("%q is shown as %q, want %v", text, got, want)
		}
	}
}

// The help of each command has at most 100 columns.
func TestHelpFits(t *testing.T) {
	root := &cobra.Command{Use: "weather"}
	root.AddCommand(New("weather", posts()).Commands()...)
	mcpcli.Finish(root, "")
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, line := range append(strings.Split(cmd.Long, "\n"), cmd.Short) {
			if n := utf8.RuneCountInString(line); n > 100 {
				t.Errorf("help of %s: %d columns, want at most 100: %s", cmd.CommandPath(), n, line)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(root)
}
