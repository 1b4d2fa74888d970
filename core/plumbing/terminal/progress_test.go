package terminal_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/plumbing/terminal"
)

// Without a terminal, what takes more than a second is one line, of the step that then runs.
func TestProgressLine(t *testing.T) {
	type step struct {
		title string // "" ends the step
		takes time.Duration
	}
	for _, test := range []struct {
		steps []step
		want  string
	}{
		{[]step{{"compiling", 900 * time.Millisecond}, {"", 0}}, ""},
		{[]step{{"compiling", 900 * time.Millisecond}, {"testing\nmore", time.Minute}, {"writing", time.Minute}, {"", 0}}, "testing …\n"},
		{[]step{{"connecting", 500 * time.Millisecond}, {"", time.Minute}, {"calling", 500 * time.Millisecond}, {"", time.Minute}}, ""},
		{[]step{{"connecting", 2 * time.Second}, {"", 0}, {"calling", 2 * time.Second}, {"", 0}}, "connecting …\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			shown, quiet := &terminal.Progress{Out: &out}, &terminal.Progress{Out: &out, Quiet: true}
			none := &terminal.Progress{}
			for _, s := range test.steps {
				for _, p := range []*terminal.Progress{shown, quiet, none} {
					if s.title == "" {
						p.End()
					} else {
						p.Begin(s.title)
					}
				}
				time.Sleep(s.takes)
				synctest.Wait()
			}
			if got := out.String(); got != test.want {
				t.Errorf("%v: got %q, want %q", test.steps, got, test.want)
			}
		})
	}
}
