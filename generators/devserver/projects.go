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

// projects are those that a dev server has worked on, with the one that is meant if none is named.
type projects struct {
	mu      sync.Mutex
	open    map[string]*opened       // by their folders
	current string                   // the folder of the one that was made here last
	offered map[string]gen.Generator // generators that are tools, by name
}

// An opened project is worked on by one call at a time.
type opened struct {
	turn   chan struct{} // holds one value while somebody works
	engine *engine.Engine
}

// Use makes a project the one that is meant if none is named.
//
//petrock:ignore
func (t *Tools) Use(dir string) {
	t.projects.mu.Lock()
	defer t.projects.mu.Unlock()
	t.projects.current = dir
}

// find is the folder of the project that dir names: one below the working directory. No name means
// the project that was made last, or the one around.
func (t *Tools) find(dir string) (*project.Project, error) {
	if dir == "" {
		t.projects.mu.Lock()
		if _, err := os.Stat(filepath.Join(t.projects.current, project.FileName)); err != nil {
			t.projects.current = "" // it is gone
		}
		dir = t.projects.current
		t.projects.mu.Unlock()
	}
	if dir == "" {
		found, err := project.Find(t.options.Dir)
		if !errors.Is(err, project.ErrNone) {
			return found, err
		}
		below := t.below()
		if len(below) != 1 {
			return nil, t.none(fmt.Sprintf("there is no project in %s", t.options.Dir))
		}
		dir = below[0] // there is no other
	}
	inside, err := t.inside(dir)
	if err != nil {
		return nil, err
	}
	found, err := project.Find(filepath.Join(t.options.Dir, inside))
	if errors.Is(err, project.ErrNone) {
		return nil, t.none(fmt.Sprintf("there is no project in %s", dir))
	}
	if err != nil {
		return nil, err
	}
	// A path without links, so that a project has one name alone.
	if found.Root, err = filepath.EvalSymlinks(found.Root); err != nil {
		return nil, err
	}
	if root, err := filepath.Rel(t.options.Dir, found.Root); err != nil || !filepath.IsLocal(root) {
		if around, err := project.Find(t.options.Dir); err != nil || around.Root != found.Root {
			return nil, t.none(fmt.Sprintf("there is no project in %s", dir))
		}
	}
	return found, nil
}

// inside is a folder below the working directory, from there. What leads out of it, by name or
// by links, is refused.
func (t *Tools) inside(dir string) (string, error) {
	refused := func(err error) error {
		return terminal.Usagef("dir %q: %w; name a folder below %s, the working directory of petrock mcp", dir, err, t.options.Dir)
	}
	path, err := t.from(dir)
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
			err = errors.New("it lies outside")
		}
		return "", refused(err)
	}
	return path, opened.Close()
}

// from is a folder as it is named from the working directory. What is looked at is what is used: behind a
// link, .. is another folder.
func (t *Tools) from(dir string) (string, error) {
	path := filepath.FromSlash(dir)
	if !filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Rel(t.options.Dir, path)
}

// Place is where a folder below the working directory is, or would be. What leads out of there is
// refused.
//
//petrock:ignore
func (t *Tools) Place(dir string) (string, error) {
	path, err := t.from(dir)
	if err != nil {
		return "", terminal.Usagef("dir %q: %w", dir, err)
	}
	if !filepath.IsLocal(path) {
		return "", terminal.Usagef("dir %q leads out of %s, the working directory of petrock mcp; name a folder below it", dir, t.options.Dir)
	}
	for at := path; ; at = filepath.Dir(at) {
		_, err := t.root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) && at != "." {
			continue // it is to be made
		}
		if at != "." {
			_, err = t.inside(at)
		}
		return filepath.Join(t.options.Dir, path), err
	}
}

// none says that there is no project, and where there are some.
func (t *Tools) none(what string) error {
	way := "start petrock mcp in a project's folder, or make a project with petrock new"
	if t.options.CanMake {
		way = "make one with new_project"
	}
	if below := t.below(); len(below) > maxListed {
		way = "choose a project with dir, such as " + strings.Join(below[:maxListed], ", ")
	} else if len(below) > 0 {
		way = "choose a project with dir: " + strings.Join(below, ", ")
	}
	return fmt.Errorf("%s: no %s is there or in a folder above it; %s", what, project.FileName, way)
}

// maxListed is how many projects an error names.
const maxListed = 3

// below returns projects below the working directory, not far down, and at most one more than an
// error names.
func (t *Tools) below() []string {
	const deepest = 3
	var found []string
	fs.WalkDir(t.root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return fs.SkipDir
		case len(found) > maxListed:
			return fs.SkipAll
		case entry.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor" || strings.Count(path, "/") >= deepest):
			return fs.SkipDir
		case name == project.FileName && path != name:
			found = append(found, strings.TrimSuffix(path, "/"+name))
		}
		return nil
	})
	return found
}

// take waits for a project and gives it to the caller alone, until done is called. Steps of the engine are told
// to the client as progress.
func (t *Tools) take(ctx context.Context, dir string) (o *opened, done func(), err error) {
	found, err := t.find(dir)
	if err != nil {
		return nil, nil, err
	}
	o, err = t.opened(found)
	if err != nil {
		return nil, nil, err
	}
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	step := 0.0
	o.engine.Step = func(what string) {
		step++
		mcp.Progress(ctx, step, 0, what)
	}
	return o, func() { o.engine.Step = nil; <-o.turn }, nil
}

func (t *Tools) opened(found *project.Project) (*opened, error) {
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
	o := &opened{turn: make(chan struct{}, 1), engine: e}
	t.projects.open[found.Root] = o
	return o, nil
}
