package core_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every file and folder that the repository's documents link to exists.
func TestDocumentLinks(t *testing.T) {
	root := findRoot(t)
	for _, name := range []string{"README.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md", ".github/decisions/README.md", ".peers/README.md", ".bench/README.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "](")[1:] {
			target, _, _ := strings.Cut(part, ")")
			if strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), target)); err != nil {
				t.Errorf("%s links to %s: %v", name, target, err)
			}
		}
	}
}
