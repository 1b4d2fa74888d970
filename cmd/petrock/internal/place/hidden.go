package place

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/petrock/petrock/cmd/petrock/internal/filelock"
)

// Names of what is hidden. Beside a destination, the name ends with a mark of it.
const (
	hiddenName = ".petrock-new"
	lockName   = "lock"
	movingName = "moving" // is there while names are moved out of a hidden folder
)

// hiddenFor is the name of the hidden folder beside dest. It is the same every time, so that
// two who want to be at one place meet.
func hiddenFor(dest string) string {
	sum := sha256.Sum256([]byte(filepath.Base(dest)))
	return hiddenName + "-" + hex.EncodeToString(sum[:4])
}

// claim makes the hidden folder and takes its lock. Somebody who sweeps may hold it for a moment.
func (p *Place) claim() error {
	const tries = 50
	for try := 1; ; try++ {
		err := os.Mkdir(p.hidden, 0o755)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		lock, err := filelock.Try(filepath.Join(p.hidden, lockName))
		switch {
		case err == nil:
			p.lock = lock
			return nil
		case try == tries && errors.Is(err, filelock.ErrHeld):
			return fmt.Errorf("another petrock is at work on %s; wait for it, or choose another place", p.dest)
		case try == tries || !errors.Is(err, filelock.ErrHeld) && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// sweep removes the hidden folders in dir that nobody holds, but for one. It is a favour: what
// cannot be removed stays.
func sweep(dir, except string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		hidden := filepath.Join(dir, entry.Name())
		if !entry.IsDir() || hidden == except || !strings.HasPrefix(entry.Name(), hiddenName+"-") {
			continue
		}
		lock, err := filelock.Try(filepath.Join(hidden, lockName))
		if err != nil {
			continue
		}
		empty(hidden)
		lock.Release()
		os.Remove(hidden)
	}
}

// empty removes all that is in a hidden folder, but for its lock. A process that was killed
// may have left children that still write there: it tries more than once.
func empty(hidden string) error {
	var err error
	for range 5 {
		var entries []os.DirEntry
		if entries, err = os.ReadDir(hidden); err != nil {
			return err
		}
		var errs []error
		for _, entry := range entries {
			if entry.Name() != lockName {
				errs = append(errs, os.RemoveAll(filepath.Join(hidden, entry.Name())))
			}
		}
		if err = errors.Join(errs...); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
