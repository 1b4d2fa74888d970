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

// A project's server calls its own tools, those of its workshop and those of servers that others wrote, as a new user would: by name, by
// address, by a command after --.
func TestProjectCalls(t *testing.T) {
	t.Parallel()
	project := filepath.Join(t.TempDir(), "hello")
	petrock := exec.Command("go", "run", "./cmd/petrock", "new", "hello", "--dir", project, "--no-git", "--quiet")
	petrock.Dir = "../../.."
	if out, err := petrock.CombinedOutput(); err != nil {
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
	// The project names a server of somebody else too.
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
		line   string
		want   string
		status int
	}{
		{"call add a=2 b=3", `{"sum":5}`, 0},
		{"call petrock project_status", "hello", 0},
		{"call greeter greet name=Ann", "Hi Ann", 0},
		{"call greet name=Ann -- " + greeter, "Hi Ann", 0},
		{"call greet -- " + greeter, "name", 2},
		{"call " + address + " echo message=hello", "hello", 0},
		{"tools " + address, "echo", 0},
		{"prompts " + address, "simple_prompt", 0},
		{"read " + address + " test://nothing/here", "", 1},
		{"call nobody greet", "nobody", 2},
		{"call http://127.0.0.1:1/mcp greet name=Ann", "nothing listens there", 3},
		{"call greet name=Ann -- /bin/cat", "it sends back what it is sent", 3},
	} {
		cmd := exec.Command(hello, append(strings.Fields(test.line), "--text")...)
		if before, command, ok := strings.Cut(test.line, " -- "); ok {
			cmd = exec.Command(hello, append(append(strings.Fields(before), "--text", "--"), strings.Fields(command)...)...)
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
			t.Errorf("%s ends with %d: %s", test.line, status, out)
		}
	}
}
