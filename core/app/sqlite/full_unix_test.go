//go:build linux || darwin

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/storetest"
)

// When the disk is full, Write returns [eventlog.ErrFull] and writes nothing. Later writes succeed
// when there is space. The test uses another process, because the size limit of files is per
// process.
func TestFull(t *testing.T) {
	if os.Getenv(childVariable) == "full" {
		if err := fill(open(t, filepath.Join(t.TempDir(), "log.db"))); err != nil {
			t.Fatal(err)
		}
		return
	}
	if out, err := child(t, "full", "-test.run=^TestFull$", "-test.v").Output(); err != nil {
		t.Fatalf("%v\n%s, want no error", err, out)
	}
}

// fill writes with little space, and with more space.
func fill(s *Store) error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	space := limit
	for _, n := range []int{1, 2, 64} {
		space.Cur = 50_000
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &space); err != nil {
			return err
		}
		last, err := s.Last(context.Background())
		for err == nil {
			var now int64
			if now, err = more(s, n); err == nil {
				last = now
			}
		}
		if errors.Is(err, eventlog.ErrOutcomeUnknown) || errors.Is(err, eventlog.ErrConflict) || !errors.Is(err, eventlog.ErrFull) {
			return err
		}
		if err := storetest.Check(s, last); err != nil {
			return err
		}
		space.Cur = limit.Cur
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &space); err != nil {
			return err
		}
		now, err := more(s, n)
		if err != nil || now != last+int64(n) {
			return fmt.Errorf("when there is space: %d after %d, %v", now, last, err)
		}
		if err := storetest.Check(s, now); err != nil {
			return err
		}
	}
	return nil
}
