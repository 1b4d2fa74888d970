package workshop_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/workshop"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The workshop is rooted in a folder and finds the project around it at each call: what was
// wrong at one call is right at the next.
func TestProjectStatus(t *testing.T) {
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	dir := filepath.Join(root, "tools")
	write(t, filepath.Join(root, "go.mod"), "module example.com/weather\n\ngo 1.26.0\n")
	write(t, filepath.Join(dir, "sun.go"), "package tools\n\nvar Sun int = \"\"\n")
	server, err := workshop.NewServer(dir)
	if err != nil {
		t.Fatal(err)
	}
	client := mcptest.Connect(t, server)

	if result := client.CallTool("project_status", map[string]any{}); !result.IsError || !strings.Contains(result.Text(), "petrock new") {
		t.Errorf("without a project it says: %s", result.Text())
	}

	manifest, err := project.Manifest{Petrock: generators.Version, Name: "weather", Module: "example.com/weather"}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, project.FileName), string(manifest))
	broken := status(t, client)
	if broken.Builds || len(broken.Diagnostics) != 1 || broken.Diagnostics[0].String() != `tools/sun.go:3:15: cannot use "" (untyped string constant) as int value in variable declaration` {
		t.Errorf("broken, it says: %+v", broken)
	}

	write(t, filepath.Join(dir, "sun.go"), "package tools\n\nvar Sun int\n")
	sound := status(t, client)
	if !sound.Builds || sound.Name != "weather" || sound.Module != "example.com/weather" || sound.Root != root || sound.Petrock != generators.Version || len(sound.Packages) != 1 || sound.Packages[0] != "example.com/weather/tools" {
		t.Errorf("sound, it says: %+v", sound)
	}
	if text := sound.String(); !strings.Contains(text, "\n  example.com/weather/tools\nAll packages and tests compile.\n") {
		t.Errorf("to people it says:\n%s", text)
	}
	if text := broken.String(); !strings.Contains(text, "It does not compile:\ntools/sun.go:3:15: ") {
		t.Errorf("of what is broken it says to people:\n%s", text)
	}
}

func status(t *testing.T, client *mcptest.Client) (status workshop.ProjectStatusOutput) {
	t.Helper()
	result := client.CallTool("project_status", map[string]any{})
	if result.IsError {
		t.Fatalf("it says: %s", result.Text())
	}
	if err := json.Unmarshal(result.StructuredContent, &status); err != nil {
		t.Fatal(err)
	}
	return status
}
