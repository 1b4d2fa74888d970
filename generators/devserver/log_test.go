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

// fakeServer prints its arguments for log map, workers and the like, its arguments and its input for
// try, an error for log skip, one long event for log show, and otherwise 40 events.
const fakeServer = `package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	_ = wire()
	args := os.Args[1:]
	switch {
	case len(args) > 1 && (args[1] == "map" || args[1] == "erase"):
		fmt.Printf("%s\n\nNext:\n  hello replay\n", strings.Join(args, "|"))
	case len(args) > 1 && args[1] == "skip":
		fmt.Fprintln(os.Stderr, "hello: event 10 of the log (posts/create, version 2, 2026-01-02 03:04:05) is newer than this build, which knows posts/create up to version 1\nrun the newer build\n"+
			"amended before it: [4]; if that is the cause, see hello log show 4 and hello log restore\nshow it:   hello log show 10\nnothing was recorded; to record the change anyway, add --force")
		os.Exit(1)
	case len(args) > 1 && args[1] == "show":
		fmt.Printf("{\n  \"seq\": 7,\n  \"data\": %q\n}\n", strings.Repeat("ä", 2000))
	case args[0] == "try":
		in, _ := io.ReadAll(os.Stdin)
		fmt.Printf("%s|%s\n%s", strings.Join(args, "|"), in, strings.Repeat("x", 5000))
		if strings.Contains(string(in), "wrong") {
			fmt.Fprintln(os.Stderr, "hello: worker wrong does not exist\nRun 'hello try --help' for usage.")
			os.Exit(2)
		}
	case args[0] != "log" && args[0] != "replay":
		fmt.Printf("%s\n\nNext:\n  hello workers\n", strings.Join(args, "|"))
	case args[0] == "replay":
		fmt.Println("40 events")
	case strings.Contains(strings.Join(args, " "), " --actor="):
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
		{`{}`, "x…\n40 2026-01-02 03:04:05 posts/create {\"title\":\"xxx", "Next: earlier events with before 34, a whole event", false},
		{`{"limit":2}`, "39 2026", "Next: earlier events with before 39", false},
		{`{"after":1}`, "1 2026-01-02 03:04:05 posts/create {\"title\":\"\"}\n2 ", "Next: later events with after ", false},
		{`{"after":1,"limit":2}`, "xxx\"}\nNext: ", "later events with after 2", false},
		{`{"cause":"posts/digest","text":"a b","since":"2h","until":"1h","before":9,"after":3,"actor":"x","type":"a,b*"}`,
			"log|--after=3|--before=9|--limit=21|--type=a,b*|--actor=x|--cause=posts/digest|--text=a b|--since=2h|--until=1h", "", false},
		{`{"type":"users"}`, "no events", "", false},
		{`{"type":"posts","actor":"local:ada"}`, "log|--after=0|--before=0|--last=21|--type=posts|--actor=local:ada", "", false},
		{`{"seq":7}`, `{"seq":7,"data":"ää`, "pass detail for the whole event", false},
		{`{"action":"erase","seq":3,"reason":"x"}`, "log|erase|3|--reason=x|--yes", "", false},
		{`{"action":"erase","actor":"ada"}`, "log: action erase requires seq", "", true},
		{`{"action":"replay"}`, `40 events`, "", false},
		{`{"action":"map","seq":3,"type":"posts/create","input":{"title":"<a>"},"reason":"--wrong","force":true}`,
			`log|map|3|--type=posts/create|--reason=--wrong|--force=true|--input={"title":"<a>"}`, "restore reverts", false},
		{`{"action":"skip","seq":3,"reason":"x"}`, "anyway, add --force\nIf a stored event is the cause, use the tool log with seq", "redo restores it", true},
		{`{"action":"skip","type":"posts/create","reason":"x"}`, "log: action skip requires seq", "", true},
		{`{"seq":-1}`, "must not be negative", "", true},
	} {
		result := client.CallTool("log", json.RawMessage(test.arguments))
		text := result.Text()
		if result.IsError != test.isError || !strings.Contains(text, test.want) || !strings.Contains(text, test.next) || len(text) > 2048 {
			t.Errorf("log %s returned %d bytes, want %s and %s:\n%.2000s", test.arguments, len(text), test.want, test.next, text)
		}
	}
	if text := client.CallTool("log", map[string]any{"detail": true, "limit": 100}).Text(); !strings.Contains(text, "\n40 2026") || !strings.Contains(text, strings.Repeat("x", 780)) {
		t.Errorf(`log with detail returned %s; want "\n40 2026" and 780 times x`, text)
	}
	testData(t, root, client)
	if err := os.RemoveAll(filepath.Join(root, "features")); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"log", "data", "try"} {
		arguments := map[string]any{}
		if tool == "try" {
			arguments["steps"] = []any{}
		}
		if text := client.CallTool(tool, arguments).Text(); !strings.Contains(text, "the project has no features") {
			t.Errorf(`%s of a project without features: got %q, want it to contain "the project has no features"`, tool, text)
		}
	}
	if text := client.CallTool("call", map[string]any{"name": "x", "actor": "ada"}).Text(); !strings.Contains(text, "calls have no actor") {
		t.Errorf(`call with an actor in a project without features: got %q, want it to contain "calls have no actor"`, text)
	}
}

