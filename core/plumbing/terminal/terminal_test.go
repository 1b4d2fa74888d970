package terminal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/petrock/petrock/core/plumbing/terminal"
)

func TestExitCode(t *testing.T) {
	usage := terminal.Usagef("flag %s: %w", "--x", os.ErrInvalid)
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, terminal.ExitSuccess},
		{errors.New("disk full"), terminal.ExitFailure},
		{usage, terminal.ExitUsage},
		{fmt.Errorf("new: %w", usage), terminal.ExitUsage},
		{&terminal.UnreachableError{Err: os.ErrDeadlineExceeded}, terminal.ExitUnreachable},
		{&terminal.ReportedError{Err: &terminal.UnreachableError{Err: os.ErrDeadlineExceeded}}, terminal.ExitUnreachable},
		{&terminal.ReportedError{Err: os.ErrInvalid}, terminal.ExitFailure},
	} {
		if got := terminal.ExitCode(test.err); got != test.want {
			t.Errorf("ExitCode(%v) = %d, want %d", test.err, got, test.want)
		}
	}
	if !errors.Is(usage, os.ErrInvalid) || usage.Error() != "flag --x: invalid argument" {
		t.Errorf(`the usage error is %v; want it to wrap %v and print "flag --x: invalid argument"`, usage, os.ErrInvalid)
	}
}

func TestIsTerminal(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	for name, stream := range map[string]any{
		"the null device": null, "a file": file, "a pipe": writer, "a buffer": &bytes.Buffer{}, "nothing": nil,
	} {
		if terminal.IsTerminal(stream) {
			t.Errorf("IsTerminal(%s) = true, want false", name)
		}
	}
}

// Only terminals get colors; petrock's conventions script tests those.
func TestStyleWithoutTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, out := range []any{nil, &bytes.Buffer{}, file} {
		if got := terminal.Red.On(out, "text"); got != "text" {
			t.Errorf("Red.On(%T, text) = %q, want text", out, got)
		}
	}
}
