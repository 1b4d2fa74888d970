package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/cmd/petrock/internal/testenv"
	"github.com/petrock/petrock/core/plumbing/project"
)

// petrockCommand returns petrock new as a separate process, without network.
func petrockCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("petrock", append([]string{"new"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"PWD="+dir, "GOPROXY=off", "GOFLAGS="+testenv.GoFlags, "GOWORK=",
		"GIT_AUTHOR_NAME=Gopher", "GIT_AUTHOR_EMAIL=gopher@example.com", "GIT_COMMITTER_NAME=Gopher", "GIT_COMMITTER_EMAIL=gopher@example.com",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	return cmd
}

// checkWhole fails the test unless dir contains a complete project, and a clean git repository if
// any.
func checkWhole(t *testing.T, dir string) {
	t.Helper()
	found, err := project.Find(dir)
	if err != nil || found.Root != dir {
		t.Fatalf("%s: got %+v, %v; want the project in it", dir, found, err)
	}
	wanted, err := scaffold.Embedded().Make(scaffold.Answers{Name: found.Name, Module: found.Module, Example: found.Example})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range wanted {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file.Path)))
		if err != nil {
			t.Errorf("half a project: %v", err)
			continue
		}
		if !bytes.Equal(data, file.Data) {
			t.Errorf("data = %s, want %s (Path %q)", data, file.Data, file.Path)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		if out, err := exec.Command("git", "-C", dir, "status", "--short").CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("git status: %v\n%s; want no error and no output", err, out)
		}
	}
}

// names returns the entries of a folder, sorted.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	slices.Sort(all)
	return all
}
