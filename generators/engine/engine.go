// Package engine changes a project in transactions:
//
//	plan    compute the changed files, derived files included; report all conflicts
//	verify  type-check changed packages and their importers; run the examples
//	apply   write all files or none
//	record  add the operation to the history, for undo
//
// A dry run only plans and verifies. Generators, destroy, undo, sync and saved plans all use
// Engine.transact. Only new errors block a change, so that users can work in a broken project.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// An Engine changes and inspects one project. It caches parsed and checked packages. It is not safe for
// concurrent use; processes that work on the same project wait for each other.
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

	// Limits are the limits of examples. The zero value means the defaults.
	Limits trial.Limits

	// Step reports progress. It may be nil.
	Step func(string)
}

// Open returns an engine for the project around dir.
func Open(dir string, generators []gen.Generator) (*Engine, error) {
	found, err := project.Find(dir)
	if errors.Is(err, project.ErrNone) {
		return nil, fmt.Errorf("%w; change to a project's folder, pass --dir, or run petrock new", err)
	}
	if err != nil {
		return nil, err
	}
	return OpenProject(found, generators)
}

// OpenProject returns an engine for a project that was found.
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

// IsSameFolder reports whether the project's folder was not removed or replaced since it was opened.
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

// Name returns the project's name.
func (e *Engine) Name() string { return e.project.Name }

// Petrock returns the version of petrock that made the project.
func (e *Engine) Petrock() string { return e.project.Petrock }

func (e *Engine) step(what string) {
	if e.Step != nil {
		e.Step(what)
	}
}

func (e *Engine) read(ctx context.Context) error {
	e.step("reading the project")
	if text, err := e.root.ReadFile(project.FileName); err == nil {
		var now project.Manifest
		if json.Unmarshal(text, &now) == nil && now.Name != "" {
			e.project.Manifest = now // may have changed
		}
	}
	e.cache.PlanModules(nil, nil)
	text, err := e.root.ReadFile("go.mod")
	if err != nil {
		return fmt.Errorf("read go.mod: %w", err)
	}
	goSum, _ := e.root.ReadFile("go.sum") // optional
	if err := errors.Join(project.CheckMerged("go.mod", text), project.CheckMerged("go.sum", goSum)); err != nil {
		return err
	}
	parsed, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		return fmt.Errorf("parse %w", err)
	}
	if parsed.Module == nil {
		return errors.New("go.mod: no module directive; restore it from version control")
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
		e.resolver = imports.NewResolver(e.root, module.Path, e.cache, "generators", derive.OwnGenerators) // no server links generators
		e.checker = typecheck.NewChecker(module, e.cache, e.store.Fset())
		e.deriver = derive.Project{Name: e.project.Name, Core: path.Join(module.Path, "core"), Checker: e.checker}
	}
	e.before, err = e.store.View()
	if err != nil {
		return fmt.Errorf("read project: %w", err)
	}
	return nil
}

// facts returns the project as a generator sees it. Its functions work until the turn ends.
func (e *Engine) facts(ctx context.Context, t *turn) gen.Project {
	p := gen.Project{Name: e.project.Name, Module: e.checker.Module().Path, Packages: map[string]string{}}
	for _, dir := range e.before.Dirs() {
		if pkg := e.before.Package(dir, nil); pkg != nil {
			p.Packages[dir] = pkg.Name
		}
	}
	p.Function = func(ref string) (found *gen.Function, err error) {
		if ended := t.use(func() { found, err = e.function(ctx, ref) }); ended != nil {
			return nil, ended
		}
		return found, err
	}
	p.Feature = func(name string) (found *gen.Feature) {
		t.use(func() { found = e.feature(ctx, name) }) // nil after the end
		return found
	}
	p.Migrate = func(command string, edit gen.Edit) (migration *gen.Migration, err error) {
		if ended := t.use(func() { migration, err = e.migrate(ctx, command, edit) }); ended != nil {
			return nil, ended
		}
		return migration, err
	}
	return p
}

// A Result describes an operation, or a dry run of one.
type Result struct {
	OK          bool                   `json:"ok"`                  // False if packages have errors, see refused
	DryRun      bool                   `json:"dryRun"`              // Nothing was written
	Action      string                 `json:"action"`              // generate, destroy, undo, sync, add or remove
	Kind        string                 `json:"kind,omitempty"`      // Kind of the component
	Name        string                 `json:"name,omitempty"`      // Name of the component, as clients see it
	Operation   string                 `json:"operation,omitempty"` // Id for undo
	Undoes      string                 `json:"undoes,omitempty"`    // Id of the operation that was undone
	Plan        string                 `json:"plan,omitempty"`      // Id of the saved plan, for apply
	Notices     []string               `json:"notices,omitempty"`   // Side effects, such as a feature that is created for a command
	Files       []FileChange           `json:"files"`               // Changed files, without those of parts
	Parts       []PartChange           `json:"parts,omitempty"`     // Parts that were added or removed
	Components  []derive.Component     `json:"components"`          // Definitions of new components
	Diagnostics []typecheck.Diagnostic `json:"diagnostics"`         // Errors that the project had before
	Refused     []typecheck.Diagnostic `json:"refused"`             // Errors in packages whose derived files could not be updated
	Warnings    []typecheck.Diagnostic `json:"warnings"`            // Warnings
	Impure      []typecheck.Diagnostic `json:"impure,omitempty"`    // Code that makes replaying the event log non-deterministic
	ToolsList   *Size                  `json:"toolsList,omitempty"` // Size of tools/list
	Trial       *Trial                 `json:"trial,omitempty"`     // Result of the examples
	Recovered   string                 `json:"recovered,omitempty"` // Recovery of an interrupted operation
	Next        []string               `json:"next"`                // Next steps
}

