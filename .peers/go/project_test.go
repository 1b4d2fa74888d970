package peers_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A new project, started by .mcp.json, serves the official client in both eras: its own tools and
// petrock's, in one connection. Petrock's tools work even if the project does not compile.
func TestNewProject(t *testing.T) {
	t.Parallel()
	project := filepath.Join(t.TempDir(), "hello")
	petrock := exec.Command("go", "run", "./cmd/petrock", "new", "hello", "--dir", project, "--no-git", "--quiet")
	petrock.Dir = "../.."
	if out, err := petrock.CombinedOutput(); err != nil {
		t.Fatalf("petrock new: %v\n%s", err, out)
	}
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"} {
		session := start(t, project, "hello", version)
		if got := textOf(t, call(t, session, "add", map[string]any{"a": 2, "b": 3})); got != `{"sum":5}` {
			t.Errorf("in %s, add returned %s", version, got)
		}
		if got := textOf(t, call(t, session, "petrock_project_status", nil)); !strings.Contains(got, "module hello") || !strings.Contains(got, "All packages and tests compile.") {
			t.Errorf("in %s, petrock_project_status returned %s", version, got)
		}
	}

	if err := os.WriteFile(filepath.Join(project, "tools", "broken.go"), []byte("package tools\n\nvar x int = \"\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := decode[projectStatus](t, call(t, start(t, project, "hello", ""), "petrock_project_status", nil))
	if got.Builds || len(got.Diagnostics) != 1 || got.Diagnostics[0].File != "tools/broken.go" || got.Diagnostics[0].Line != 3 {
		t.Errorf("with broken code, petrock_project_status returned %+v", got)
	}
}

// start starts a server in the project's .mcp.json.
func start(t *testing.T, project, name, version string) *mcp.ClientSession {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(project, ".mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	server := config.Servers[name]
	command := exec.Command(server.Command, server.Args...)
	command.Dir = filepath.Join(project, "tools") // clients may start in a subfolder
	client := mcp.NewClient(&mcp.Implementation{Name: "go-peer", Version: "1"}, nil)
	transport := &mcp.CommandTransport{Command: command, TerminateDuration: time.Minute}
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting to %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("closing %s: %v", name, err)
		}
	})
	return session
}

// projectStatus is the structured content of the tool petrock_project_status.
type projectStatus struct {
	Builds      bool
	Diagnostics []struct {
		File string
		Line int
	}
}
