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

// fakeServer prints its arguments and its input, and fails if the input contains wrong.
const fakeServer = `package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	_ = wire()
	in, _ := io.ReadAll(os.Stdin)
	if strings.Contains(string(in), "wrong") {
		fmt.Fprintln(os.Stderr, "hello: worker wrong does not exist")
		os.Exit(2)
	}
	fmt.Printf("%s|%s\n", strings.Join(os.Args[1:], "|"), in)
}
`

// log, data and try are what the server's command agent returns.
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
		tool, arguments, want string
		isError               bool
	}{
		{"log", `{"seq":7,"detail":true}`, `agent|log|{"seq":7,"detail":true}`, false},
		{"data", `{"action":"retry","worker":"posts/digest"}`, `agent|data|{"action":"retry","worker":"posts/digest"}`, false},
		{"try", `{"steps":[{"advance":"48h"},{"call":"posts_list","arguments":{"limit":1}}]}`, `agent|try|{"steps":[{"advance":"48h"},{"arguments":{"limit":1},"call":"posts_list"}]}`, false},
		{"try", `{"steps":[{"run":"wrong"}]}`, "worker wrong does not exist", true},
	} {
		if result := client.CallTool(test.tool, json.RawMessage(test.arguments)); result.IsError != test.isError || result.Text() != test.want {
			t.Errorf("%s %s returned %q (error: %t), want %q", test.tool, test.arguments, result.Text(), result.IsError, test.want)
		}
	}
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
