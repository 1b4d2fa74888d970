package peers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The official client creates a feature over stdio, starting in an empty folder, and calls it
// through the dev server and through the built server, which is killed and restarted.
func TestFeature(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(version, func(t *testing.T) { driveFeature(t, version) })
	}
}

func driveFeature(t *testing.T, version string) {
	t.Parallel()
	dir := t.TempDir()
	dev := startPetrock(t, dir, version)
	mustCall(t, dev, "new_project", map[string]any{"name": "hello"})
	mustCall(t, dev, "generate_feature", map[string]any{"name": "posts", "crud": true, "fields": []string{"title:string:1..80", "body:string?"}})
	mustCall(t, dev, "generate_query", map[string]any{
		"name": "posts/count", "description": "Counts posts.", "output": []string{"count:int"}, "body": "return CountOutput{Count: len(s.Posts)}, nil",
		"examples": []any{map[string]any{"tool": "posts_create", "input": map[string]any{"title": "a"}}, map[string]any{"output": map[string]any{"count": 1}}},
	})
	program, _ := mustCall(t, dev, "build", nil)["program"].(string)
	through := func(tool string, arguments map[string]any) map[string]any {
		t.Helper()
		said := call(t, dev, "call", map[string]any{"name": tool, "arguments": arguments})
		var out map[string]any
		if err := json.Unmarshal([]byte(textOf(t, said)), &out); err != nil || said.IsError {
			t.Fatalf("%s returned %s", tool, textOf(t, said))
		}
		return out
	}
	first := through("posts_create", map[string]any{"title": "first"})
	through("posts_update", map[string]any{"id": first["id"], "title": "changed"})
	gone := through("posts_create", map[string]any{"title": "gone"})
	through("posts_delete", map[string]any{"id": gone["id"]})

	server, process := startServer(t, program, dir, version)
	if got := mustCall(t, server, "posts_get", map[string]any{"id": first["id"]}); got["title"] != "changed" {
		t.Errorf("posts_get returned %v", got)
	}
	var ids []string
	for i := range 20 {
		made := mustCall(t, server, "posts_create", map[string]any{"title": fmt.Sprint("post ", i)})
		ids = append(ids, made["id"].(string))
	}
	log, err := server.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "app://log?after=4"})
	if err != nil || strings.Count(log.Contents[0].Text, `"posts/create"`) != 20 {
		t.Errorf("app://log returned %v, %v", log, err)
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	process.Wait()
	again, _ := startServer(t, program, dir, version)
	for _, id := range ids {
		mustCall(t, again, "posts_get", map[string]any{"id": id})
	}
	if got := mustCall(t, again, "posts_count", map[string]any{}); fmt.Sprint(got["count"]) != "21" {
		t.Errorf("posts_count returned %v", got)
	}
	if err := again.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
}

// startServer starts a built server in a folder outside its project.
func startServer(t *testing.T, program, dir, version string) (*mcp.ClientSession, *exec.Cmd) {
	t.Helper()
	command := exec.Command(program, "mcp")
	command.Dir, command.Stderr = dir, os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "go-peer", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(fmt.Errorf("connecting: %w", err))
	}
	return session, command
}
