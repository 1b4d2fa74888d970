package servers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newProject returns a folder in a project whose .mcp.json defines a program. ran reports whether
// the program was started since the last call.
func newProject(t *testing.T) (dir string, ran func() bool) {
	t.Helper()
	root := t.TempDir()
	write(t, root, "petrock.json", `{"name": "p"}`)
	write(t, root, ".mcp.json", `{"mcpServers": {"p": {"command": "sh", "args": ["-c", "touch ran"]}}}`)
	write(t, root, "below/file", "")
	return filepath.Join(root, "below"), func() bool { return os.Remove(filepath.Join(root, "ran")) == nil }
}

// Completion starts no program, calls no URL and asks no questions.
func TestCompletionIsQuiet(t *testing.T) {
	called := false
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer web.Close()
	dir, ran := newProject(t)
	for _, command := range []string{"tools", "call", "resources", "read", "prompts", "prompt", "doctor"} {
		for _, words := range []string{"", "p|", "p|x", "p|x|", "p|x|y=", "x|", "x|y=", "--yes|", "--yes|p|", "--config|../.mcp.json|", web.URL + "|", web.URL + "|x|", "--dir|", "--|sh|"} {
			args := append([]string{"__complete", command}, strings.Split(words, "|")...)
			if got := do(t.Context(), t, dir, args...); got.status != 0 || ran() || called {
				t.Errorf("%q: got %+v, and the URL was called: %t; want exit code 0, and nothing run or called", args, got, called)
			}
		}
	}
}

// A server whose name is a flag is neither suggested nor started.
func TestFlagAsName(t *testing.T) {
	dir, ran := newProject(t)
	for _, name := range []string{"--yes", "-y", "-", "--"} {
		write(t, filepath.Dir(dir), ".mcp.json", fmt.Sprintf(`{"mcpServers": {%q: {"command": "sh", "args": ["-c", "touch ran"]}}}`, name))
		for _, command := range []string{"tools", "call", "doctor"} {
			if got := do(t.Context(), t, dir, "__complete", command, ""); got.status != 0 || strings.Contains(got.out, name) {
				t.Errorf("%s suggests %+v; want status 0 and no %q in the output", command, got, name)
			}
		}
		for _, args := range []string{"tools", "tools --yes", "tools --all --yes", "call x --yes", "doctor --yes"} {
			if got := do(t.Context(), t, dir, strings.Fields(args)...); ran() || got.status == 0 || !strings.Contains(got.out+got.err, "rename the server") {
				t.Errorf(`%s with a server %s returned %+v; want an error containing "rename the server", and nothing run`, args, name, got)
			}
		}
	}
}

// Without a terminal, a program of a project's file is started only if its server is named, or with
// --yes.
func TestUnattended(t *testing.T) {
	dir, ran := newProject(t)
	for _, test := range []struct {
		args   string
		status int
		runs   bool
	}{
		{"tools", 2, false},
		{"call x", 2, false},
		{"read x", 2, false},
		{"prompt x", 2, false},
		{"resources", 2, false},
		{"prompts", 2, false},
		{"tools --all", 3, false},
		{"doctor", 1, false},
		{"tools --config ../.mcp.json", 2, false},
		{"tools --dir ..", 2, false},
		{"tools p", 3, true},
		{"call p x", 3, true},
		{"read p x", 3, true},
		{"doctor p", 1, true},
		{"tools", 2, false}, // named, it is started and not remembered
		{"tools --yes", 3, true},
		{"doctor --yes", 1, true},
		{"tools --all --yes", 3, true},
	} {
		got := do(t.Context(), t, dir, strings.Fields(test.args)...)
		says := strings.Contains(got.out+got.err, `(sh -c "touch ran"), which you have not allowed yet; run prog `+strings.Fields(test.args)[0]+" p")
		if runs := ran(); runs != test.runs || got.status != test.status || says == test.runs {
			t.Errorf("%s: it runs: %t (says so: %t), and returned %+v; want runs: %t, exit code %d", test.args, runs, says, got, test.runs, test.status)
		}
		if wrong := strings.Contains(got.err, "did not answer"); test.args == "tools --all" && (wrong || !strings.Contains(got.err, "were not started, for the reasons above: p")) {
			t.Errorf(`%s returned %s; want the servers named that were not started, and no "did not answer"`, test.args, got.err)
		}
	}
	// The user's own file needs no question.
	t.Setenv("HOME", filepath.Dir(dir))
	t.Setenv("USERPROFILE", filepath.Dir(dir))
	if got := do(t.Context(), t, dir, "tools"); !ran() {
		t.Errorf("in the home folder got %+v, and the server did not run; want it run", got)
	}
}

