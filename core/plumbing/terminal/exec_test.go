//go:build unix

package terminal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/plumbing/terminal"
)

// Exec continues its search after a directory and after a file that must not be executed.
func TestExec(t *testing.T) {
	if os.Getenv("TEST_EXEC") != "" {
		_, err := terminal.Exec(os.Stdout, os.Getenv("TEST_EXEC"), "an argument")
		t.Fatal(err)
	}
	folder, closed, program := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "greet"), 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, mode := range map[string]os.FileMode{closed: 0o644, program: 0o755} {
		if err := os.WriteFile(filepath.Join(dir, "greet"), []byte("#!/bin/sh\necho \"hello $1\"\nexit 3\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		program string
		path    []string
		want    string
	}{
		{"greet", []string{"relative", folder, closed, program}, "hello an argument"},
		{filepath.Join(program, "greet"), nil, "hello an argument"},
		{"greet", []string{folder}, `exec: "greet": executable file not found`},
		{"greet", []string{t.TempDir()}, `exec: "greet": executable file not found`},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestExec$")
		cmd.Env = append(os.Environ(), "TEST_EXEC="+test.program, "PATH="+strings.Join(test.path, ":"))
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), test.want) {
			t.Errorf("Exec(%s) with PATH %q prints %s, want %s", test.program, test.path, out, test.want)
		}
	}
}
