package create

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

// Names of the hidden folder and its entries. Next to a destination, the name of the hidden folder
// ends with a hash of the destination's.
const (
	hiddenName  = ".petrock-new"
	lockName    = "lock"
	projectName = "project"
	scratchName = "scratch"
	movingName  = "moving" // exists while entries are moved out of the hidden folder
)

// hiddenFor is the name of the hidden folder next to dest. Two runs with one destination use the same
// name, so that one waits for the other. Runs of different users do not, because they cannot remove
// each other's files.
func hiddenFor(dest string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(os.Getuid()) + " " + filepath.Base(dest)))
	return hiddenName + "-" + hex.EncodeToString(sum[:4])
}

// checkHidden refuses a file, a link, or a folder with third-party files that has the name of a
// hidden folder. Nothing is removed from it.
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

// claim creates the hidden folder and locks it. A run that sweeps may hold the lock for a moment.
func (p *destination) claim() error {
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

// sweep removes the hidden folders in dir that are not locked, except one. Errors are ignored.
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

// empty removes the entries of a hidden folder except its lock. It retries, because children of a
// killed process may still write there.
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
