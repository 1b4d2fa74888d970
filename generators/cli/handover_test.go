package cli

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/handover"
)

// A command is handed over to its program in every spelling that cobra accepts.
func TestFindTarget(t *testing.T) {
	t.Setenv("PETROCK_HANDOVER", "")
	base := t.TempDir()
	for _, file := range []string{"plain/generators/petrock/main.go", "plain/cmd/petrock/main.go", "own/generators/petrock/main.go", "own/internal/generators/run/main_gen.go", "none/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, file)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"plain", "own"} {
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
		{installed, "plain", "g tool x --json", handover.Petrock, ""},
		{installed, "plain", "generate handler x", handover.Petrock, ""},
		{installed, "plain", "generate handler x --dry-run", handover.Petrock, ""},
		{installed, "plain", "generate tool --help", handover.Petrock, ""},
		{installed, "", "--dir plain list", handover.Petrock, "plain"},
		{installed, "own", "list --dir ../plain", handover.Petrock, "plain"},
		{installed, "own", "list --dir=../plain --json", handover.Petrock, "plain"},
		{installed, "plain", "test -- --dir ../own", handover.Petrock, "plain"},
		{installed, "none", "list", "", ""},
		{installed, "plain", "version", "", ""},
		{installed, "plain", "help generate", "", ""},
		{installed, "plain", "undo -- --no-exec", handover.Petrock, ""},
		{installed, "plain", "mcp --no-exec", "", ""},
		{installed, "plain", "--no-exec=true mcp", "", ""},
		{installed, "plain", "list --no-exec=1", "", ""},
		{installed, "plain", "list --no-exec=T", "", ""},
		{installed, "plain", "list --no-exec=false --no-exec", "", ""},
		{installed, "plain", "generate --no-exec tool x", "", ""},
		{installed, "plain", "dev --no-exec -- --no-exec=false", "", ""},
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
		{withOwn, "own", "generate handler", "", ""},
		{withOwn, "own", "generate nothing x", "", ""},
	} {
		env := test.env
		env.Dir = filepath.Join(base, test.dir)
		got, err := parse(t, env, strings.Fields(test.args)...)
		switch {
		case err != nil:
			t.Errorf("in %q, target of %q: %v", test.dir, test.args, err)
		case got == nil && test.want == "":
		case got == nil || got.program != test.want:
			t.Errorf("in %q, installed %t: target of %q = %+v, want %q", test.dir, env.Installed, test.args, got, test.want)
		case got.project.Name != cmp.Or(test.project, test.dir):
			t.Errorf("in %q, project of %q = %s, want %s", test.dir, test.args, got.project.Name, cmp.Or(test.project, test.dir))
		}
	}
	// The projects name no version, so a petrock that does not hand over says that it has another
	// one.
	for value, want := range map[string]string{"off": "", "maybe": "PETROCK_HANDOVER=maybe: unknown value; set it to off or on"} {
		t.Setenv("PETROCK_HANDOVER", value)
		var said strings.Builder
		installed.Dir, installed.Err = filepath.Join(base, "plain"), &said
		got, err := parse(t, installed, "list")
		if got != nil || want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("with PETROCK_HANDOVER=%s: target = %+v, %v, want none, %q", value, got, err, want)
		}
		notice := "petrock: plain has petrock , but petrock " + generators.Version + " runs this command: cannot run generators/petrock: PETROCK_HANDOVER=off\n"
		if value == "off" && said.String() != notice {
			t.Errorf("with PETROCK_HANDOVER=off: got %q, want %q", said.String(), notice)
		}
	}
}

// A command line with an argument that is almost --no-exec is a usage error, and is not handed
// over.
func TestMisspeltNoExec(t *testing.T) {
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
	env := Env{Installed: true, Err: io.Discard, Dir: dir}
	handed := 0
	for _, words := range commandsOf(newProjectRoot(env)) {
		for _, arg := range []string{"--noexec", "--no_exec", "--no-exe", "--No-Exec", "--no-execute", "--noexec=false", "--no-exec=", "--no-exec=perhaps", "-no-exec", "--unknown"} {
			if to, err := parse(t, env, append(words, arg)...); err == nil || to != nil {
				t.Errorf("target of %q = %+v, %v, want none and an error", append(words, arg), to, err)
			}
		}
		if to, err := parse(t, env, append(words, "--no-exec")...); to != nil {
			t.Errorf("target of %q = %+v, %v, want none", append(words, "--no-exec"), to, err)
		}
		if to, _ := parse(t, env, words...); to != nil {
			handed++
		}
	}
	if handed < 10 {
		t.Errorf("%d commands without arguments are handed over, want at least 10", handed)
	}
}

// commandsOf returns the names and aliases of the commands below cmd that accept --no-exec, and of
// one generator that petrock does not have.
func commandsOf(cmd *cobra.Command) (all [][]string) {
	for _, sub := range cmd.Commands() {
		if sub.Flags().Lookup("no-exec") == nil {
			continue
		}
		names := append([]string{sub.Name()}, sub.Aliases...)
		for _, name := range names {
			all = append(all, []string{name})
		}
		for _, below := range commandsOf(sub) {
			all = append(all, append([]string{sub.Name()}, below...))
		}
		if sub.Name() == "generate" {
			all = append(all, []string{"generate", "handler", "x"})
		}
	}
	return all
}

// A target is the program that a command is handed over to.
type target struct {
	project *project.Project
	program string
}

// parse runs a command line whose commands do nothing, and returns the program that the command
// would be handed over to, or nil.
func parse(t *testing.T, env Env, args ...string) (to *target, err error) {
	t.Helper()
	env.args = args
	root := newProjectRoot(env)
	addOwnGenerators(t.Context(), root, env)
	finish(root, env)
	root.SetOut(io.Discard)
	find := func(cmd *cobra.Command) error {
		found, program, err := findTarget(cmd, env)
		if program != "" {
			to = &target{found, program}
		}
		return err
	}
	var replaceRun func(cmd *cobra.Command)
	replaceRun = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			replaceRun(sub)
		}
		if cmd.Flags().Lookup("no-exec") == nil {
			return
		}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return find(cmd) }
		cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
			if isSet, _ := cmd.Flags().GetBool("help"); isSet {
				err = find(cmd)
			}
		})
	}
	replaceRun(root)
	root.SetArgs(args)
	err = cmp.Or(root.ExecuteContext(t.Context()), err)
	return to, err
}
