package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// An Engine changes and inspects one project. It caches what it has parsed and checked. It is not safe
// for concurrent use; processes that work on the same project wait for each other.
type Engine struct {
	project    *project.Project
	generators []gen.Generator
	root       *os.Root
	cache      *typecheck.ExportCache
	system     typecheck.System
	store      *typecheck.Store
	checker    *typecheck.Checker
	deriver    derive.Project
	seeker     *imports.Seeker
	before     *typecheck.View // the project on disk, read by look

	// Limits are the limits of examples. The zero value means the defaults.
	Limits trial.Limits

	// Step reports progress. It may be nil.
	Step func(string)
}

// Open returns an engine for the project around dir.
func Open(dir string, generators []gen.Generator) (*Engine, error) {
	found, err := project.Find(dir)
	if errors.Is(err, project.ErrNone) {
		return nil, fmt.Errorf("%w; go to a project's folder, name it with --dir, or make one with petrock new", err)
	}
	if err != nil {
		return nil, err
	}
	return OpenProject(found, generators)
}

// OpenProject returns an engine for a project that was found.
func OpenProject(found *project.Project, generators []gen.Generator) (*Engine, error) {
	// A path without links, as the go command and editors name it.
	opened := *found
	if real, err := filepath.EvalSymlinks(found.Root); err == nil {
		opened.Root = real
	}
	root, err := os.OpenRoot(opened.Root)
	if err != nil {
		return nil, err
	}
	return &Engine{project: &opened, generators: generators, root: root, cache: typecheck.NewExportCache(root)}, nil
}

// Close closes the project's folder.
func (e *Engine) Close() error { return e.root.Close() }

// IsThere reports whether the project's folder still is the one that was opened, and was not removed or
// replaced.
func (e *Engine) IsThere() bool {
	opened, err := e.root.Stat(".")
	if err != nil {
		return false
	}
	now, err := os.Stat(e.project.Root)
	return err == nil && os.SameFile(opened, now)
}

// Root returns the project's folder.
func (e *Engine) Root() string { return e.project.Root }

// Name is the project's name.
func (e *Engine) Name() string { return e.project.Name }

// Generators are those that the engine has.
func (e *Engine) Generators() []gen.Generator { return e.generators }

func (e *Engine) step(what string) {
	if e.Step != nil {
		e.Step(what)
	}
}

// look reads the project from disk.
func (e *Engine) look(ctx context.Context) error {
	e.step("reading the project")
	if text, err := e.root.ReadFile(project.FileName); err == nil {
		var now project.Manifest
		if json.Unmarshal(text, &now) == nil && now.Name != "" {
			e.project.Manifest = now // it may have changed since
		}
	}
	text, err := e.root.ReadFile("go.mod")
	if err != nil {
		return fmt.Errorf("reading go.mod: %w", err)
	}
	parsed, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		return fmt.Errorf("reading %w", err)
	}
	if parsed.Module == nil {
		return errors.New("go.mod: it names no module; bring it back from version control")
	}
	module := typecheck.Module{Path: parsed.Module.Mod.Path, Go: "1.16"}
	if parsed.Go != nil {
		module.Go = parsed.Go.Version
	}
	system, err := e.cache.System(ctx)
	if err != nil {
		return err
	}
	if e.store == nil || e.store.Full() || e.checker.Module() != module || !e.system.Equal(system) || e.deriver.Name != e.project.Name {
		e.system = system
		e.store = typecheck.NewStore(e.root, system.Context())
		e.seeker = imports.NewSeeker(e.root, module.Path, e.cache, carriedIn) // no server has generators in it
		e.checker = typecheck.NewChecker(module, e.cache, e.store.Fset())
		e.deriver = derive.Project{Name: e.project.Name, Core: path.Join(module.Path, "core"), Checker: e.checker}
	}
	e.before, err = e.store.View()
	if err != nil {
		return fmt.Errorf("reading the project: %w", err)
	}
	return nil
}

// facts returns what generators know of the project.
func (e *Engine) facts(ctx context.Context) gen.Project {
	p := gen.Project{Name: e.project.Name, Module: e.checker.Module().Path, Packages: map[string]string{}}
	for _, dir := range e.before.Dirs() {
		if pkg := e.before.Package(dir, nil); pkg != nil {
			p.Packages[dir] = pkg.Name
		}
	}
	p.Function = func(ref string) (*gen.Function, error) { return e.function(ctx, ref) }
	p.Feature = func(name string) *gen.Feature { return e.feature(ctx, name) }
	p.Migrate = func(entry string, edit gen.Edit) (*gen.Migration, error) { return e.migrate(ctx, entry, edit) }
	return p
}
