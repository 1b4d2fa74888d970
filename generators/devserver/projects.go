package devserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// projects are the open projects of a dev server.
type projects struct {
	mu      sync.Mutex
	open    map[string]*openProject  // by folder
	current string                   // folder of the project created last; may be empty
	offered map[string]gen.Generator // generators that are tools, by name
}

// An openProject serves one call at a time.
type openProject struct {
	busy   chan struct{} // holds a value during a call
	engine *engine.Engine
}

// SetCurrent makes a project the default for calls without dir.
//
//petrock:ignore
func (t *Tools) SetCurrent(dir string) {
	t.projects.mu.Lock()
	defer t.projects.mu.Unlock()
	t.projects.current = dir
}

// findProject returns the project in dir, which is below the working directory. Without dir, it returns
// the current project, the one that encloses the working directory, or the only one below it.
func (t *Tools) findProject(dir string) (*project.Project, error) {
	if dir == "" {
		t.projects.mu.Lock()
		if _, err := os.Stat(filepath.Join(t.projects.current, project.FileName)); err != nil {
			t.projects.current = "" // it was removed
		}
		dir = t.projects.current
		t.projects.mu.Unlock()
	}
	if dir == "" {
		found, err := project.Find(t.options.Dir)
		if !errors.Is(err, project.ErrNone) {
			return found, err
		}
		below := t.projectsBelow()
		if len(below) != 1 {
			return nil, t.noProjectError(t.options.Dir)
		}
		dir = below[0]
	}
	inside, err := t.checkInside(dir)
	if err != nil {
		return nil, err
	}
	found, err := project.Find(filepath.Join(t.options.Dir, inside))
	if errors.Is(err, project.ErrNone) {
		return nil, t.noProjectError(dir)
	}
	if err != nil {
		return nil, err
	}
	// Without links, so that each project has one path.
	if found.Root, err = filepath.EvalSymlinks(found.Root); err != nil {
		return nil, err
	}
	if root, err := filepath.Rel(t.options.Dir, found.Root); err != nil || !filepath.IsLocal(root) {
		if around, err := project.Find(t.options.Dir); err != nil || around.Root != found.Root {
			return nil, t.noProjectError(dir)
		}
	}
	return found, nil
}

// checkInside returns the path of an existing folder relative to the working directory. It refuses paths
// and links that lead out of it.
func (t *Tools) checkInside(dir string) (string, error) {
	refused := func(err error) error {
		return terminal.Usagef("dir %q: %w; name a folder below %s, the working directory of petrock mcp", dir, err, t.options.Dir)
	}
	path, err := t.relative(dir)
	if err != nil {
		return "", refused(err)
	}
	opened, err := t.root.OpenRoot(path)
	if err != nil {
		var wrong *fs.PathError
		if errors.As(err, &wrong) {
			err = wrong.Err
		}
		if strings.Contains(err.Error(), "escapes") {
			err = errors.New("the path is outside")
		}
		return "", refused(err)
	}
	return path, opened.Close()
}

// relative returns a path relative to the working directory. It cleans the path lexically: a/../b is b
// even if a is a symbolic link.
func (t *Tools) relative(dir string) (string, error) {
	path := filepath.FromSlash(dir)
	if !filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Rel(t.options.Dir, path)
}

// ResolveDir returns the absolute path of a folder below the working directory, which may not exist yet.
// It refuses paths and links that lead out of it.
//
//petrock:ignore
func (t *Tools) ResolveDir(dir string) (string, error) {
	path, err := t.relative(dir)
	if err != nil {
		return "", terminal.Usagef("dir %q: %w", dir, err)
	}
	if !filepath.IsLocal(path) {
		return "", terminal.Usagef("dir %q is outside of %s, the working directory of petrock mcp; name a folder below it", dir, t.options.Dir)
	}
	for at := path; ; at = filepath.Dir(at) {
		_, err := t.root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) && at != "." {
			continue // does not exist yet
		}
		if at != "." {
			_, err = t.checkInside(at)
		}
		return filepath.Join(t.options.Dir, path), err
	}
}

// noProjectError returns the error that dir is not in a project. It lists projects below the working
// directory.
func (t *Tools) noProjectError(dir string) error {
	remedy, option := "start petrock mcp in a project's folder, or run petrock new", "dir"
	switch {
	case t.options.IsCommandLine:
		remedy, option = engine.NoProjectRemedy, "--dir"
	case t.options.CanCreate:
		remedy = "create one with new_project"
	}
	if below := t.projectsBelow(); len(below) > maxListed {
		remedy = "choose a project with " + option + ", such as " + strings.Join(below[:maxListed], ", ")
	} else if len(below) > 0 {
		remedy = "choose a project with " + option + ": " + strings.Join(below, ", ")
	}
	return fmt.Errorf("%w in %s or a folder above it; %s", project.ErrNone, dir, remedy)
}

// maxListed is the number of projects that an error lists.
const maxListed = 3

// projectsBelow returns up to maxListed+1 projects below the working directory, up to three levels deep.
func (t *Tools) projectsBelow() []string {
	const maxDepth = 3
	var found []string
	fs.WalkDir(t.root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return fs.SkipDir
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

// acquire returns a project for exclusive use until done is called. The client gets the steps of the
// engine as progress.
func (t *Tools) acquire(ctx context.Context, dir string) (o *openProject, done func(), err error) {
	found, err := t.findProject(dir)
	if err != nil {
		return nil, nil, err
	}
	o, err = t.openProject(found)
	if err != nil {
		return nil, nil, err
	}
	select {
	case o.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	step := 0.0
	o.engine.Step = func(name string) {
		step++
		mcp.Progress(ctx, step, 0, name)
	}
	return o, func() { o.engine.Step = nil; <-o.busy }, nil
}

func (t *Tools) openProject(found *project.Project) (*openProject, error) {
	t.projects.mu.Lock()
	defer t.projects.mu.Unlock()
	if o := t.projects.open[found.Root]; o != nil && o.engine.IsSameFolder() {
		return o, nil
	}
	e, err := engine.OpenProject(found, t.options.Generators)
	if err != nil {
		return nil, err
	}
	e.Limits = t.options.Limits
	o := &openProject{busy: make(chan struct{}, 1), engine: e}
	t.projects.open[found.Root] = o
	return o, nil
}
