package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/linked"
)

// An operation gets remedies that name the program as the user starts it. If the user interrupts
// the operation, the error says only that.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"petrock.json": `{"name":"p","module":"p"}`, "go.mod": "module p\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := Env{Dir: dir, Err: io.Discard, Program: "go run ./cmd/petrock"}
	show := func(Env, string) error { return nil }
	remedy, err := run(t.Context(), env, &projectFlags{}, func(e *engine.Engine, _ context.Context) (string, error) { return e.Call("undo"), nil }, show)
	if want := "go run ./cmd/petrock undo"; remedy != want || err != nil {
		t.Errorf("remedy: got %q, %v; want %q and no error", remedy, err, want)
	}
	lost := fmt.Errorf("some files are not restored: %w", context.Canceled)
	for got, want := range map[error]error{context.Canceled: mcpcli.ErrInterrupted, lost: lost} {
		if _, err := run(t.Context(), env, &projectFlags{}, func(*engine.Engine, context.Context) (string, error) { return "", got }, show); err != want {
			t.Errorf("an operation that returns %v: got %v, want %v", got, err, want)
		}
	}
}

// A command line names the program as the user starts it.
func TestCommandLine(t *testing.T) {
	got := gen.NewCall("destroy", "kind", "tool", "name", "add", "force", true).CommandLine("go run ./cmd/petrock")
	if want := "go run ./cmd/petrock destroy tool add --force"; got != want {
		t.Errorf("command line: got %q, want %q", got, want)
	}
}

// Each command on a project has a section in help.txt, and prints it.
func TestLongHelp(t *testing.T) {
	root := newProjectRoot(Env{Program: "petrock"})
	sections := map[string]string{root.Name(): root.Long}
	for _, cmd := range root.Commands() {
		if cmd.Flags().Lookup("no-exec") != nil {
			sections[cmd.Name()] = cmd.Long
		}
		if cmd.Name() == "dev" {
			sections["try"] = cmd.Commands()[0].Long
		}
	}
	sections["examples"] = strings.TrimPrefix(sections["generate"], longHelp("generate")+"\n\n")
	for name, long := range sections {
		if want := longHelp(name); want == "" || !strings.HasPrefix(long, want) {
			t.Errorf("help of %s: got %q, want it to begin with the section of help.txt, %q", name, long, want)
		}
	}
	mcpcli.Finish(root, "")
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, line := range append(strings.Split(cmd.Long, "\n"), cmd.Short) {
			if n := utf8.RuneCountInString(line); n > 100 {
				t.Errorf("help of %s: %d columns, want at most 100: %s", cmd.CommandPath(), n, line)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(root)
	for _, name := range gen.Names(linked.All()) {
		if sections["generate "+name] = examples(Env{}, "generate "+name); sections["generate "+name] == "" {
			t.Errorf("help.txt has no examples of generate %s", name)
		}
	}
	if got := strings.Count("\n"+helpText, "\n== "); got != len(sections) {
		t.Errorf("help.txt has %d sections, want %d, one for each command", got, len(sections))
	}
}
