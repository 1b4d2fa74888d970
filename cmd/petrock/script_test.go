package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/gotooltest"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"petrock": main})
}

// The scripts are what users do. They have no network, and git knows who they are. Paths are
// trimmed from what they compile, so that the next run finds it in the cache.
func TestScripts(t *testing.T) {
	modules := goEnv(t, "GOMODCACHE") // it is below HOME, which scripts have one of their own of
	params := testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status},
		Setup: func(env *testscript.Env) error {
			petrock, err := exec.LookPath("petrock")
			if err != nil {
				return err
			}
			env.Setenv("PETROCK", petrock) // for when there is no PATH
			env.Setenv("GOMODCACHE", modules)
			env.Setenv("GOPROXY", "off")
			env.Setenv("GOFLAGS", "-trimpath")
			env.Setenv("GOWORK", "")
			env.Setenv("HOME", env.WorkDir)
			return os.WriteFile(filepath.Join(env.WorkDir, ".gitconfig"), []byte("[user]\n\tname = Gopher\n\temail = gopher@example.com\n"), 0o644)
		},
	}
	if err := gotooltest.Setup(&params); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, params)
}

// status N PROGRAM [ARG...] runs a program, which must end with N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s ends with %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

// goEnv is what the go command has a variable for.
func goEnv(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
