package core_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// blocks returns the fenced blocks of a language in a Markdown text, in order.
func blocks(markdown, language string) []string {
	var found []string
	for _, part := range strings.Split(markdown, "\n```"+language+"\n")[1:] {
		body, _, _ := strings.Cut(part, "\n```")
		found = append(found, body+"\n")
	}
	return found
}

// The README's first command prints what the README says, and its second is what CI runs.
func TestReadme(t *testing.T) {
	root := findRoot(t)
	readme := read(t, root, "README.md")
	commands, output := blocks(readme, "sh"), blocks(readme, "json")
	if len(commands) != 2 || len(output) != 1 {
		t.Fatalf("the README has %d commands and %d outputs, not 2 and 1", len(commands), len(output))
	}
	if runtime.GOOS != "windows" {
		first := exec.Command("sh", "-c", commands[0])
		first.Dir = root
		first.Stderr = os.Stderr
		got, err := first.Output()
		if err != nil || string(got) != output[0] {
			t.Errorf("the first command gives\n%s(%v) and should give\n%s", got, err, output[0])
		}
	}
	ci := read(t, root, ".ci/run")
	for _, command := range []string{strings.TrimSpace(commands[1]), ".peers/run", "-C .bench run ."} {
		if !strings.Contains(ci, command) {
			t.Errorf(".ci/run does not run what the README names, %s", command)
		}
	}
}

// The Go in the README stands in the files that it is taken from, line for line.
func TestReadmeQuotesCode(t *testing.T) {
	root := findRoot(t)
	sources := read(t, root, "skeleton/base/tools/add.go") + read(t, root, "skeleton/base/tools/add_test.go") + read(t, root, "core/mcp/example_test.go")
	quotes := blocks(read(t, root, "README.md"), "go")
	if len(quotes) == 0 {
		t.Error("the README quotes no Go")
	}
	for _, quote := range quotes {
		if !strings.Contains(sources, quote) {
			t.Errorf("this stands in the README and not in the code:\n%s", quote)
		}
	}
}

// Every file and folder that the README links to is there.
func TestReadmeLinks(t *testing.T) {
	root := findRoot(t)
	for _, part := range strings.Split(read(t, root, "README.md"), "](")[1:] {
		target, _, _ := strings.Cut(part, ")")
		if strings.Contains(target, "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, target)); err != nil {
			t.Errorf("the README links to %s: %v", target, err)
		}
	}
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
