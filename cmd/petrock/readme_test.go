package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/petrock/petrock/cmd/petrock/internal/testenv"
)

// The README's commands print the output that it shows, and CI runs the tests that the README
// names. With -long, this test runs the commands of the new project's documents and the example of
// features too, and go run compiles petrock in a copy of this repository, as in a fresh clone.
func TestReadme(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the README's commands are for a Unix shell")
	}
	readme := readFile(t, "../../README.md")
	if lines := strings.Count(readme, "\n"); lines > 200 || len(readme) > 10_000 {
		t.Errorf("the README has %d lines and %d bytes, want at most 200 and 10000", lines, len(readme))
	}
	consoles, commands := blocks(readme, "console"), blocks(readme, "sh")
	if len(consoles) != 2 || len(commands) != 3 {
		t.Fatalf("the README has %d examples and %d commands, want 2 and 3", len(consoles), len(commands))
	}
	warm(t)
	parent := t.TempDir()
	runConsole(t, parent, parseConsole(consoles[0]))
	if *long {
		project := filepath.Join(parent, "hello")
		testDocuments(t, project)
		runConsole(t, project, parseConsole(consoles[1]))
		clone := filepath.Join(parent, "clones", "petrock")
		copyRepository(t, clone)
		printed := shell(t, clone, commands[1], "")
		_, next, ok := strings.Cut(printed, "\nNext:\n")
		if !ok {
			t.Fatalf("petrock new prints\n%s\nwithout the commands to run next", printed)
		}
		shell(t, clone, next, "")
	}

	ci := readFile(t, "../../.ci/run") + readFile(t, "../../.ci/long")
	for _, command := range []string{strings.TrimSpace(commands[2]), ".peers/run", "-C .bench run ."} {
		if !strings.Contains(ci, command) {
			t.Errorf("neither .ci/run nor .ci/long runs %q", command)
		}
	}
}

// testDocuments runs the commands in the project's own documents.
func testDocuments(t *testing.T, project string) {
	t.Helper()
	for _, name := range []string{"README.md", "AGENTS.md"} {
		text := readFile(t, filepath.Join(project, name))
		commands := blocks(text, "sh")
		if len(commands) == 0 {
			t.Errorf("%s of the project has no commands, want some", name)
		}
		for _, command := range commands {
			shell(t, project, command, "")
		}
		for _, part := range strings.Split(text, "`")[1:] {
			if strings.HasSuffix(part, "/") || strings.HasSuffix(part, ".go") && !strings.Contains(part, "*") {
				if _, err := os.Stat(filepath.Join(project, part)); err != nil && !strings.Contains(part, " ") {
					t.Errorf("%s mentions %s: %v", name, part, err)
				}
			}
		}
	}
}

// shell runs commands, and returns their standard output.
func shell(t *testing.T, dir, commands, input string) string {
	t.Helper()
	cmd := exec.Command("sh", "-e", "-c", commands)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS="+testenv.GoFlags, "GOWORK=")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s\n%v\n%s%s", commands, err, out.String(), errOut.String())
	}
	return out.String()
}

// copyRepository copies the files that a clone of this repository would have, except dotfiles.
func copyRepository(t *testing.T, to string) {
	t.Helper()
	for _, name := range []string{"cmd", "core", "generators", "skeleton", "templates", "go.mod", "go.sum"} {
		from := filepath.Join("../..", name)
		info, err := os.Stat(from)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			err = os.CopyFS(filepath.Join(to, name), os.DirFS(from))
		} else {
			err = os.WriteFile(filepath.Join(to, name), []byte(readFile(t, from)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// blocks returns the fenced blocks of a language in a Markdown text, in order.
func blocks(markdown, language string) []string {
	var found []string
	inside, current := false, ""
	for line := range strings.Lines(markdown) {
		fence, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case ok && inside:
			if current != skipped {
				found = append(found, current)
			}
			inside = false
		case ok:
			inside, current = true, ""
			if fence != language {
				current = skipped
			}
		case inside && current != skipped:
			current += line
		}
	}
	return found
}

// skipped stands for a block of another language.
const skipped = "\x00"

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
