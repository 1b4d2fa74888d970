package check_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators/check"
)

// goroot finds paths in Go's own tree, which are others on other machines.
var goroot = regexp.MustCompile(`\([^()]*[/\\](src[/\\][^()]*)\)`)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Each archive is a module; its last file, want, is what is said of it.
func TestCheck(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			last := len(archive.Files) - 1
			for _, f := range archive.Files[:last] {
				write(t, filepath.Join(dir, f.Name), f.Data)
			}
			result, err := check.Run(t.Context(), check.Options{Dir: dir, Env: []string{"GOPROXY=off", "GOFLAGS=-mod=readonly", "GOWORK=off"}})
			if err != nil {
				t.Fatal(err)
			}
			got := "module " + result.Module + "\n" + strings.Join(result.Packages, "\n") + "\n"
			for _, d := range result.Diagnostics {
				got += d.Package + ": " + goroot.ReplaceAllString(strings.ReplaceAll(d.String(), dir, "DIR"), "(GOROOT/$1)") + "\n"
			}
			want := &archive.Files[last]
			if got == string(want.Data) && want.Name == "want" {
				return
			}
			if !*update {
				t.Fatalf("it says\n%snot\n%s(-update writes it down)", got, want.Data)
			}
			want.Data = []byte(got)
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestCheckEnds(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), []byte("module x\n\ngo 1.26.0\n"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := check.Run(ctx, check.Options{Dir: dir}); err != context.Canceled {
		t.Errorf("cancelled, it says %v", err)
	}
	write(t, filepath.Join(dir, "go.mod"), []byte("nonsense\n"))
	if _, err := check.Run(t.Context(), check.Options{Dir: dir, Env: []string{"GOWORK=off"}}); err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("with a broken go.mod, it says %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := check.Run(t.Context(), check.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("without go, it says %v", err)
	}
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
