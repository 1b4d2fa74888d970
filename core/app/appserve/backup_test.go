package appserve

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// A backup is taken while a server runs, and restored.
func TestBackup(t *testing.T) {
	dir := filled(t, "a")
	client, end := serve(t, dir)
	client.CallTool("posts_create", create{"b"})
	must(t, dir, "log", "skip", "1", "--reason", "x")
	file := filepath.Join(t.TempDir(), "monday.jsonl.gz")
	if out := must(t, dir, "backup", file); !strings.HasPrefix(out, "Backed up 3 events to "+file+", ") || !strings.HasSuffix(out, " bytes. All events and the replayed state are equal.\n") {
		t.Errorf("got output %s, want it to start with %q and end with %q", out, "Backed up 3 events to "+file+", ", " bytes. All events and the replayed state are equal.\n")
	}
	end()
	wantPosts(t, dir, "b")
	stopped := file + ".2"
	must(t, dir, "backup", stopped)
	if left, err := filepath.Glob(file + ".*.tmp"); err != nil || len(left) > 0 {
		t.Errorf("%q are left, %v, want none", left, err)
	}
	if info, err := os.Stat(file); err != nil {
		t.Error(err)
	} else if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("the mode of the backup is %v, want none for other users", info.Mode())
	}
	for _, to := range []string{filepath.Join(t.TempDir(), "new"), filled(t)} {
		if out := must(t, to, "restore", file); !strings.HasPrefix(out, "Restored 3 events, of 20") || !strings.HasSuffix(out, ", to "+to+". All events and the replayed state are equal.\n") {
			t.Errorf("got output %s, want it to start with %q and end with %q", out, "Restored 3 events, of 20", ", to "+to+". All events and the replayed state are equal.\n")
		}
		wantPosts(t, to, "b")
	}
	to := t.TempDir()
	must(t, to, "restore", stopped)
	if got, want := content(t, to), content(t, dir); got != want {
		t.Errorf("restored\n%s\nwant\n%s", got, want)
	}
}

// wantPosts checks the posts that a server has.
func wantPosts(t *testing.T, dir, want string) {
	t.Helper()
	client, end := serve(t, dir)
	defer end()
	if got := client.CallTool("posts_list", nil).Text(); got != want {
		t.Errorf("the posts are %s, want %s", got, want)
	}
}

// restore does not touch data with events, unless it may replace it, and keeps the old data.
func TestRestoreReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "monday.jsonl.gz")
	must(t, filled(t, "a"), "backup", file)
	dir := filled(t, "b", "c")
	_, err := run(t, dir, "restore", file)
	if terminal.ExitCode(err) != terminal.ExitFailure || !strings.Contains(err.Error(), "the log has events; to keep them under another name and use the backup instead, stop all servers and add --replace") {
		t.Errorf("got exit code %d, error %v; want %d, and %q in it", terminal.ExitCode(err), err, terminal.ExitFailure, "the log has events; to keep them under another name and use the backup instead, stop all servers and add --replace")
	}
	wantPosts(t, dir, "b, c")
	client, end := serve(t, dir)
	if _, err := run(t, dir, "restore", file, "--replace"); err == nil || !strings.Contains(err.Error(), "another process has it open; stop all servers first") {
		t.Errorf("got error %v, want %q in it", err, "another process has it open; stop all servers first")
	}
	if got := client.CallTool("posts_list", nil).Text(); got != "b, c" {
		t.Errorf("the posts are %s, want \"b, c\"", got)
	}
	end()
	out := must(t, dir, "restore", file, "--replace")
	_, kept, ok := strings.Cut(strings.TrimSpace(out), "The old data is in ")
	if !ok {
		t.Fatalf("got output %s, want the path of the old data", out)
	}
	wantPosts(t, dir, "a")
	old := t.TempDir()
	if err := os.Rename(strings.TrimSuffix(kept, "."), filepath.Join(old, fileName)); err != nil {
		t.Fatal(err)
	}
	wantPosts(t, old, "b, c")
	if left, err := filepath.Glob(filepath.Join(dir, "restore*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left, %v, want none", left, err)
	}

	// Damaged data is replaced too.
	if err := os.Truncate(filepath.Join(dir, fileName), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, dir, "restore", file); err == nil || !strings.Contains(err.Error(), "restore a backup with --replace") {
		t.Errorf("over a truncated log: %v, want \"restore a backup with --replace\" in it", err)
	}
	must(t, dir, "restore", file, "--replace")
	wantPosts(t, dir, "a")
	if out := must(t, filepath.Join(t.TempDir(), "new"), "restore", file, "--replace"); strings.Contains(out, "old data") {
		t.Errorf("got output %s, want no \"old data\"", out)
	}
}

// A log that cannot be applied can be backed up.
func TestBackupStuck(t *testing.T) {
	dir := filled(t, "a")
	add(t, dir, eventlog.Record{Type: "posts/write", Data: json.RawMessage(`{}`)})
	file := filepath.Join(t.TempDir(), "monday.jsonl.gz")
	if out := must(t, dir, "backup", file); !strings.HasSuffix(out, "All events are equal. The state was not compared: event 2 cannot be applied.\n") {
		t.Errorf("got output %s, want it to end with %q", out, "All events are equal. The state was not compared: event 2 cannot be applied.\n")
	}
}