// Petrock does not ask about the servers of a new project, in any of its files. It asks about a
// changed definition, and about a copy in another folder.
func TestNewProjectIsAllowed(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir, ran := newProject(t)
	root := filepath.Dir(dir)
	write(t, root, ".cursor/mcp.json", `{"mcpServers": {"p": {"command": "sh", "args": ["-c", "touch ${workspaceFolder}/ran"]}}}`)
	if err := AllowProject(root); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"tools", "doctor", "tools --config ../.cursor/mcp.json"} {
		if got := do(t.Context(), t, dir, strings.Fields(args)...); !ran() || strings.Contains(got.out+got.err, "not allowed") {
			t.Errorf("%s: got %+v, want it to start the server without asking", args, got)
		}
	}
	other, ranOther := newProject(t) // the same files in another folder
	if got := do(t.Context(), t, other, "tools"); got.status != 2 || ranOther() {
		t.Errorf("a copy: got %+v, want exit code 2, and the server not started", got)
	}
	write(t, root, ".mcp.json", `{"mcpServers": {"p": {"command": "sh", "args": ["-c", "touch ran more"]}}}`)
	if got := do(t.Context(), t, dir, "tools"); got.status != 2 || ran() || !strings.Contains(got.err, "which has changed since you allowed it") {
		t.Errorf("a changed file: got %+v, want exit code 2, and the server not started", got)
	}
}

// Petrock asks before it sends values of variables to a URL of a project's file.
func TestUnattendedURL(t *testing.T) {
	sent := ""
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent = r.Header.Get("X") }))
	defer web.Close()
	t.Setenv("A_SECRET", "s3cret")
	for _, test := range []struct {
		file, key, value string
		refused          bool
	}{
		{".mcp.json", "mcpServers", "${A_SECRET}", true},
		{".mcp.json", "mcpServers", `\u0024{A_SECRET}`, true},
		{".mcp.json", "mcpServers", `\u0024\u007bA_SECRET}`, true},
		{".mcp.json", "mcpServers", "plain", false},
		{"crush.json", "mcp", "$A_SECRET", true},
		{"crush.json", "mcp", `\u0024A_SECRET`, true},
		{"crush.json", "mcp", "plain", false},
		{".cursor/mcp.json", "mcpServers", `\u0024{env:A_SECRET}`, true},
		{".vscode/mcp.json", "servers", `\u0024{env:A_SECRET}`, true},
	} {
		dir := t.TempDir()
		write(t, dir, test.file, `{"`+test.key+`": {"p": {"type": "http", "url": "`+web.URL+`", "headers": {"X": "`+test.value+`"}}}}`)
		sent = ""
		got := do(t.Context(), t, dir, "tools")
		if (sent == "") != test.refused || strings.Contains(got.err, "or pass --yes") != test.refused {
			t.Errorf("%s with %s: it sends %q, and returned %+v; want it refused: %t, with --yes as the way out", test.file, test.value, sent, got, test.refused)
		}
	}
}

