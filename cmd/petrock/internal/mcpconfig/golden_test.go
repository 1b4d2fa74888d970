package mcpconfig_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
)

var update = flag.Bool("update", false, "update the goldens")

// Each archive has a project, its environment, and the expected configuration.
func TestProjects(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d archives, %v; want at least one", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testProject(t, file) })
	}
}

func testProject(t *testing.T, file string) {
	if runtime.GOOS == "windows" {
		t.Skip("the goldens have slashes in their paths")
	}
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := map[string]string{"PATH": "/bin"}
	want := -1
	for i, f := range archive.Files {
		switch f.Name {
		case "env":
			for line := range strings.Lines(string(f.Data)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				env[name] = value
			}
		case "want":
			want = i
		default:
			write(t, filepath.Join(dir, f.Name), string(f.Data))
		}
	}
	if want < 0 {
		t.Fatal("the archive has no section want")
	}
	config, err := mcpconfig.Find(dir, mcpconfig.Options{Getenv: in(env), Home: "/home/mira"})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(describe(config), dir, "DIR")
	if *update {
		archive.Files[want].Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal([]byte(got), archive.Files[want].Data) {
		t.Errorf("got\n%s\nwant\n%s\nrun with -update if that is right", got, archive.Files[want].Data)
	}
}

// describe returns a configuration as text.
func describe(c *mcpconfig.Config) string {
	var b strings.Builder
	for _, file := range c.Files {
		fmt.Fprintln(&b, "file", file)
	}
	for _, p := range c.Problems {
		fmt.Fprintln(&b, "problem", p)
	}
	for _, s := range c.Servers() {
		fmt.Fprintf(&b, "\n%s: %s of %s\n", s.Name, s.Kind, s.File)
		for _, other := range s.Shadows {
			fmt.Fprintf(&b, "\tshadows %s\n", other)
		}
		if s.Err != nil {
			for line := range strings.Lines(s.Err.Error()) {
				fmt.Fprintf(&b, "\t%s\n", strings.TrimSpace(line))
			}
			continue
		}
		for _, part := range []struct {
			name  string
			value any
			set   bool
		}{
			{"command", append([]string{s.Command}, s.Args...), s.Command != ""},
			{"env", s.Env, len(s.Env) > 0},
			{"dir", s.Dir, s.Dir != ""},
			{"url", s.URL, s.URL != ""},
			{"header", s.Header, len(s.Header) > 0},
			{"timeout", s.Timeout.String(), s.Timeout > 0},
			{"disabled", s.Disabled, s.Disabled},
			{"disabled tools", s.DisabledTools, len(s.DisabledTools) > 0},
			{"enabled tools", s.EnabledTools, len(s.EnabledTools) > 0},
		} {
			if part.set {
				text, _ := json.Marshal(part.value)
				fmt.Fprintf(&b, "\t%s %s\n", part.name, text)
			}
		}
	}
	return b.String()
}

// in returns a lookup in a map.
func in(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
