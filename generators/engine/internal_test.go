package engine_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// An internal command exists, but is not a tool.
func TestInternalIsNotATool(t *testing.T) {
	b := open(t)
	before, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, err := b.generate("features/posts/mark.go", strings.Replace(command("Mark", "return e.Time"), "// Mark is one.", "// Mark is one.\n//\n//petrock:internal", 1))
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Components) != 1 || made.Components[0].EventType != "posts/mark" || !made.Components[0].Internal || *made.ToolsList != *before.ToolsList {
		t.Errorf("it makes %+v, and the tools are %+v; want the internal command posts/mark, and the tools %+v as before", made.Components, made.ToolsList, before.ToolsList)
	}
	b.write("features/posts/create.go", strings.Replace(b.read("features/posts/create.go"), "// Create writes a post.", "// Create writes a post.\n//\n//petrock:internal", 1))
	synced, err := b.Sync(t.Context(), engine.Options{})
	if err != nil || !synced.OK || len(synced.Next) > 0 || synced.ToolsList.Tools != before.ToolsList.Tools-1 {
		t.Errorf("sync after a command became internal: %s (%v); want no error, OK, no next step, and %d tools", synced, err, before.ToolsList.Tools-1)
	}
}

// Renaming a worker warns that it loses its position, and explains how to keep it.
func TestWorkersAreRenamed(t *testing.T) {
	b := open(t)
	was := b.read("features/posts/digest.go")
	b.write("features/posts/digest.go", strings.ReplaceAll(was, "Digest", "Mailer"))
	synced, err := b.Sync(t.Context(), engine.Options{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	want := "Worker posts/digest no longer exists. If you renamed it, add //petrock:name digest to the doc comment of its type: its position in the event log is stored under this name."
	want = "Write it with petrock apply " + synced.Plan + ".\n" + want
	if got := strings.Join(synced.Next, "\n"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.write("features/posts/digest.go", strings.NewReplacer("// Digest counts.", "// Mailer counts.\n//\n//petrock:name digest", "Digest", "Mailer").Replace(was))
	if synced, err := b.Sync(t.Context(), engine.Options{}); err != nil || !synced.OK || len(synced.Next) > 0 {
		t.Errorf("sync with the old name: %s (%v); want no error, OK true and no next step", synced, err)
	}
}
