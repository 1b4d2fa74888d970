package core_test

import (
	"os"
	"path/filepath"
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

// The Go in the README stands in the files that it is taken from, line for line.
func TestReadmeQuotesCode(t *testing.T) {
	root := findRoot(t)
	sources := read(t, root, "skeleton/base/tools/add.go") + read(t, root, "skeleton/base/tools/add_test.go") + read(t, root, "core/mcp/example_test.go") + read(t, root, "core/app/example_test.go")
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
