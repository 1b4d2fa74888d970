package filelock_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/petrock/petrock/core/plumbing/filelock"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "lock")

	lock, err := filelock.TryLock(path)
	fmt.Println("first:", err)
	_, err = filelock.TryLock(path)
	fmt.Println("second:", errors.Is(err, filelock.ErrLocked))
	fmt.Println("release:", lock.Release())
	// Output:
	// first: <nil>
	// second: true
	// release: <nil>
}
