package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// The functions of this file are the only ones that change the disk. Each is a step after which the
// process may be interrupted.

// before is called before each step, for tests that fail or interrupt it.
func (j *Journal) before(what, name string) error {
	if j.step == nil {
		return nil
	}
	return j.step(what, name)
}

// makeFolder creates a folder of the journal. A symbolic link in its place is refused.
func (j *Journal) makeFolder(name string, mode fs.FileMode) error {
	if err := j.before("mkdir", name); err != nil {
		return err
	}
	err := j.root.Mkdir(name, mode)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := j.root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder; move it away", name)
	}
	return err
}

// put writes a file atomically, and creates its folder. Mode 0 means the default permissions. With
// sync, the content survives a power failure once put has returned.
func (j *Journal) put(name string, data []byte, mode fs.FileMode, sync bool) error {
	if err := j.stage(data, mode, sync); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if dir := path.Dir(name); dir != "." {
		if err := j.before("mkdir", dir); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
		if err := j.root.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
	}
	if err := j.rename(stagedFile, name); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// stage writes the staged file, which put renames.
func (j *Journal) stage(data []byte, mode fs.FileMode, sync bool) error {
	if err := j.remove(stagedFile); err != nil { // of a failed attempt
		return err
	}
	if err := j.before("create", stagedFile); err != nil {
		return err
	}
	perm := mode
	if perm == 0 {
		perm = 0o644
	}
	file, err := j.root.OpenFile(stagedFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if mode != 0 {
		err = file.Chmod(mode) // regardless of the umask
	}
	if err == nil {
		err = j.before("write", stagedFile)
	}
	if err == nil {
		_, err = file.Write(data)
	}
	if err == nil && sync {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func (j *Journal) rename(from, to string) error {
	if err := j.before("rename", to); err != nil {
		return err
	}
	return j.root.Rename(from, to)
}

// remove removes a file if it exists.
func (j *Journal) remove(name string) error {
	if _, err := j.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := j.before("remove", name); err != nil {
		return err
	}
	if err := j.root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeEmpty removes empty folders above a removed file. Errors are ignored.
func (j *Journal) removeEmpty(name string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := j.root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // already removed
		}
		if err != nil || !info.IsDir() || j.before("rmdir", dir) != nil || j.root.Remove(dir) != nil {
			return
		}
	}
}
