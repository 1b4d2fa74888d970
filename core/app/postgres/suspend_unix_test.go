//go:build unix

package postgres

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A suspended process that has the lock does not block others for long. When it continues, it does
// not overwrite what they have written.
func TestSuspended(t *testing.T) {
	address := newSchema(t)
	s := open(t, address)
	s.stalled = 300 * time.Millisecond
	cmd, in, out := child(t, "step", address)
	name := fmt.Sprintf("process %d", cmd.Process.Pid)
	step := func() (seq int64) {
		t.Helper()
		fmt.Fprintln(in)
		var id string
		if !out.Scan() {
			t.Fatalf("the child has ended: %v", out.Err())
		} else if _, err := fmt.Sscan(out.Text(), &id, &seq); err != nil {
			t.Fatal(out.Text(), err)
		}
		return seq
	}
	suspend := func() (last int64) { // when it has the lock
		t.Helper()
		waitFor(t, "the child keeps the lock", func() bool {
			last = step()
			holder, err := s.holder(t.Context())
			return err == nil && strings.Contains(holder, name)
		})
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		return last
	}
	before := suspend()
	start := time.Now()
	if last, err := more(s, 1); last != before+1 || err != nil {
		t.Fatal(last, err)
	}
	t.Logf("took over after %v", time.Since(start))
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if last := step(); last != before+2 {
		t.Errorf("the child has appended event %d, want %d", last, before+2)
	}

	// A process that does not yield is named.
	s.timeout, s.stalled = 300*time.Millisecond, time.Hour
	suspend()
	if _, err := more(s, 1); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "stop it") {
		t.Errorf("got error %v, want %q in it", err, name)
	}
}
