//go:build unix

package postgres

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A suspended process that has the lock does not block others for long. When it continues, it does not
// overwrite what they have written.
func TestSuspended(t *testing.T) {
	address := newSchema(t)
	s := open(t, address)
	s.stalled = 300 * time.Millisecond
	cmd, in, out := child(t, "step", address)
	step := func() string {
		fmt.Fprintln(in)
		if !out.Scan() {
			t.Fatal("the child has ended")
		}
		return out.Text()
	}
	time.Sleep(contended)
	if got := step(); got != "step-0 1" {
		t.Fatal(got)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if last, err := more(s, 1); last != 2 || err != nil {
		t.Fatal(last, err)
	}
	t.Logf("took over after %v", time.Since(start))
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := step(); got != "step-1 3" {
		t.Error(got)
	}

	// A process that does not yield is named.
	s.timeout, s.stalled = 300*time.Millisecond, time.Hour
	time.Sleep(contended)
	step()
	cmd.Process.Signal(syscall.SIGSTOP)
	_, err := more(s, 1)
	if want := fmt.Sprintf("process %d", cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "stop it") {
		t.Errorf("got error %v, want %q in it", err, want)
	}
}
