package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/gotooltest"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/petrock/petrock/cmd/petrock/internal/testenv"
	"github.com/petrock/petrock/generators/trial"
)

func TestMain(m *testing.M) {
	if trial.Supervise() {
		return
	}
	testscript.Main(m, map[string]func(){"petrock": main})
}

var (
	seed     = flag.Uint64("seed", 1, "seed of random choices")
	variants = flag.Int("variants", 1, "number of variants without -long, which -seed chooses")
	long     = flag.Bool("long", false, "run every variant and the long campaigns, instead of a short round chosen by -seed")
)

// rounds returns the size of a campaign: short by default, many with -long.
func rounds(short, many int) int {
	if *long {
		return many
	}
	return short
}

// The scripts test the command line as users type it.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	runScripts(t, files)
}

// The variants create projects with other names, in other places and with other flags. Many of them
// compile a project of their own. -seed chooses those that run without -long; seed 1 chooses
// workspace first, which does not.
func TestVariants(t *testing.T) {
	files, err := filepath.Glob("testdata/variants/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	workspace := slices.Index(files, filepath.Join("testdata", "variants", "workspace.txtar"))
	first := int((*seed - 1 + uint64(workspace)) % uint64(len(files)))
	picked := slices.Concat(files[first:], files[:first])[:rounds(*variants, len(files))]
	t.Logf("%d of %d variants with seed %d; -long runs all: %s", len(picked), len(files), *seed, strings.Join(picked, ", "))
	runScripts(t, picked)
}

// runScripts runs scripts. They have no network, and git knows a user.
func runScripts(t *testing.T, files []string) {
	t.Helper()
	warm(t)
	modules := goEnv(t, "GOMODCACHE") // it is below HOME, which scripts change
	params := testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status, "sound": sound, "serve": serve, "post": post},
		Setup: func(env *testscript.Env) error {
			petrock, err := exec.LookPath("petrock")
			if err != nil {
				return err
			}
			goCommand, err := exec.LookPath("go")
			if err != nil {
				return err
			}
			env.Setenv("PETROCK", petrock) // for scripts that change PATH
			env.Setenv("GO", goCommand)
			env.Setenv("GOMODCACHE", modules)
			env.Setenv("MODULES", modules)
			env.Setenv("GOPROXY", "off")
			env.Setenv("GOFLAGS", testenv.GoFlags)
			env.Setenv("GOWORK", "")
			env.Setenv("HOME", env.WorkDir)
			env.Values[servedKey{}] = &served{}
			return os.WriteFile(filepath.Join(env.WorkDir, ".gitconfig"), []byte("[user]\n\tname = Gopher\n\temail = gopher@example.com\n"), 0o644)
		},
	}
	if err := gotooltest.Setup(&params); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, params)
}

// warm compiles the project hello before scripts that run in parallel do.
func warm(t *testing.T) {
	t.Helper()
	t.Setenv("GOFLAGS", testenv.GoFlags)
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOWORK", "off")
	if err := testenv.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// status N PROGRAM [ARG...] runs a program, and fails unless its exit code is N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// sound DIR NAME MODULE [CALL ANSWER] builds, vets, tests and formats a project, and calls its
// server and its dev server. CALL are the parameters of tools/call (default: those of the tool
// add).
func sound(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 && len(args) != 5 {
		ts.Fatalf("usage: sound dir name module [call answer]")
	}
	name, module := args[1], args[2]
	call := [2]string{`{"name":"add","arguments":{"a":2,"b":3}}`, `"structuredContent":{"sum":5}`}
	if len(args) == 5 {
		call = [2]string(args[3:])
	}
	ts.Check(ts.Chdir(args[0]))
	for _, command := range []string{
		"go build ./...", "go vet ./...", "go test ./...", "go build -o bin/ ./cmd/" + name + " ./generators/petrock", "go list -m", "gofmt -l .",
	} {
		words := strings.Fields(command)
		ts.Check(ts.Exec(words[0], words[1:]...))
		want := map[string]string{"go list -m": module + "\n", "gofmt -l .": ""}
		if said, ok := want[command]; ok && ts.ReadFile("stdout") != said {
			ts.Fatalf("%s printed %q, want %q", command, ts.ReadFile("stdout"), said)
		}
	}
	for program, answer := range map[string][2]string{
		name:      call,
		"petrock": {`{"name":"project_status","arguments":{}}`, `"structuredContent":{"ok":true,"name":"` + name + `","module":"` + module + `"`},
	} {
		ts.Check(os.WriteFile(ts.MkAbs("talk"), []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":`+answer[0]+`}
`), 0o644))
		ts.Check(ts.Exec("sh", "-c", "bin/"+program+" mcp <talk"))
		if said := ts.ReadFile("stdout"); !strings.Contains(said, `"serverInfo":{"name":"`+program+`"`) || !strings.Contains(said, answer[1]) {
			ts.Fatalf("%s printed\n%s", program, said)
		}
	}
}

// goEnv returns the value of a go env variable.
func goEnv(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
