package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/petrock/petrock/generators"
)

// The README's go install command works with a module proxy that has this repository as its latest
// release, and the installed petrock creates a project whose server answers.
func TestInstall(t *testing.T) {
	if !*long {
		t.Skip("compiles petrock as a dependency; run with -long")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the README's commands are for a Unix shell")
	}
	commands := blocks(readFile(t, "../../README.md"), "sh")
	install := slices.IndexFunc(commands, func(c string) bool { return strings.HasPrefix(c, "go install ") })
	if install < 0 {
		t.Fatal("the README has no go install command")
	}

	work := t.TempDir()
	source, proxy := filepath.Join(work, "source"), filepath.Join(work, "proxy")
	copyRepository(t, source)
	publish(t, source, proxy, module.Version{Path: "github.com/petrock/petrock", Version: "v" + generators.Version})

	modules := goEnv(t, "GOMODCACHE")
	t.Setenv("GOMODCACHE", filepath.Join(work, "modules"))
	t.Setenv("GOBIN", filepath.Join(work, "bin"))
	t.Setenv("PATH", filepath.Join(work, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	environment := "export GOFLAGS=\"$GOFLAGS -modcacherw\" GOSUMDB=off GOPROXY=file://" + proxy + ",file://" + modules + "/cache/download\n"
	shell(t, work, environment+commands[install], "")
	if got := shell(t, work, "petrock version", ""); !strings.Contains(got, generators.Version) {
		t.Errorf("petrock version prints %q, want it to contain %q", got, generators.Version)
	}
	shell(t, work, environment+"petrock new hello", "")
	if got := shell(t, filepath.Join(work, "hello"), environment+"go run ./cmd/hello call add a=2 b=3", ""); !strings.Contains(got, `{"sum":5}`) {
		t.Errorf(`hello call add prints %q, want it to contain "{\"sum\":5}"`, got)
	}
}

// publish writes a version of a module to a file-system module proxy.
func publish(t *testing.T, source, proxy string, version module.Version) {
	t.Helper()
	dir := filepath.Join(proxy, filepath.FromSlash(version.Path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	archive, err := os.Create(filepath.Join(dir, version.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.CreateFromDir(archive, version, source); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list":                    version.Version + "\n",
		version.Version + ".mod":  readFile(t, filepath.Join(source, "go.mod")),
		version.Version + ".info": `{"Version":"` + version.Version + `","Time":"2026-01-01T00:00:00Z"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
