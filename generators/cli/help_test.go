package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/cli"
	"github.com/petrock/petrock/generators/docs"
)

// The project's own petrock lists the topics and prints their pages.
func TestHelp(t *testing.T) {
	list := runMain(t, "help")
	for _, page := range docs.Pages() {
		if !strings.Contains(list, page.Topic+" ") || !strings.Contains(list, " "+page.Title+"\n") {
			t.Errorf("petrock help prints %q, want a line with the topic %q and the title %q", list, page.Topic, page.Title)
		}
		if printed := runMain(t, "help", page.Topic); printed != page.Text {
			t.Errorf("petrock help %s prints %q, want %q", page.Topic, printed, page.Text)
		}
	}
}

// runMain returns what the project's own petrock prints.
func runMain(t *testing.T, args ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if exitCode := cli.Main(t.Context(), args, out); exitCode != 0 {
		t.Fatalf("petrock %s: exit code %d, want 0", strings.Join(args, " "), exitCode)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