func TestCopy(t *testing.T) {
	dir := filled(t, "a", "b")
	must(t, dir, "log", "skip", "1", "--reason", "x")
	to := filepath.Join(t.TempDir(), "to")
	if out := must(t, dir, "log", "copy", dir, to); out != "Copied 3 events to "+to+". All events and the replayed state are equal.\n" {
		t.Errorf("got output %s, want %v", out, "Copied 3 events to "+to+". All events and the replayed state are equal.\n")
	}
	if got, want := content(t, to), content(t, dir); got != want {
		t.Errorf("copied\n%s\nwant\n%s", got, want)
	}
	wantPosts(t, to, "b")
	if _, err := run(t, dir, "log", "copy", dir, to); err == nil || !strings.Contains(err.Error(), "copy "+dir+" to "+to+": the log has events") {
		t.Errorf("once more, want %q in it: %v", "copy "+dir+" to "+to+": the log has events", err)
	}
}

// An erased event is in no file, and running servers have a state without it.
func TestErase(t *testing.T) {
	dir := filled(t, "a", "secret", "bad")
	must(t, dir, "replay", "--snapshot")
	client, end := serve(t, dir)
	if got := client.CallTool("posts_list", nil).Text(); got != "a, secret, bad" {
		t.Fatalf("the posts are %s, want \"a, secret, bad\"", got)
	}
	must(t, dir, "log", "map", "2", "--type", "posts/create", "--input", `{"title":"secret two"}`, "--reason", "secret")
	if found := filesWith(t, dir, "secret"); len(found) == 0 {
		t.Fatalf(`no file in %s contains "secret", want one before the erasure`, dir)
	}
	if _, err := run(t, dir, "log", "erase", "2"); terminal.ExitCode(err) != terminal.ExitUsage {
		t.Errorf("without --yes: got exit code %d, error %v; want %d", terminal.ExitCode(err), err, terminal.ExitUsage)
	}
	if out := must(t, dir, "log", "erase", "2", "--yes", "--reason", "a request"); out != "Erased event 2, posts/create. Earlier backups still contain the event.\n" {
		t.Errorf("got output %s, want %q", out, "Erased event 2, posts/create. Earlier backups still contain the event.\n")
	}
	if found := filesWith(t, dir, "secret"); len(found) > 0 {
		t.Errorf("the content is in %q, want none", found)
	}
	if got := client.CallTool("posts_list", nil).Text(); got != "a, bad" {
		t.Errorf("a running server has %s, want \"a, bad\"", got)
	}
	client.CallTool("posts_create", create{"c"})
	end()
	if found := filesWith(t, dir, "secret"); len(found) > 0 {
		t.Errorf("after the server has stopped, the content is in %q, want none", found)
	}
	wantPosts(t, dir, "a, bad, c")
	by := appmcp.Actor(t.Context())
	wantLog(t, dir,
		`posts/create {"title":"a"}`,
		`app/erased {"type":"posts/create","version":1} (erased by `+by+`: a request)`,
		`posts/create {"title":"bad"}`,
		`app/amended event 2 is changed`,
		`app/amended event 2 is erased by `+by+`: a request`,
		`posts/create {"title":"c"}`)
	if out := must(t, dir, "replay"); !strings.Contains(out, "\nsnapshot of posts at event 5: matches\n") {
		t.Errorf("replay: %s, want %q in it", out, "\nsnapshot of posts at event 5: matches\n")
	}
	if out := must(t, dir, "log", "erase", "2", "--yes"); out != "Event 2 was already erased; rewrote the files.\n" {
		t.Errorf("once more: %s, want %q", out, "Event 2 was already erased; rewrote the files.\n")
	}
	if _, err := run(t, dir, "log", "restore", "2", "--reason", "x"); err == nil || !strings.Contains(err.Error(), "event 2 was erased") {
		t.Errorf("log restore: %v, want \"event 2 was erased\" in it", err)
	}
}

// An erasure that breaks a later event is refused, unless it is forced.
func TestEraseIsTried(t *testing.T) {
	dir := filled(t, "a")
	add(t, dir, eventlog.Record{Type: "posts/drop", Data: json.RawMessage(`{}`)})
	_, err := run(t, dir, "log", "erase", "1", "--yes")
	if terminal.ExitCode(err) != terminal.ExitFailure || !strings.Contains(err.Error(), "nothing was erased; erase that event first, or erase the event anyway with --force") {
		t.Errorf("got exit code %d, error %v; want %d, and %q in it", terminal.ExitCode(err), err, terminal.ExitFailure, "nothing was erased; erase that event first, or erase the event anyway with --force")
	}
	if _, err := run(t, dir, "log", "erase", "1", "--yes", "--force"); err == nil || !strings.HasPrefix(err.Error(), "erased event 1, posts/create, but took no new snapshots: ") {
		t.Errorf("by force: got error %v, want one that starts with %q", err, "erased event 1, posts/create, but took no new snapshots: ")
	}
	if out := must(t, dir, "log", "show", "1"); !strings.Contains(out, "app/erased") {
		t.Errorf("the event is %s, want \"app/erased\" in it", out)
	}
}

// filesWith returns the files in a folder that contain a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			found = append(found, filepath.Base(path))
		}
	}
	return found
}
