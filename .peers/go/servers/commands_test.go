package servers_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The command line of a project's server calls its own tools. Petrock calls that server, the
// project's petrock and third-party servers by name, by URL, and by a command after --.
func TestProjectCalls(t *testing.T) {
	t.Parallel()
	project := filepath.Join(t.TempDir(), "hello")
	petrock := filepath.Join(t.TempDir(), "petrock")
	make := exec.Command("go", "build", "-o", petrock, "./cmd/petrock")
	make.Dir = "../../.."
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("building petrock: %v\n%s", err, out)
	}
	if out, err := exec.Command(petrock, "new", "hello", "--dir", project, "--no-git", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("petrock new: %v\n%s", err, out)
	}
	hello := filepath.Join(t.TempDir(), "hello")
	compile := exec.Command("go", "build", "-o", hello, "./cmd/hello")
	compile.Dir = project
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	greeter := build(t, goSDK+"examples/server/hello")
	address := serveMCPGo(t, "everything", "-t", "http")
	// The project's configuration also defines a third-party server.
	config := filepath.Join(project, ".mcp.json")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	var named struct {
		Servers map[string]any `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &named); err != nil {
		t.Fatal(err)
	}
	named.Servers["greeter"] = map[string]any{"command": greeter}
	if text, err = json.Marshal(named); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		program string
		line    string
		want    string
		status  int
	}{
		{hello, "call add a=2 b=3", `{"sum":5}`, 0},
		{hello, "call greet -- " + greeter, "petrock call", 2},
		{petrock, "call add a=2 b=3 --yes", `{"sum":5}`, 0},
		{petrock, "call add a=2 b=3", "has changed since you allowed it", 2}, // the test wrote the file
		{petrock, "tools --all", "defines the server greeter", 3},
		{petrock, "call hello petrock_project_status", "hello", 0},
		{petrock, "call greeter greet name=Ann", "Hi Ann", 0},
		{petrock, "call greet name=Ann -- " + greeter, "Hi Ann", 0},
		{petrock, "call greet -- " + greeter, "name", 2},
		{petrock, "call " + address + " echo message=hello", "hello", 0},
		{petrock, "tools " + address, "echo", 0},
		{petrock, "prompts " + address, "simple_prompt", 0},
		{petrock, "read " + address + " test://nothing/here", "", 1},
		{petrock, "call nobody greet", "nobody", 2},
		{petrock, "call http://127.0.0.1:1/mcp greet name=Ann", "start the server first", 3},
		{petrock, "call greet name=Ann -- /bin/cat", "this client does not support initialize", 3},
	} {
		cmd := exec.Command(test.program, strings.Fields(test.line)...)
		if before, command, ok := strings.Cut(test.line, " -- "); ok {
			cmd = exec.Command(test.program, append(append(strings.Fields(before), "--"), strings.Fields(command)...)...)
		}
		cmd.Dir = project
		out, err := cmd.CombinedOutput()
		status := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			status = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if status != test.status || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: exit code %d: %s", test.line, status, out)
		}
	}
}
