package create_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/cmd/petrock/internal/create"
	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/cmd/petrock/internal/testenv"
)

// world returns a folder for projects and a folder for temporary files. It disables the network.
func world(t *testing.T) (base, temporary string) {
	t.Helper()
	base, temporary = t.TempDir(), t.TempDir()
	for name, value := range map[string]string{
		"GOPROXY": "off", "GOFLAGS": testenv.GoFlags, "GOWORK": "", "TMPDIR": temporary,
		"GIT_AUTHOR_NAME": "Gopher", "GIT_AUTHOR_EMAIL": "gopher@example.com", "GIT_COMMITTER_NAME": "Gopher", "GIT_COMMITTER_EMAIL": "gopher@example.com",
	} {
		t.Setenv(name, value)
	}
	if err := testenv.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	return base, temporary
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("%s is left", filepath.Join(dir, entry.Name()))
	}
}

// A run that is interrupted before the move leaves no files, not even temporary ones of Go.
func TestInterrupted(t *testing.T) {
	base, temporary := world(t)
	for _, at := range []string{"writing", "compiling", "creating the first commit"} {
		ctx, interrupt := context.WithCancel(t.Context())
		_, err := create.Run(ctx, scaffold.Embedded(), create.Options{
			Answers: scaffold.Answers{Name: "hello", Module: "hello"},
			Dir:     "a/b/hello",
			Base:    base,
			Step: func(what string) {
				if strings.HasPrefix(what, at) {
					interrupt()
				}
			},
		})
		if err == nil || err.Error() != "interrupted; nothing was created" {
			t.Errorf(`interrupted while %s, got %v; want the error "interrupted; nothing was created"`, at, err)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted while %s, errors.Is(%#v, context.Canceled) = false, want true", at, err)
		}
		isEmpty(t, base)
		isEmpty(t, temporary)
	}
}

// An interrupt after the move has no effect: the project exists.
func TestInterruptedTooLate(t *testing.T) {
	base, _ := world(t)
	ctx := &late{Context: t.Context(), file: filepath.Join(base, "hello", "go.mod")}
	result, err := create.Run(ctx, scaffold.Embedded(), create.Options{
		Answers: scaffold.Answers{Name: "hello", Module: "hello"}, Dir: "hello", Base: base, NoGit: true,
	})
	if err != nil || result.Dir != filepath.Join(base, "hello") || result.Git != nil {
		t.Errorf("got %+v, %v; want no error, the folder %s and no git", result, err, filepath.Join(base, "hello"))
	}
	if ctx.Err() == nil {
		t.Error("after the move the context has not ended, want it interrupted")
	}
}

// late is a context that ends when a file exists.
type late struct {
	context.Context
	file string
}

func (l *late) Err() error {
	if _, err := os.Stat(l.file); err == nil {
		return context.Canceled
	}
	return nil
}

// A run finishes the move of an interrupted run, and fails if that was another project.
func TestFinished(t *testing.T) {
	base, _ := world(t)
	options := create.Options{Answers: scaffold.Answers{Name: "hello", Module: "hello"}, Dir: ".", Base: base, NoGit: true}
	interruptMove(t, base, options)
	other := options
	other.Answers.Module, other.Base = "example.com/another", t.TempDir()
	if err := os.CopyFS(other.Base, os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	result, err := create.Run(t.Context(), scaffold.Embedded(), options)
	if err != nil || len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "interrupted run") {
		t.Fatalf(`got %+v, %v; want no error and one note containing "interrupted run"`, result, err)
	}
	for _, file := range result.Files {
		if _, err := os.Stat(filepath.Join(base, filepath.FromSlash(file.Path))); err != nil {
			t.Error(err)
		}
	}

	if _, err := create.Run(t.Context(), scaffold.Embedded(), other); err == nil || !strings.Contains(err.Error(), "holds the project hello, module hello, which an interrupted run left") {
		t.Errorf(`for another project: got %v, want an error containing "holds the project hello, module hello, which an interrupted run left"`, err)
	}
}

// interruptMove creates a folder with the files of a run that was killed during the move.
func interruptMove(t *testing.T, base string, o create.Options) {
	t.Helper()
	if _, err := create.Run(t.Context(), scaffold.Embedded(), o); err != nil {
		t.Fatal(err)
	}
	hidden := filepath.Join(base, ".petrock-new")
	if err := os.MkdirAll(filepath.Join(hidden, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hidden, "moving"), []byte(`["core","go.mod","petrock.json","tools"]`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tools", "petrock.json"} {
		if err := os.Rename(filepath.Join(base, name), filepath.Join(hidden, "project", name)); err != nil {
			t.Fatal(err)
		}
	}
}
