package place

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/petrock/petrock/generators/journal"
)

// Names of what is hidden. Beside a destination, the name ends with a mark of it.
const (
	hiddenName  = ".petrock-new"
	lockName    = "lock"
	projectName = "project"
	scratchName = "scratch"
	movingName  = "moving" // is there while names are moved out of a hidden folder
)

// hiddenFor is the name of the hidden folder beside dest. It is the same every time, so that
// two runs that want to be at one place meet; those of different users do not, for they could
// not clear up after each other.
func hiddenFor(dest string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(os.Getuid()) + " " + filepath.Base(dest)))
	return hiddenName + "-" + hex.EncodeToString(sum[:4])
}

// checkHidden refuses what has the name of a hidden folder and is none: a link, a file, a
// folder that holds anything that is not ours. Nothing is removed from such.
func checkHidden(hidden string) error {
	info, err := os.Lstat(hidden)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is in the way; move it away", hidden)
	}
	entries, err := os.ReadDir(hidden)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains([]string{lockName, projectName, scratchName, movingName}, entry.Name()) {
			return fmt.Errorf("%s is in the way, and holds what petrock did not put there: %s; move it away", hidden, entry.Name())
		}
	}
	return nil
}

// claim makes the hidden folder and takes its lock. Somebody who sweeps may hold it for a moment.
func (p *Place) claim() error {
	const tries = 50
	for try := 1; ; try++ {
		err := os.Mkdir(p.hidden, 0o755)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		p.made = p.made || err == nil
		var lock *journal.Lock
		if err = checkHidden(p.hidden); err == nil {
			lock, err = journal.TryLock(filepath.Join(p.hidden, lockName))
		}
		switch {
		case err == nil:
			p.lock = lock
			return nil
		case try == tries && errors.Is(err, journal.ErrLocked):
			return fmt.Errorf("another petrock is at work on %s; wait for it, or choose another place", p.dest)
		case try == tries || !errors.Is(err, journal.ErrLocked) && !errors.Is(err, fs.ErrNotExist):
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
	ours := regexp.MustCompile(`^` + regexp.QuoteMeta(hiddenName) + `-[0-9a-f]{8}$`)
	for _, entry := range entries {
		hidden := filepath.Join(dir, entry.Name())
		if hidden == except || !ours.MatchString(entry.Name()) || checkHidden(hidden) != nil {
			continue
		}
		lock, err := journal.TryLock(filepath.Join(hidden, lockName))
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
		err = errors.Join(
			os.RemoveAll(filepath.Join(hidden, movingName)), // first: nothing that is being removed is to be moved
			os.RemoveAll(filepath.Join(hidden, projectName)),
			os.RemoveAll(filepath.Join(hidden, scratchName)),
		)
		if err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
