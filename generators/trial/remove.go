package trial

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// remove removes a folder that tests have written to. It changes modes of unreadable folders, and
// retries: Windows keeps programs open for a moment after they end.
func remove(dir string) error {
	err := os.RemoveAll(dir)
	for pause := time.Millisecond; err != nil && pause < time.Second; pause *= 2 {
		filepath.WalkDir(dir, func(name string, entry fs.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				os.Chmod(name, 0o700)
			}
			return nil
		})
		if err = os.RemoveAll(dir); err != nil {
			time.Sleep(pause)
		}
	}
	return err
}
