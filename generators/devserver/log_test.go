package devserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/generators/devserver"
)

// fakeServer prints its arguments for log map, an error for log skip, one long event for log show,
// and otherwise 40 events.
const fakeServer = `package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	_ = wire()
	args := os.Args[1:]
	switch {
	case len(args) > 1 && args[1] == "map":
		fmt.Printf("%s\n\nNext:\n  hello replay\n", strings.Join(args, "|"))
	case len(args) > 1 && args[1] == "skip":
		fmt.Fprintln(os.Stderr, "hello: event 10 of the log (posts/create, version 2, 2026-01-02 03:04:05) is newer than this build, which knows posts/create up to version 1\nrun the newer build\n"+
			"amended before it: [4]; if that is the cause, see hello log show 4 and hello log restore\nshow it:   hello log show 10\nnothing was recorded; to record the change anyway, add --force")
		os.Exit(1)
	case len(args) > 1 && args[1] == "show":
		fmt.Printf("{\n  \"seq\": 7,\n  \"data\": %q\n}\n", strings.Repeat("ä", 2000))
	case args[0] == "replay":
		fmt.Println("40 events")
	case strings.HasPrefix(args[len(args)-1], "--actor="):
		fmt.Println(strings.Join(args, "|"))
	case strings.HasSuffix(args[len(args)-1], "=users"):
		fmt.Fprintln(os.Stderr, "hello: no data in data: hello has not run with it yet")
		os.Exit(4)
	default:
		for i := range 40 {
			fmt.Printf("%8d  2026-01-02 03:04:05  posts/create              {\"title\":\"%s\"}\n", i+1, strings.Repeat("x", i*20))
		}
	}
}
`

// log runs the server's command line, and returns short results that say how to get more.
func TestLog(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	root := t.TempDir()
	archive, err := txtar.ParseFile("../engine/testdata/features.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		write(t, filepath.Join(root, file.Name), string(file.Data))
	}
	write(t, filepath.Join(root, "cmd", "hello", "main.go"), fakeServer)
	client := connect(t, devserver.Options{Dir: root})
	for _, test := range []struct {
		arguments, want, next string
		isError               bool
	}{
		{`{}`, "1 2026-01-02 03:04:05 posts/create {\"title\":\"\"}\n2 ", "Next: more events with after ", false},
		{`{"limit":2}`, "xxx\"}\nNext: ", "more events with after 2", false},
		{`{"type":"users"}`, "no events", "", false},
		{`{"type":"posts","actor":"local:ada"}`, "log|--after=0|--limit=21|--type=posts|--actor=local:ada", "", false},
		{`{"seq":7}`, `{"seq":7,"data":"ää`, "pass detail for the whole event", false},
		{`{"action":"replay"}`, `40 events`, "", false},
		{`{"action":"map","seq":3,"type":"posts/create","input":{"title":"<a>"},"reason":"--wrong","force":true}`,
			`log|map|3|--type=posts/create|--reason=--wrong|--force|--input={"title":"<a>"}`, "restore reverts", false},
		{`{"action":"skip","seq":3,"reason":"x"}`, "anyway, add --force\nIf a stored event is the cause, use the tool log with seq", "redo restores it", true},
		{`{"action":"skip","type":"posts/create","reason":"x"}`, "log: action skip requires seq", "", true},
		{`{"seq":-1}`, "must not be negative", "", true},
	} {
		result := client.CallTool("log", json.RawMessage(test.arguments))
		text := result.Text()
		if result.IsError != test.isError || !strings.Contains(text, test.want) || !strings.Contains(text, test.next) || len(text) > 2048 {
			t.Errorf("log %s returned %d bytes, want %s and %s:\n%s", test.arguments, len(text), test.want, test.next, text)
		}
	}
	if text := client.CallTool("log", map[string]any{"detail": true, "limit": 100}).Text(); !strings.Contains(text, "\n40 2026") || !strings.Contains(text, strings.Repeat("x", 780)) {
		t.Errorf(`log with detail returned %s; want "\n40 2026" and 780 times x`, text)
	}
	if err := os.RemoveAll(filepath.Join(root, "features")); err != nil {
		t.Fatal(err)
	}
	if text := client.CallTool("log", nil).Text(); !strings.Contains(text, "the project has no features") {
		t.Errorf(`log of a project without features: got %q, want it to contain "the project has no features"`, text)
	}
}

// With --no-exec, there is no event log.
func TestNoLog(t *testing.T) {
	if hasTool(connect(t, devserver.Options{Dir: t.TempDir(), NoExec: true}), "log") {
		t.Error("with NoExec there is a tool log, want none")
	}
}

func hasTool(client *mcptest.Client, name string) bool {
	for _, tool := range client.Tools() {
		if tool.Name == name {
			return true
		}
	}
	return false
}
