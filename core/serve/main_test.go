package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/core/project"
)

// All that the project offers can be registered, and a model is told what each tool is for.
func TestServer(t *testing.T) {
	t.Setenv(project.Variable(programName, "data"), t.TempDir()) // features begin with no data
	server, end, err := newServer(t.Context(), slog.Default(), extensions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	client := mcptest.Connect(t, server)
	if !client.Capabilities.Has("tools") {
		return // there are none, which is fine
	}
	for _, tool := range client.Tools() {
		if tool.Description == "" {
			t.Errorf("tool %s has no description; write a doc comment on its function", tool.Name)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		args   string
		status int
		out    string // is in standard output
		errOut string // is in standard error
	}{
		{"version", 0, programName + " " + version, ""},
		{"", 0, "Available Commands", ""},
		{"mcp --help", 0, "--dev", ""},
		{"help mcp", 0, "--dev", ""},
		{"nonsense", 2, "", programName + " --help"},
		{"mcp extra", 2, "", programName + " mcp --help"},
		{"mcp --nonsense", 2, "", "--nonsense"},
		{"call --help", 0, "SERVER", ""},
		{"call", 2, "", programName + " call --help"},
		{"call add --timeout never", 2, "", "--timeout"},
		{"tools one two", 2, "", "two"},
		{"tools -- no-such-program-anywhere", 3, `"status": 3`, "no-such-program-anywhere"},
		{"read http://127.0.0.1:1/mcp note://1", 3, "", "refused"},
		{"serve --help", 0, keyVariable(), ""},
		{"serve --help", 0, `(default "` + defaultAddr + `")`, ""},
		{"serve --help", 0, project.Variable(programName, "state_key"), ""},
		{"serve extra", 2, "", programName + " serve --help"},
		{"serve --dev", 2, "", "--dev"}, // the workshop is not there over HTTP
		{"serve --addr 8181", 2, "", "127.0.0.1:8181"},
		{"serve --addr 127.0.0.1:99999", 2, "", "127.0.0.1:8181"},
		{"serve --addr :0", 1, "", "set " + keyVariable()},
		{"serve --grace soon", 2, "", "--grace"},
		{"serve --body-timeout -1s", 2, "", "--body-timeout cannot be negative"},
		{"serve --max-calls -1", 2, "", "--max-calls cannot be negative"},
		{"serve --max-body -1", 2, "", "--max-body"},
		{"serve --max-body 1MB", 2, "", "1MiB"},
		{"serve --max-body 2MiB --max-header 32KiB --replay-buffer 0 --grace -1s", 2, "", "--grace"},
		{"serve --allow-origin example.com", 2, "", "https://app.example.com"},
		{"serve --allow-host http://pc.local", 2, "", "mcp.example.com"},
		{"serve --public-url mcp.example.com", 2, "", "https://mcp.example.com/mcp"},
	} {
		t.Run(test.args, func(t *testing.T) {
			withoutKeys(t)
			out, errOut := create(t), create(t)
			status := run(t.Context(), strings.Fields(test.args), out, errOut)
			if status != test.status {
				t.Errorf("it ends with %d, not %d", status, test.status)
			}
			if got := read(t, out); !strings.Contains(got, test.out) {
				t.Errorf("standard output lacks %q:\n%s", test.out, got)
			}
			if got := read(t, errOut); !strings.Contains(got, test.errOut) {
				t.Errorf("standard error lacks %q:\n%s", test.errOut, got)
			}
		})
	}
}

// Outside its source, --dev says what it wants.
func TestDevNeedsSource(t *testing.T) {
	t.Chdir(t.TempDir())
	errOut := create(t)
	if status := run(t.Context(), []string{"mcp", "--dev"}, create(t), errOut); status != 1 {
		t.Errorf("it ends with %d, not 1", status)
	}
	if got := read(t, errOut); !strings.Contains(got, "needs the source of "+programName) {
		t.Errorf("it says: %s", got)
	}
}

// A fakeExtension is an extension that notes what is done with it.
type fakeExtension struct {
	name string
	fail error
	did  *[]string
}

func (f fakeExtension) Flags(*cobra.Command)       {}
func (f fakeExtension) Commands() []*cobra.Command { return nil }
func (f fakeExtension) Open(_ context.Context, _ *mcp.Server, log *slog.Logger) (func() error, error) {
	*f.did = append(*f.did, "open "+f.name)
	log.Info("opened", "what", f.name)
	return func() error {
		*f.did = append(*f.did, "close "+f.name)
		return errors.New("closing " + f.name)
	}, f.fail
}

// What was opened is closed, whatever happens to others.
func TestOpen(t *testing.T) {
	var did []string
	a, b, bad := fakeExtension{"a", nil, &did}, fakeExtension{"b", nil, &did}, fakeExtension{"bad", errors.New("no room"), &did}
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	end, err := openAll(t.Context(), nil, log, []extension{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err == nil || err.Error() != "closing b\nclosing a" {
		t.Errorf("closing gives %v", err)
	}
	if _, err := openAll(t.Context(), nil, log, []extension{a, bad, b}); err == nil || err.Error() != "no room\nclosing a" {
		t.Errorf("opening gives %v", err)
	}
	if got := strings.Join(did, ", "); got != "open a, open b, close b, close a, open a, open bad, close a" {
		t.Errorf("it did %s", got)
	}
	if got := logged.String(); strings.Count(got, "msg=opened what=a") != 2 {
		t.Errorf("it logged %s", got)
	}
}

func create(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stream"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func read(t *testing.T, file *os.File) string {
	t.Helper()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
