package typecheck_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators/typecheck"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Each archive is a module. Its last file, want, is the expected result.
func TestCheck(t *testing.T) {
	cases, err := filepath.Glob("testdata/build/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("found %d cases, %v; want at least one", len(cases), err)
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
			result, err := typecheck.CheckPackages(t.Context(), typecheck.BuildOptions{Dir: dir, Env: []string{"GOPROXY=off", "GOFLAGS=-mod=readonly", "GOWORK=off"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, program := range []string{"a.out", "single", "single.exe"} {
				if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
					t.Errorf("the build has written %s: err = nil, want an error", program)
				}
			}
			got := "module " + result.Module + "\n" + strings.Join(result.Packages, "\n") + "\n"
			if len(result.Programs) > 0 {
				got += "programs " + strings.Join(result.Programs, " ") + "\n"
			}
			for _, d := range result.Diagnostics {
				got += d.Package + ": " + strings.ReplaceAll(d.String(), dir, "DIR") + "\n"
			}
			got = regexp.MustCompile(` is not in std \(.*\)`).ReplaceAllString(got, " is not in std (GOROOT)")
			want := &archive.Files[last]
			if got == string(want.Data) && want.Name == "want" {
				return
			}
			if !*update {
				t.Fatalf("got\n%swant\n%s(-update writes it down)", got, want.Data)
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
	if _, err := typecheck.CheckPackages(ctx, typecheck.BuildOptions{Dir: dir}); err != context.Canceled {
		t.Errorf("cancelled: got %v, want %v", err, context.Canceled)
	}
	if _, err := typecheck.CheckPackages(t.Context(), typecheck.BuildOptions{Dir: dir, Env: []string{"GOWORK=off", "GOFLAGS=-nonsense"}}); err == nil || !strings.Contains(err.Error(), "the go command failed") {
		t.Errorf(`with an unknown flag: got %v; want an error containing "the go command failed"`, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := typecheck.CheckPackages(t.Context(), typecheck.BuildOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf(`without go: got %v; want an error containing "install Go"`, err)
	}
}

func TestBuild(t *testing.T) {
	dir, env := t.TempDir(), []string{"GOPROXY=off", "GOFLAGS=-mod=readonly", "GOWORK=off"}
	write(t, filepath.Join(dir, "go.mod"), []byte("module x\n\ngo 1.26.0\n"))
	write(t, filepath.Join(dir, "a", "a.go"), []byte("package a\n\nfunc A() int { return \"\" }\n"))
	write(t, filepath.Join(dir, "b", "b_test.go"), []byte("package b_test\n\nimport \"x/gone\"\n"))
	for pattern, want := range map[string]string{
		"./a": `x/a: a/a.go:3:23: cannot use "" (untyped string constant) as int value in return statement`,
		"./b": "x/b: b/b_test.go:3:8: package x/gone is not in std",
	} {
		found, err := typecheck.Build(t.Context(), typecheck.BuildOptions{Dir: dir, Patterns: []string{pattern}, Env: env}, "test", "-c", "-o", os.DevNull)
		if err != nil || len(found) != 1 || !strings.HasPrefix(found[0].Package+": "+found[0].String(), want) {
			t.Errorf("%s: got %v %v, want %s", pattern, found, err, want)
		}
	}
	if found, err := typecheck.Build(t.Context(), typecheck.BuildOptions{Dir: dir, Env: env}, "build", "-nonsense"); err == nil {
		t.Errorf("with an unknown flag: got %v and no error, want an error", found)
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
