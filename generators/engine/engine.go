// Package engine changes a project in transactions:
//
//	plan    compute the changed files, derived files included; report all conflicts
//	verify  type-check changed packages and their importers, or compile them; run examples and tests
//	apply   write all files or none
//	record  add the operation to the history, for undo
//
// A dry run only plans and verifies, and saves a plan: [Engine.Apply] repeats the operation if it
// still writes the same files. Generators, edit, change, destroy, undo, sync and parts all use
// Engine.transact. Only new errors block a change, so that users can work in a broken
// project.
//
// In the source, each operation has a file, such as change.go, which plans with derive.go and calls
// transact.go. transact.go verifies the plan with compile.go, stored.go and test.go. plan.go and
// result.go have the types that all of them use.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// An Engine changes and inspects one project. It caches parsed and checked packages. It is not safe
// for concurrent use; processes that change the same project wait for each other.
type Engine struct {
	project    *project.Project
	generators []gen.Generator
	root       *os.Root
	cache      *typecheck.ExportCache
	system     typecheck.System
	store      *typecheck.Store
	checker    *typecheck.Checker
	deriver    derive.Project
	resolver   *imports.Resolver
	before     *typecheck.View // the project on disk

	// Limits apply to examples; Limits.Time also to generators and to the tests of each package.
	// The zero value means the defaults.
	Limits trial.Limits

	// Step reports progress. It may be nil.
	Step func(string)

	// FormatCall writes calls that messages recommend as the caller would; nil means as command
	// lines.
	FormatCall func(gen.Call) string
}

// NoProjectRemedy is the remedy for a command that is run outside a project.
const NoProjectRemedy = "change to a project's folder, pass --dir, or run petrock new"

// Open returns an engine for the project around dir.
func Open(dir string, generators []gen.Generator) (*Engine, error) {
	found, err := project.Find(dir)
	if errors.Is(err, project.ErrNone) {
		return nil, fmt.Errorf("%w; %s", err, NoProjectRemedy)
	}
	if err != nil {
		return nil, err
	}
	return OpenProject(found, generators)
}

// OpenProject returns an engine for a project from [project.Find].
func OpenProject(found *project.Project, generators []gen.Generator) (*Engine, error) {
	opened := *found
	if real, err := filepath.EvalSymlinks(found.Root); err == nil {
		opened.Root = real // as the go command and editors name it
	}
	root, err := os.OpenRoot(opened.Root)
	if err != nil {
		return nil, err
	}
	return &Engine{project: &opened, generators: generators, root: root, cache: typecheck.NewExportCache(root)}, nil
}

// Close closes the project's folder.
func (e *Engine) Close() error { return e.root.Close() }

// IsSameFolder reports whether the project's folder is still the one that was opened.
func (e *Engine) IsSameFolder() bool {
	opened, err := e.root.Stat(".")
	if err != nil {
		return false
	}
	now, err := os.Stat(e.project.Root)
	return err == nil && os.SameFile(opened, now)
}

// Root returns the project's folder.
func (e *Engine) Root() string { return e.project.Root }

// PetrockVersion returns the version of petrock that created the project.
func (e *Engine) PetrockVersion() string { return e.project.Petrock }

var versionConstant = regexp.MustCompile(`(?m)^const Version = "([^"]+)"`)

// CodeVersion returns the version of petrock in the project's folder generators, or "" if it is
// unknown.
func (e *Engine) CodeVersion() string {
	text, _ := e.root.ReadFile("generators/generators.go")
	found := versionConstant.FindSubmatch(text)
	if found == nil {
		return ""
	}
	return string(found[1])
}

// Call returns a call of petrock for a message, see [gen.NewCall].
func (e *Engine) Call(command string, arguments ...any) string {
	return gen.Project{FormatCall: e.FormatCall}.Call(command, arguments...)
}

// option returns the name of an option for a message.
func (e *Engine) option(name string) string { return e.Call("", name, nil) }

func (e *Engine) step(what string) {
	if e.Step != nil {
		e.Step(what)
	}
}

// readModule reads go.mod. If that fails, it also returns the module path of petrock.json.
func (e *Engine) readModule() (typecheck.Module, error) {
	module := typecheck.Module{Path: e.project.Module, Go: strings.TrimPrefix(version.Lang(runtime.Version()), "go")}
	text, err := e.root.ReadFile("go.mod")
	if err != nil {
		return module, fmt.Errorf("read go.mod: %w", err)
	}
	goSum, _ := e.root.ReadFile("go.sum") // optional
	if err := errors.Join(project.CheckMerged("go.mod", text), project.CheckMerged("go.sum", goSum)); err != nil {
		return module, err
	}
	parsed, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		return module, fmt.Errorf("parse %w", err)
	}
	if parsed.Module == nil {
		return module, errors.New("go.mod: no module directive; restore it from version control")
	}
	module = typecheck.Module{Path: parsed.Module.Mod.Path, Go: "1.16"}
	if parsed.Go != nil {
		module.Go = parsed.Go.Version
	}
	return module, nil
}

// read reads the project. If lenient, it also reads one that the go command cannot load.
func (e *Engine) read(ctx context.Context, lenient bool) error {
	e.step("reading the project")
	if text, err := e.root.ReadFile(project.FileName); err == nil {
		var now project.Manifest
		if json.Unmarshal(text, &now) == nil && now.Name != "" {
			e.project.Manifest = now // may have changed
		}
	}
	e.cache.Start(lenient)
	module, err := e.readModule()
	if err != nil && !lenient {
		return err
	}
	system, err := e.cache.System(ctx)
	if err != nil {
		return err
	}
	if e.store == nil || e.store.IsFull() || e.checker.Module() != module || !e.system.Equal(system) || e.deriver.Name != e.project.Name {
		e.system = system
		e.store = typecheck.NewStore(e.root, system.Context())
		e.resolver = imports.NewResolver(module.Path, e.cache, "generators", derive.OwnGenerators) // servers do not link generators
		e.checker = typecheck.NewChecker(module, e.cache, e.store.Fset())
		e.deriver = derive.Project{Name: e.project.Name, Core: path.Join(module.Path, "core"), Checker: e.checker}
	}
	e.before, err = e.store.View()
	if err != nil {
		return fmt.Errorf("read project: %w", err)
	}
	return nil
}

// A snapshot is the project's Go files at one moment: on disk, or with planned files over those.
type snapshot struct {
	engine *Engine
	view   *typecheck.View
}

func (e *Engine) onDisk() snapshot { return snapshot{e, e.before} }

func (s snapshot) with(planned map[string][]byte) snapshot {
	return snapshot{s.engine, s.view.With(planned)}
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// interrupted warns of an operation that was interrupted. The next operation recovers it.
func (e *Engine) interrupted() []typecheck.Diagnostic {
	if !journal.Interrupted(e.root) {
		return nil
	}
	return []typecheck.Diagnostic{{Message: fmt.Sprintf("an operation was interrupted or is in progress; run %s to complete it or roll it back", e.Call("sync"))}}
}