// testData checks the tools data and try, which run the server's command line too.
func testData(t *testing.T, root string, client *mcptest.Client) {
	t.Helper()
	for _, test := range []struct {
		tool, arguments, want string
		isError               bool
	}{
		{"data", `{}`, "workers|--all=false", false},
		{"data", `{"detail":true}`, "workers|--all=true", false},
		{"data", `{"action":"retry","worker":"posts/digest"}`, "workers|retry|--all|--|posts/digest", false},
		{"data", `{"action":"retry","worker":"posts/digest","seq":7}`, "workers|retry|--|posts/digest|7", false},
		{"data", `{"action":"reset","worker":"-x"}`, "workers|reset|--|-x", false},
		{"data", `{"action":"reset"}`, "data: action reset requires worker, such as posts/digest", true},
		{"data", `{"action":"restore","file":"a.gz"}`, "restore|--replace|./a.gz", false},
		{"data", `{"action":"restore"}`, "data: action restore requires file, a path in the project such as .petrock/backup-NAME.jsonl.gz", true},
		{"data", `{"action":"backup","file":"../a.gz"}`, "data: action backup requires file, a path in the project such as .petrock/backup-NAME.jsonl.gz", true},
	} {
		result := client.CallTool(test.tool, json.RawMessage(test.arguments))
		if text := result.Text(); result.IsError != test.isError || text != test.want {
			t.Errorf("%s %s returned %q (error: %t), want %q", test.tool, test.arguments, text, result.IsError, test.want)
		}
	}
	if text := client.CallTool("data", map[string]any{"action": "backup"}).Text(); !strings.HasPrefix(text, "backup|./.petrock/backup-2") {
		t.Errorf("backup returned %q, want a file in .petrock", text)
	}
	if _, err := os.Stat(filepath.Join(root, ".petrock")); err != nil {
		t.Error(err)
	}
	steps := map[string]any{"steps": []any{map[string]any{"advance": "48h"}, map[string]any{"call": "posts_list", "arguments": map[string]any{"limit": 1}}}}
	text := client.CallTool("try", steps).Text()
	if !strings.HasPrefix(text, `try|-|--all=false|[{"advance":"48h"},{"arguments":{"limit":1},"call":"posts_list"}]`) || !strings.HasSuffix(text, "Next: pass fewer steps, or detail for everything.") || len(text) > 4200 {
		t.Errorf("try returned %.500q, want the arguments, the steps, and a hint at detail", text)
	}
	steps["detail"] = true
	if text := client.CallTool("try", steps).Text(); !strings.Contains(text, "--all=true") || len(text) < 5000 {
		t.Errorf("try with detail returned %d bytes, want everything", len(text))
	}
	result := client.CallTool("try", map[string]any{"steps": []any{map[string]any{"run": "wrong"}}})
	if text := result.Text(); !result.IsError || !strings.Contains(text, "hello: worker wrong does not exist") || strings.Contains(text, "--help") {
		t.Errorf("try with a wrong step returned %.500q, want the error without the hint at help", text)
	}
}

// With --no-exec, there are no tools that run the project's server.
func TestNoLog(t *testing.T) {
	for _, name := range []string{"call", "data", "log", "try"} {
		if hasTool(connect(t, devserver.Options{Dir: t.TempDir(), NoExec: true}), name) {
			t.Errorf("with NoExec there is a tool %s, want none", name)
		}
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
