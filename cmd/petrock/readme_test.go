package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/cmd/petrock/internal/testenv"
)

// The README's first command creates a project, the commands that it prints work, and the project's
// server answers as the README says. The README's second command is part of CI. With -long, go run
// compiles petrock in a copy of this repository, as in a fresh clone; otherwise this program is petrock.
func TestReadme(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the README's commands are for a Unix shell")
	}
	readme := readFile(t, "../../README.md")
	commands := blocks(readme, "sh")
	if len(commands) != 2 {
		t.Fatalf("the README has %d commands, not 2", len(commands))
	}
	parent := t.TempDir()
	clone := filepath.Join(parent, "petrock")
	warm(t)
	first := commands[0]
	if *long {
		copyRepository(t, clone)
	} else {
		if err := os.Mkdir(clone, 0o755); err != nil {
			t.Fatal(err)
		}
		if first = strings.Replace(first, "go run ./cmd/petrock ", "petrock ", 1); first == commands[0] {
			t.Fatalf("the README's first command does not run petrock: %s", first)
		}
	}

	printed := shell(t, clone, first, "")
	_, next, ok := strings.Cut(printed, "\nNext:\n")
	if !ok || !slices.Contains(blocks(readme, ""), "Next:\n"+next) {
		t.Errorf("the first command prints at the end\n%s\nunlike the README", next)
	}
	shell(t, clone, next, "")

	project := filepath.Join(parent, "hello")
	lines, answers := blocks(readme, "jsonl"), blocks(readme, "json")
	if len(lines) != 1 || len(answers) != 1 {
		t.Fatalf("the README has %d and %d halves of a conversation", len(lines), len(answers))
	}
	if got := shell(t, project, "go run ./cmd/hello mcp", lines[0]); got != answers[0] {
		t.Errorf("the server says\n%s\nand the README\n%s", got, answers[0])
	}
	testDocuments(t, project)

	ci := readFile(t, "../../.ci/run") + readFile(t, "../../.ci/long")
	for _, command := range []string{strings.TrimSpace(commands[1]), ".peers/run", "-C .bench run ."} {
		if !strings.Contains(ci, command) {
			t.Errorf("neither .ci/run nor .ci/long runs %s, which the README names", command)
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
			t.Errorf("%s of the project has no commands", name)
		}
		for _, command := range commands {
			out := shell(t, project, command, "")
			if strings.Contains(command, "call add a=2 b=3") && !strings.Contains(out, `"sum": 5`) {
				t.Errorf("a call in %s prints\n%s", name, out)
			}
		}
		for _, part := range strings.Split(text, "`")[1:] {
			if strings.HasSuffix(part, "/") || strings.HasSuffix(part, ".go") && !strings.Contains(part, "*") {
				if _, err := os.Stat(filepath.Join(project, part)); err != nil && !strings.Contains(part, " ") {
					t.Errorf("%s speaks of %s: %v", name, part, err)
				}
			}
		}
	}
}

// shell runs commands in a shell, and returns their output.
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

// copyRepository copies the files of this repository, without dotfiles.
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

// skipped is the placeholder of a block in another language.
const skipped = "\x00"

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