// Errors have the URL and the command as the file has them, without the values of variables.
func TestErrorsWithoutValues(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	t.Setenv("A_SECRET", "s3cret")
	dir := t.TempDir()
	for server, want := range map[string]string{
		`"type": "http", "url": "` + web.URL + `/${A_SECRET}"`:    web.URL + "/${A_SECRET}: ",
		`"type": "sse", "url": "` + web.URL + `/${A_SECRET}?x=1"`: web.URL + "/${A_SECRET}: ",
		`"type": "http", "url": "http://127.0.0.1:1/${A_SECRET}"`: "http://127.0.0.1:1/${A_SECRET}: ",
		`"command": "sh", "args": ["-c", "exit 1 # ${A_SECRET}"]`: "the server exited",
	} {
		write(t, dir, ".mcp.json", `{"mcpServers": {"p": {`+server+`}}}`)
		for _, args := range []string{"tools", "tools --json", "tools --all", "call x", "doctor", "doctor --json"} {
			got := do(t.Context(), t, dir, append(strings.Fields(args), "--yes")...)
			if text := got.out + got.err; strings.Contains(text, "s3cret") || !strings.Contains(text, want) {
				t.Errorf(`%s with %s returned %+v; want %q in it, and no "s3cret"`, args, server, got, want)
			}
		}
	}
}

// A file of another user is ignored with a notice.
func TestForeignFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can chown")
	}
	dir, ran := newProject(t)
	if err := os.Chown(filepath.Join(dir, "..", ".mcp.json"), 12345, -1); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"tools", "tools p", "tools --yes", "call p x --yes", "doctor --yes"} {
		if got := do(t.Context(), t, dir, strings.Fields(args)...); ran() || got.status == 0 || !strings.Contains(got.err, "belongs to another user") {
			t.Errorf(`%s returned %+v; want an error containing "belongs to another user", and nothing run`, args, got)
		}
	}
	write(t, dir, "crush.json", `{"mcp": {`+entry(t, "good", "good")+`}}`)
	write(t, dir, ".mcp.json", `{}`)
	if err := os.Chown(filepath.Join(dir, ".mcp.json"), 12345, -1); err != nil {
		t.Fatal(err)
	}
	if got := do(t.Context(), t, dir, "tools", "good"); got.status != 0 || strings.Count(got.err, "belongs to another user") != 1 {
		t.Errorf(`with another file got %+v; want exit code 0, and "belongs to another user" once`, got)
	}
}

// Saved lists are limited, and damaged files are replaced.
func TestKnown(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	entries := func(size int) []json.RawMessage {
		return []json.RawMessage{json.RawMessage(fmt.Sprintf("%q", strings.Repeat("x", size)))}
	}
	saveList("one", "tools/list", entries(10))
	saveList("one", "prompts/list", entries(20))
	saveList("one", "tasks/list", entries(10))
	known := func() string {
		text := ""
		for _, method := range []string{"tools/list", "prompts/list", "tasks/list"} {
			text += fmt.Sprint(len(loadLists("one")[method]))
		}
		return text
	}
	if got := known(); got != "110" {
		t.Errorf(`known() = %q, want "110"`, got)
	}
	saveList("one", "tools/list", entries(maxListsFile))
	if got := known(); got != "010" {
		t.Errorf(`after a list that is too large: known() = %q, want "010"`, got)
	}
	file := listsFile("one")
	for _, damage := range []string{"", "{", "null", "[1]", `{"tools/list": {}}`, "\x00\xff", strings.Repeat("[", 100_000), strings.Repeat(" ", maxListsFile+1)} {
		if err := os.WriteFile(file, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if lists := loadLists("one"); lists == nil || len(lists["tools/list"]) > 0 {
			t.Errorf("with %.20q it knows %v, want no tools", damage, lists)
		}
		saveList("one", "tools/list", entries(10))
		if got := known(); got != "100" {
			t.Errorf(`after %.20q: known() = %q, want "100"`, damage, got)
		}
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() == 0o666 && known() != "000" {
		t.Errorf("reading a file that others can write: %v", err)
	}
	for i := range maxListsKept + 20 {
		name := fmt.Sprint("server", i)
		saveList(name, "tools/list", entries(1))
		if err := os.Chtimes(listsFile(name), time.Time{}, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) > maxListsKept {
		t.Errorf("there are %d files, %v; want no error and at most %v left", len(left), err, maxListsKept)
	}
	if lists := loadLists(fmt.Sprint("server", maxListsKept+19)); len(lists["tools/list"]) != 1 {
		t.Errorf("the newest server has the lists %v, want one tools/list", lists)
	}
}