// A FileChange is the change of one file.
type FileChange struct {
	Path    string         `json:"path"`              // From the project's root
	Action  journal.Action `json:"action"`            // create, update or delete
	Derived bool           `json:"derived,omitempty"` // Whether petrock derived it
	Before  string         `json:"before,omitempty"`  // SHA-256 of the old text
	After   string         `json:"after,omitempty"`   // SHA-256 of the new text
	Diff    string         `json:"diff"`              // The change as a unified diff
}

// A Trial is the result of the examples of a component, run before it was written.
type Trial struct {
	Ran        bool     `json:"ran"`                  // False with no-exec
	Passed     []string `json:"passed"`               // Names of the examples that passed; of the test if it has no examples
	Printed    string   `json:"printed,omitempty"`    // Output of the function
	Confined   bool     `json:"confined"`             // Whether the system prevented writes outside a temporary folder
	Unenforced []string `json:"unenforced,omitempty"` // Limits that the system could not enforce
}

// A Size is the size of tools/list.
type Size struct {
	Tools  int `json:"tools"`  // Number of tools
	Bytes  int `json:"bytes"`  // Length of the JSON
	Tokens int `json:"tokens"` // An estimate: four bytes each
}

func newFileChange(f journal.Change) FileChange {
	return FileChange{Path: f.Path, Action: f.Action(), Derived: f.Derived, Before: journal.Hash(f.Before), After: journal.Hash(f.After), Diff: f.Diff()}
}

func toolsListSize(components []derive.Component) *Size {
	var s Size
	for _, c := range components {
		if !c.IsTool() {
			continue
		}
		if text, err := strictjson.Marshal(c.Tool()); err == nil {
			s.Bytes += len(text) + 1
		}
		s.Tools++
	}
	s.Bytes += len(`{"tools":[]}`)
	s.Tokens = (s.Bytes + 3) / 4
	return &s
}

// A Fault is an error as JSON, the same on the command line and over MCP.
type Fault struct {
	OK      bool     `json:"ok"`                // Always false
	Message string   `json:"error"`             // Message for people
	Status  int      `json:"status"`            // Exit code of the command line
	Refusal *Refusal `json:"refusal,omitempty"` // Details, if a change was refused
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// FaultOf converts an error to a fault.
func FaultOf(err error) *Fault {
	if known, ok := errors.AsType[*Fault](err); ok {
		return known
	}
	f := &Fault{Message: err.Error(), Status: terminal.ExitCode(err)}
	errors.As(err, &f.Refusal)
	return f
}

// A Refusal explains why a change was refused. Nothing was changed.
type Refusal struct {
	Reason      string                 `json:"reason"`                // One sentence
	Conflicts   []string               `json:"conflicts,omitempty"`   // Conflicts with the project
	Diagnostics []typecheck.Diagnostic `json:"diagnostics,omitempty"` // Compile errors, with positions in the planned files
	Declares    string                 `json:"declares,omitempty"`    // Other declarations in the file of the body
	Failures    []Failure              `json:"failures,omitempty"`    // Failed examples
	Printed     string                 `json:"printed,omitempty"`     // Output of the function
	Files       []FileChange           `json:"files,omitempty"`       // Edited files, with diffs
	Operations  []string               `json:"operations,omitempty"`  // Ids of conflicting operations
	WayOut      string                 `json:"wayOut,omitempty"`      // Remedy

	before bool // the project had the errors before
}

// A Failure is an example that failed.
type Failure struct {
	gen.Example
	Said string `json:"said"` // Message of the failure
}

// withLines adds source lines to diagnostics in planned files, which are not on disk. It omits lines that
// the previous diagnostic shows.
func withLines(found []typecheck.Diagnostic, planned map[string][]byte) []typecheck.Diagnostic {
	found = slices.Clone(found)
	shown, last := "", 0
	for i, d := range found {
		if d.File == shown && d.Line >= last && d.Line <= last+2 {
			continue
		}
		found[i].Lines = typecheck.LinesAround(string(planned[d.File]), d.Line)
		shown, last = d.File, d.Line
	}
	return found
}

// Error formats the refusal as text.
func (r *Refusal) Error() string {
	var out strings.Builder
	out.WriteString(r.Reason)
	for _, conflict := range r.Conflicts {
		fmt.Fprintf(&out, "\n  %s", conflict)
	}
	const most = 20
	for i, d := range r.Diagnostics {
		if i == most {
			fmt.Fprintf(&out, "\n  and %d more", len(r.Diagnostics)-most)
			break
		}
		fmt.Fprintf(&out, "\n  %s", strings.ReplaceAll(d.String(), "\n", "\n  "))
		if d.Lines != "" {
			fmt.Fprintf(&out, "\n    %s", strings.ReplaceAll(d.Lines, "\n", "\n    "))
		}
	}
	if r.Declares != "" {
		fmt.Fprintf(&out, "\nThe file declares:\n  %s", strings.ReplaceAll(r.Declares, "\n", "\n  "))
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&out, "\n  %s", f.Name)
		if f.Input != nil {
			fmt.Fprintf(&out, ", given %s", f.Input)
		}
		fmt.Fprintf(&out, ":\n    %s", strings.ReplaceAll(f.Said, "\n", "\n    "))
	}
	if r.Printed != "" {
		fmt.Fprintf(&out, "\nOutput:\n  %s", strings.ReplaceAll(strings.TrimSpace(r.Printed), "\n", "\n  "))
	}
	for _, file := range r.Files {
		if file.Diff != "" {
			fmt.Fprintf(&out, "\n%s", strings.TrimSuffix(file.Diff, "\n"))
		}
	}
	if r.WayOut != "" {
		fmt.Fprintf(&out, "\n%s", r.WayOut)
	}
	return out.String()
}
