package trial_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators/trial"
)

// A stage is a project with planned files, and its surroundings.
type stage struct {
	trial.Options
	outside string       // a folder outside the project, with a file "old"
	calls   net.Listener // its tests connect to it
}

// newStage creates a stage. When the test ends, it checks that the project is unchanged and the
// temporary folder empty.
func newStage(t *testing.T) stage {
	t.Helper()
	for name, value := range map[string]string{"GOWORK": "off", "GOFLAGS": "", "SECRET": "x"} {
		t.Setenv(name, value)
	}
	archive, err := txtar.ParseFile("testdata/project.txtar")
	if err != nil {
		t.Fatal(err)
	}
	s := stage{Options: trial.Options{Root: t.TempDir(), Planned: map[string][]byte{"tools/old_test.go": nil}}, outside: t.TempDir()}
	write(t, filepath.Join(s.outside, "old"), "old")
	if s.calls, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.calls.Close() })
	for _, file := range archive.Files {
		if name, ok := strings.CutPrefix(file.Name, "planned/"); ok {
			s.Planned[name] = file.Data
		} else {
			write(t, filepath.Join(s.Root, file.Name), string(file.Data))
		}
	}
	s.Planned["tools/place_test.go"] = fmt.Appendf(nil, "package tools\n\nconst outside, address = %q, %q\n", s.outside, s.calls.Addr())

	before, temporary := read(t, s.Root), t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, temporary)
	}
	t.Cleanup(func() {
		if after := read(t, s.Root); !maps.Equal(before, after) {
			t.Errorf("the project was changed: %v", after)
		}
		if left := read(t, temporary); len(left) > 0 {
			t.Errorf("temporary files are left: %q", slices.Sorted(maps.Keys(left)))
		}
	})
	return s
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// read returns the files below a folder, with their content, and the folders.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		all[name] = "a folder"
		if !entry.IsDir() {
			text, err := os.ReadFile(filepath.Join(dir, name))
			all[name] = "file: " + string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// program builds the tests of the stage's package.
func (s stage) program(t *testing.T) *trial.Program {
	t.Helper()
	program, found, err := trial.BuildTests(t.Context(), s.Options, "tools")
	if err != nil || len(found) > 0 {
		t.Fatalf("build: %v, %v; want no diagnostics and no error", found, err)
	}
	t.Cleanup(program.Remove)
	return program
}

// checkDisconnect waits for a connection, calls do if it is not nil, and checks that the peer has
// disconnected.
func (s stage) checkDisconnect(t *testing.T, do func()) {
	t.Helper()
	s.calls.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute))
	conn, err := s.calls.Accept()
	if err != nil {
		t.Fatalf("no connection: %v", err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Errorf("no data: %v", err)
	}
	if do != nil {
		do()
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the peer is still connected: %v", err)
	}
}

// summary returns the cases of a report, with their messages, and how the process ended.
func summary(r *trial.Report) string {
	var b strings.Builder
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "%s: %v", c.Name, c.Passed)
		if c.Skipped {
			b.WriteString(" skipped")
		}
		for _, message := range c.Messages {
			fmt.Fprintf(&b, " %q", message)
		}
		b.WriteString("\n")
	}
	if r.Ended != "" {
		b.WriteString(r.Ended + "\n")
	}
	return b.String()
}

// badSecond returns the summary of a test whose second example ends the process.
func badSecond(ended string) string {
	return "example one: true\nexample two: false\nexample two " + ended + "\n"
}
