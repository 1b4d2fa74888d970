package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Only the functions of this file change the disk. The process may be interrupted between any two
// of their steps.

// do changes the disk in one step. Tests fail or interrupt it.
func (j *Journal) do(what, name string, change func() error) error {
	if j.step != nil {
		if err := j.step(what, name); err != nil {
			return err
		}
	}
	return change()
}

// makeFolder creates a folder of the journal. A symbolic link in its place is refused.
func (j *Journal) makeFolder(name string, mode fs.FileMode) error {
	err := j.do("mkdir", name, func() error { return j.root.Mkdir(name, mode) })
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := j.root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder; move it away", name)
	}
	return err
}

// writeFile writes a file atomically, and creates its folder. Mode 0 means the default permissions.
// With sync, the content is on the disk before the file gets its name.
func (j *Journal) writeFile(name string, data []byte, mode fs.FileMode, sync bool) error {
	err := j.stage(data, mode, sync)
	if dir := path.Dir(name); err == nil && dir != "." {
		err = j.do("mkdir", dir, func() error { return j.root.MkdirAll(dir, 0o755) })
	}
	if err == nil {
		err = j.rename(stagedFile, name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (j *Journal) stage(data []byte, mode fs.FileMode, sync bool) error {
	if err := j.remove(stagedFile); err != nil { // left by a failed attempt
		return err
	}
	var file *os.File
	err := j.do("create", stagedFile, func() (err error) {
		file, err = j.root.OpenFile(stagedFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, cmp.Or(mode, 0o644))
		return err
	})
	if err != nil {
		return err
	}
	if mode != 0 {
		err = file.Chmod(mode) // regardless of the umask
	}
	if err == nil {
		err = j.do("write", stagedFile, func() error {
			_, err := file.Write(data)
			return err
		})
	}
	if err == nil && sync {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func (j *Journal) rename(from, to string) error {
	return j.do("rename", to, func() error { return j.root.Rename(from, to) })
}

func (j *Journal) remove(name string) error {
	if _, err := j.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := j.do("remove", name, func() error { return j.root.Remove(name) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeEmpty removes empty folders above a removed file. Errors are ignored.
func (j *Journal) removeEmpty(name string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := j.root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // already removed
		}
		if err != nil || !info.IsDir() || j.do("rmdir", dir, func() error { return j.root.Remove(dir) }) != nil {
			return
		}
	}
}

// A PathError means that no operation may read or write a path: its name is not allowed, it is not
// a regular file, or its parent is not a folder.
type PathError struct{ Path, Reason string }

func (e *PathError) Error() string { return fmt.Sprintf("%q %s", e.Path, e.Reason) }

// checkPath refuses paths that are invalid on some system, and those that no operation may write.
func checkPath(name string) error {
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || r == ':' || unicode.IsControl(r) }):
		return &PathError{name, "is not a valid path on every system; separate names by slashes, without backslashes and colons"}
	case !filepath.IsLocal(name) || path.IsAbs(name):
		return &PathError{name, "is outside the project"}
	case path.Clean(name) != name || name == ".":
		return &PathError{name, fmt.Sprintf("is not a clean path; write %q", path.Clean(name))}
	case isReserved(name):
		return &PathError{name, "is reserved: operations do not write to " + stateDir + " and folders of version control"}
	}
	return nil
}

// isReserved reports whether a path is in .petrock, or in .git or the like, whose settings can name
// programs, under any name that a file system accepts for them.
func isReserved(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		part = fold(strings.TrimRight(part, ". "))
		if slices.ContainsFunc([]string{".git", "git~1", ".hg", ".svn", ".bzr", ".fslckout", "_FOSSIL_", stateDir}, func(name string) bool { return fold(name) == part }) {
			return true
		}
	}
	return false
}

// fold maps names that differ only in letter case to the same text.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// parents yields the folders above a file, outermost first. If the name ends with a slash, the file
// itself is the last.
func parents(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, r := range name {
			if r == '/' && !yield(name[:i]) {
				return
			}
		}
	}
}

// readFile returns the content and permissions of a file; nil if it does not exist. It may return
// a [*PathError].
func (j *Journal) readFile(name string) ([]byte, fs.FileMode, error) {
	for dir := range parents(name) {
		if exists, err := j.folderExists(dir); err != nil || !exists {
			return nil, 0, err
		}
	}
	info, err := j.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, &PathError{name, "is not a regular file; move it away"}
	}
	data, err := j.root.ReadFile(name)
	if err != nil {
		return nil, 0, err
	}
	return data, info.Mode().Perm(), nil
}

// folderExists reports whether a folder exists. It may be a symbolic link to a folder that
// operations may write to.
func (j *Journal) folderExists(name string) (bool, error) {
	info, err := j.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.IsDir():
		return true, nil
	case info.Mode()&fs.ModeSymlink == 0:
		return false, &PathError{name, "is not a folder; move it away"}
	}
	if info, err = j.root.Stat(name); err != nil || !info.IsDir() {
		return false, &PathError{name, "is a link that is broken, leaves the project or is not to a folder; move it away"}
	}
	root, err := filepath.EvalSymlinks(j.root.Name())
	if err != nil {
		return false, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(j.root.Name(), filepath.FromSlash(name)))
	if err != nil {
		return false, err
	}
	inside, err := filepath.Rel(root, real)
	if err != nil || isReserved(filepath.ToSlash(inside)) {
		return false, &PathError{name, "is a link into .git or " + stateDir + "; move it away"}
	}
	return true, nil
}
