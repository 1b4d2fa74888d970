package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/handover"
)

// findTarget finds the program of a command in every spelling that cobra accepts.
func TestFindTarget(t *testing.T) {
	t.Setenv("PETROCK_HANDOVER", "")
	base := t.TempDir()
	for _, file := range []string{"plain/generators/petrock/main.go", "plain/cmd/petrock/main.go", "older/cmd/petrock/main.go", "own/generators/petrock/main.go", "own/internal/generators/run/main_gen.go", "none/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, file)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"plain", "older", "own"} {
		if err := os.WriteFile(filepath.Join(base, name, "petrock.json"), []byte(`{"name":"`+name+`"}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	installed, projects := Env{Installed: true, Err: io.Discard}, Env{Err: io.Discard}
	withOwn := Env{Own: []gen.Generator{{Name: "handler", InputSchema: []byte(`{"type":"object"}`)}}}
	for _, test := range []struct {
		env     Env
		dir     string
		args    string
		want    string // the program; empty for this process
		project string // empty for that of dir
	}{
		{installed, "plain", "status", handover.Petrock, ""},
		{installed, "plain", "mcp", handover.Petrock, ""},
		{installed, "plain", "dev -- --data x", handover.Petrock, ""},
		{installed, "older", "status", handover.OlderPetrock, ""},
		{installed, "plain", "g tool x --json", handover.Petrock, ""},
		{installed, "plain", "generate handler x --flag-of-its-own y", handover.Petrock, ""},
		{installed, "plain", "generate tool x --flag-of-its-own=y", handover.Petrock, ""},
		{installed, "plain", "generate tool --help", handover.Petrock, ""},
		{installed, "", "--dir plain list", handover.Petrock, "plain"},
		{installed, "own", "list --dir ../plain", handover.Petrock, "plain"},
		{installed, "own", "list --dir=../plain --json", handover.Petrock, "plain"},
		{installed, "plain", "undo -- --dir ../own", handover.Petrock, "plain"},
		{installed, "none", "list", "", ""},
		{installed, "plain", "version", "", ""},
		{installed, "plain", "help generate", "", ""},
		{installed, "plain", "list --json=perhaps", "", ""},
		{installed, "plain", "mcp --no-exec", "", ""},
		{installed, "plain", "--no-exec=true mcp", "", ""},
		{installed, "plain", "generate handler x --no-exec", "", ""},
		{installed, "plain", "generate tool --no-exec=1 x", "", ""},
		{installed, "plain", "generate tool --no-exec=false x", handover.Petrock, ""},
		{installed, "plain", "apply abc --no-exec", "", ""},
		{projects, "own", "generate handler x", handover.Generators, ""},
		{projects, "own", "generate --help", handover.Generators, ""},
		{projects, "own", "apply abc", handover.Generators, ""},
		{projects, "own", "generate handler x --no-exec", "", ""},
		{projects, "own", "generate tool x", "", ""},
		{projects, "own", "list", "", ""},
		{projects, "plain", "generate handler x", "", ""},
		{withOwn, "own", "generate handler x", "", ""},
		{withOwn, "own", "generate nothing x", "", ""},
	} {
		env := test.env
		env.Dir = filepath.Join(base, test.dir)
		got, err := findTarget(finish(newProjectRoot(env), env), strings.Fields(test.args), env)
		switch {
		case err != nil:
			t.Errorf("in %q, %q: %v", test.dir, test.args, err)
		case got == nil && test.want == "":
		case got == nil || got.program != test.want:
			t.Errorf("in %q, %q of %+v: target %+v, want %q", test.dir, test.args, test.env, got, test.want)
		case test.project != "" && got.project.Name != test.project, test.project == "" && got.project.Name != test.dir:
			t.Errorf("in %q, %q: project %s", test.dir, test.args, got.project.Name)
		case got.quiet != strings.Contains(test.args, "--json"):
			t.Errorf("%q: quiet is %t", test.args, got.quiet)
		}
	}
	// The projects name no version, so a petrock that does not hand over says that it has another one.
	for value, want := range map[string]string{"off": "", "maybe": "PETROCK_HANDOVER=maybe: unknown value; set it to off or on"} {
		t.Setenv("PETROCK_HANDOVER", value)
		var said strings.Builder
		installed.Dir, installed.Err = filepath.Join(base, "plain"), &said
		got, err := findTarget(newProjectRoot(installed), []string{"list"}, installed)
		if got != nil || want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("with PETROCK_HANDOVER=%s: %+v, %v", value, got, err)
		}
		notice := "petrock: plain has petrock , but petrock " + generators.Version + " runs this command: cannot run generators/petrock: PETROCK_HANDOVER=off\n"
		if value == "off" && said.String() != notice {
			t.Errorf("with PETROCK_HANDOVER=off: got %q, want %q", said.String(), notice)
		}
	}
}

// With --no-exec, in any place and spelling, no command is handed over.
func TestNoExecHandsNothingOver(t *testing.T) {
	t.Setenv("PETROCK_HANDOVER", "")
	dir := t.TempDir()
	for _, folder := range []string{handover.Petrock, handover.Generators} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "petrock.json"), []byte(`{"name":"p"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	installed, projects := Env{Installed: true, Err: io.Discard, Dir: dir}, Env{Err: io.Discard, Dir: dir}
	var commands []string
	var collect func(prefix string, all []*cobra.Command)
	collect = func(prefix string, all []*cobra.Command) {
		for _, cmd := range all {
			commands = append(commands, prefix+cmd.Name())
			for _, alias := range cmd.Aliases {
				commands = append(commands, prefix+alias)
			}
			collect(prefix+cmd.Name()+" ", cmd.Commands())
		}
	}
	collect("", newProjectRoot(installed).Commands())
	commands = append(commands, "generate handler", "generate version x/y --rename a=b", "__complete generate", "help generate", "nonsense")
	handed := 0
	for _, command := range commands {
		words := strings.Fields(command)
		if to, err := findTarget(newProjectRoot(installed), words, installed); err == nil && to != nil {
			handed++
		}
		for i, spelling := range []string{
			"--no-exec", "--no-exec=true", "--no-exec=1", "--no-exec=T", "--no-exec=TRUE", "--no-exec=", "--no-exec=perhaps", "-no-exec", "-no-exec=true", "--no-exec --json",
			"--no-exec=false --no-exec", "--no-exec --no-exec=false", "--unknown --no-exec", "--unknown=x --no-exec", "x --no-exec y", "--json --no-exec=t", "--dir . --no-exec", "-- --no-exec",
			"--noexec", "--no_exec", "--no-exe", "--No-Exec", "--no-execute", "--noexec=false", "\u2014no-exec", "\u2013no-exec", "\u2212\u2212no-exec", "-\u2010no-exec",
		} {
			flags := strings.Fields(spelling)
			envs := []Env{installed, projects}
			places := [][]string{slices.Concat(words, flags), slices.Concat(flags, words), slices.Concat(words[:1], flags, words[1:])}
			if i > 1 { // one place for each of the others, in turn
				envs, places = envs[:1], places[i%3:][:1]
			}
			for _, args := range places {
				for _, env := range envs {
					if to, err := findTarget(newProjectRoot(env), args, env); err != nil || to != nil {
						t.Errorf("%q, installed %t, is handed over: %+v, %v", args, env.Installed, to, err)
					}
				}
			}
		}
	}
	if handed < 10 {
		t.Errorf("without --no-exec only %d of %q are handed over", handed, commands)
	}
}
