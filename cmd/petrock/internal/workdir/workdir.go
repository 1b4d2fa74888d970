// Package workdir finds projects in a working directory, for a dev server that works on several.
package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// A Dir is a working directory. Projects are in it, below it, or enclose it.
type Dir struct {
	path string
	root *os.Root

	mu      sync.Mutex
	current string // folder of the project created last; may be empty
}

// Open opens a working directory.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{path: path, root: root}, nil
}

// SetCurrent makes a project the default for calls without dir.
func (d *Dir) SetCurrent(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current = dir
}

// Find returns the project that contains dir, a folder in or below the working directory. Without
// dir, it returns the current project, the project that encloses the working directory, or the only
// project below it.
func (d *Dir) Find(dir string) (*project.Project, error) {
	if dir == "" {
		d.mu.Lock()
		if _, err := os.Stat(filepath.Join(d.current, project.FileName)); err != nil {
			d.current = "" // it was removed
		}
		dir = d.current
		d.mu.Unlock()
	}
	if dir == "" {
		found, err := project.Find(d.path)
		if !errors.Is(err, project.ErrNone) {
			return found, err
		}
		below := d.projectsBelow()
		if len(below) != 1 {
			return nil, d.noProjectError(d.path)
		}
		dir = below[0]
	}
	inside, err := d.checkInside(dir)
	if err != nil {
		return nil, err
	}
	found, err := project.Find(filepath.Join(d.path, inside))
	if errors.Is(err, project.ErrNone) {
		return nil, d.noProjectError(dir)
	}
	if err != nil {
		return nil, err
	}
	// Without links, so that each project has one path.
	if found.Root, err = filepath.EvalSymlinks(found.Root); err != nil {
		return nil, err
	}
	if root, err := filepath.Rel(d.path, found.Root); err != nil || !filepath.IsLocal(root) {
		if around, err := project.Find(d.path); err != nil || around.Root != found.Root {
			return nil, d.noProjectError(dir)
		}
	}
	return found, nil
}

// checkInside returns the path of an existing folder relative to the working directory. It refuses
// paths and links that lead out of it.
func (d *Dir) checkInside(dir string) (string, error) {
	refused := func(err error) error {
		return terminal.Usagef("dir %q: %w; name a folder below %s, the working directory of petrock mcp", dir, err, d.path)
	}
	path, err := d.relative(dir)
	if err != nil {
		return "", refused(err)
	}
	opened, err := d.root.OpenRoot(path)
	if err != nil {
		if wrong, ok := errors.AsType[*fs.PathError](err); ok {
			err = wrong.Err
		}
		return "", refused(err)
	}
	return path, opened.Close()
}

// relative returns a path relative to the working directory. It cleans the path lexically: a/../b
// is b even if a is a symbolic link.
func (d *Dir) relative(dir string) (string, error) {
	path := filepath.FromSlash(dir)
	if !filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Rel(d.path, path)
}

// Resolve returns the absolute path of a folder below the working directory, which may not exist
// yet. It refuses paths and links that lead out of it.
func (d *Dir) Resolve(dir string) (string, error) {
	path, err := d.relative(dir)
	if err != nil {
		return "", terminal.Usagef("dir %q: %w", dir, err)
	}
	if !filepath.IsLocal(path) {
		return "", terminal.Usagef("dir %q is outside of %s, the working directory of petrock mcp; name a folder below it", dir, d.path)
	}
	for at := path; ; at = filepath.Dir(at) {
		_, err := d.root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) && at != "." {
			continue // does not exist yet
		}
		if at != "." {
			_, err = d.checkInside(at)
		}
		return filepath.Join(d.path, path), err
	}
}

// noProjectError returns the error that dir is not in a project. It lists projects below the
// working directory.
func (d *Dir) noProjectError(dir string) error {
	remedy := "create one with new_project"
	if below := d.projectsBelow(); len(below) > maxListed {
		remedy = "choose a project with dir, such as " + strings.Join(below[:maxListed], ", ")
	} else if len(below) > 0 {
		remedy = "choose a project with dir: " + strings.Join(below, ", ")
	}
	return fmt.Errorf("%w in %s or a folder above it; %s", project.ErrNone, dir, remedy)
}

// maxListed is the number of projects that an error lists.
const maxListed = 3

// projectsBelow returns up to maxListed+1 projects below the working directory, up to three levels
// deep.
func (d *Dir) projectsBelow() []string {
	const maxDepth = 3
	var found []string
	fs.WalkDir(d.root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil { // entry may be nil
			return fs.SkipDir
		}
		name := entry.Name()
		switch {
		case len(found) > maxListed:
			return fs.SkipAll
		case entry.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor" || strings.Count(path, "/") >= maxDepth):
			return fs.SkipDir
		case name == project.FileName && path != name:
			found = append(found, strings.TrimSuffix(path, "/"+name))
		}
		return nil
	})
	return found
}
