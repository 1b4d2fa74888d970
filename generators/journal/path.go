package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// checkPath refuses paths that are invalid on some system, and those that no operation may write.
func checkPath(name string) error {
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || r == ':' || unicode.IsControl(r) }):
		return fmt.Errorf("%q does not name a file on every system; use slashes between names, and no backslash or colon", name)
	case !filepath.IsLocal(name) || path.IsAbs(name):
		return fmt.Errorf("%q is outside of the project", name)
	case path.Clean(name) != name || name == ".":
		return fmt.Errorf("%q is not a clean path; write %q", name, path.Clean(name))
	case reserved(name):
		return fmt.Errorf("%s is not a file of the project's own: .git and %s are left alone", name, stateDir)
	}
	return nil
}

// reserved reports whether a path is below .git or .petrock, under any name that a file system accepts
// for them.
func reserved(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		part = fold(strings.TrimRight(part, ". "))
		if slices.Contains([]string{fold(".git"), fold("git~1"), fold(stateDir)}, part) {
			return true
		}
	}
	return false
}

// fold folds letter case.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, text)
}

// above yields the folders above a file, outermost first.
func above(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, r := range name {
			if r == '/' && !yield(name[:i]) {
				return
			}
		}
	}
}

// An obstacleError means that something else is in the place of a file or its folder.
type obstacleError struct{ path, what string }

func (e *obstacleError) Error() string {
	return fmt.Sprintf("%s is %s; move it away", e.path, e.what)
}

// look returns the content and permissions of a file; nil if it does not exist. It returns an
// obstacleError if it is not a regular file, or its parent not a folder.
func (j *Journal) look(name string) ([]byte, fs.FileMode, error) {
	for dir := range above(name) {
		there, err := j.lookFolder(dir)
		if err != nil || !there {
			return nil, 0, err
		}
	}
	info, err := j.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case info.IsDir():
		return nil, 0, &obstacleError{name, "a folder"}
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, 0, &obstacleError{name, "a link"}
	case !info.Mode().IsRegular():
		return nil, 0, &obstacleError{name, "not a regular file"}
	}
	data, err := j.root.ReadFile(name)
	if err != nil {
		return nil, 0, err
	}
	return data, info.Mode().Perm(), nil
}

// lookFolder reports whether a folder exists. It may be a symbolic link to a folder that operations
// may write.
func (j *Journal) lookFolder(name string) (bool, error) {
	info, err := j.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Mode()&fs.ModeSymlink == 0:
		if !info.IsDir() {
			return false, &obstacleError{name, "not a folder"}
		}
		return true, nil
	}
	info, err = j.root.Stat(name)
	if err != nil {
		return false, &obstacleError{name, "a link that leads nowhere, or out of the project"}
	}
	if !info.IsDir() {
		return false, &obstacleError{name, "a link, and not to a folder"}
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
	if err != nil || reserved(filepath.ToSlash(inside)) {
		return false, &obstacleError{name, "a link to what is not the project's own"}
	}
	return true, nil
}
