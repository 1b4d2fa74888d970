package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// All that the journal does to the disk it does by what is in this file, and each is one step
// after which it may be interrupted.

// before is asked before each step. Tests fail and interrupt there.
func (j *Journal) before(what, name string) error {
	if j.step == nil {
		return nil
	}
	return j.step(what, name)
}

// makeFolder makes a folder of the journal's own, or sees that it is one: a link that leads
// elsewhere is not.
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

// put makes a file hold this content, all at once, and its folder if that is not there. Mode is
// what its permissions are to be; 0 means what is usual. Sync sees to it that the content is on the
// disk before it is in its place, whether or not the power fails.
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

// stage writes a file that is whole before it is moved to its place.
func (j *Journal) stage(data []byte, mode fs.FileMode, sync bool) error {
	if err := j.remove(stagedFile); err != nil { // of an attempt that did not succeed
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
		err = file.Chmod(mode) // whatever the process's umask says
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

// remove removes a file, if it is there.
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

// removeEmpty removes the folders above a file that is gone, as long as they are empty. It is a
// favour: what cannot be removed stays.
func (j *Journal) removeEmpty(name string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := j.root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // somebody has done it up to here
		}
		if err != nil || !info.IsDir() || j.before("rmdir", dir) != nil || j.root.Remove(dir) != nil {
			return
		}
	}
}
