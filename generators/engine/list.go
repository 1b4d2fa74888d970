package engine

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Listing is the components and parts of a project.
type Listing struct {
	OK         bool                   `json:"ok"`                // Whether all packages could be read
	Name       string                 `json:"name"`              // Name of the project
	Root       string                 `json:"root"`              // Folder of the project
	Components []derive.Component     `json:"components"`        // Sorted by kind and name
	Parts      []PartStatus           `json:"parts,omitempty"`   // Optional code of petrock
	Refused    []typecheck.Diagnostic `json:"refused,omitempty"` // Errors in packages that could not be read
	ToolsList  *Size                  `json:"toolsList"`         // Size of tools/list
	Total      int                    `json:"total,omitempty"`   // Of a page: number of all components
	Offset     int                    `json:"offset,omitempty"`  // Of a page: number of components before it
}

// List lists the components of the project, its own generators included. It changes nothing.
func (e *Engine) List(ctx context.Context) (*Listing, error) {
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	packages, err := e.deriver.Packages(ctx, e.before, e.existingPlaces())
	if err != nil {
		return nil, err
	}
	listing := &Listing{OK: true, Name: e.project.Name, Root: e.project.Root, Components: []derive.Component{}, Refused: []typecheck.Diagnostic{}}
	for _, part := range parts.All() {
		listing.Parts = append(listing.Parts, PartStatus{Name: part.Name, Description: part.Description, Present: isPresent(part, e.before), UsedBy: e.partUser(part, e.before)})
	}
	derive.CheckNames(packages, nil)
	made, err := e.madePackages(ctx)
	if err != nil {
		return nil, err
	}
	for _, pkg := range slices.Concat(packages, e.unreadPackages(), made) {
		listing.Refused = append(listing.Refused, pkg.Problems...)
		if len(pkg.Problems) == 0 {
			listing.Components = append(listing.Components, pkg.Components...)
		}
	}
	slices.SortStableFunc(listing.Components, func(a, b derive.Component) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	listing.Refused = append(listing.Refused, e.interrupted()...)
	listing.OK = len(listing.Refused) == 0
	listing.ToolsList = toolsListSize(listing.Components)
	return listing, nil
}

// A History is the recorded operations in this clone of a project.
type History struct {
	OK         bool        `json:"ok"`                  // Always true
	Operations []Operation `json:"operations"`          // The oldest first; of a page, the newest first
	Total      int         `json:"total,omitempty"`     // Of a page: number of all operations
	Offset     int         `json:"offset,omitempty"`    // Of a page: number of operations before it
	Recovered  string      `json:"recovered,omitempty"` // Recovery of an interrupted operation
}

// An Operation is one operation of a history.
type Operation struct {
	journal.Operation
	UndoneBy string           `json:"undoneBy,omitempty"` // Id of the operation that undid it
	Files    []journal.Record `json:"files,omitempty"`    // The changed files, sorted by path
}

// History returns the recorded operations in this clone of the project.
func (e *Engine) History(ctx context.Context) (*History, error) {
	opened, err := e.openJournal(ctx)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	operations, err := opened.History()
	if err != nil {
		return nil, err
	}
	history := &History{OK: true, Operations: []Operation{}, Recovered: opened.Recovered()}
	undone := undoneBy(operations)
	for _, op := range operations {
		history.Operations = append(history.Operations, Operation{Operation: op, UndoneBy: undone[op.ID], Files: op.Files})
	}
	return history, nil
}

// An Inspection is the definition and source of one component.
type Inspection struct {
	OK           bool                   `json:"ok"`                     // Always true
	Component    derive.Component       `json:"component"`              // Its definition, as clients see it
	Declarations string                 `json:"declarations,omitempty"` // Declarations of its file, without function bodies if they are long
	Source       string                 `json:"source,omitempty"`       // Text of its file
	TestFile     string                 `json:"testFile,omitempty"`     // Path of its test file, NAME_test.go; empty if it does not exist
	Test         string                 `json:"test,omitempty"`         // Text of its test file
	Warnings     []typecheck.Diagnostic `json:"warnings,omitempty"`
}

// Inspect returns a component by its client name or Go name. The kind may be empty if the name is unique.
func (e *Engine) Inspect(ctx context.Context, kind, name string) (*Inspection, error) {
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	if err := e.checkKind(ctx, kind); err != nil {
		return nil, err
	}
	c, pkg, err := e.lookUp(ctx, derive.Kind(kind), name)
	if err != nil {
		return nil, err
	}
	shown := &Inspection{OK: true, Component: c, Warnings: []typecheck.Diagnostic{}}
	if text, err := e.root.ReadFile(c.File); err == nil {
		shown.Source, shown.Declarations = string(text), declarations(c.File, text)
	}
	if file := e.before.File(testPath(c.File)); file != nil {
		shown.TestFile, shown.Test = file.Path, string(file.Text)
	}
	for _, d := range pkg.Warnings {
		if d.File == c.File {
			shown.Warnings = append(shown.Warnings, d)
		}
	}
	return shown, nil
}

func testPath(file string) string { return strings.TrimSuffix(file, ".go") + "_test.go" }

// lookUp finds a component by its client name or Go name, and its package. An empty kind means any.
func (e *Engine) lookUp(ctx context.Context, kind derive.Kind, name string) (c derive.Component, home *derive.Package, err error) {
	places := slices.DeleteFunc(e.existingPlaces(), func(place derive.Place) bool {
		return kind != "" && !slices.Contains(place.Kinds(), kind)
	})
	packages, err := e.deriver.Packages(ctx, e.before, places)
	if err != nil {
		return c, nil, err
	}
	made, err := e.madePackages(ctx)
	if err != nil {
		return c, nil, err
	}
	var found []derive.Component
	var names []string
	var broken *derive.Package
	for _, pkg := range append(packages, made...) {
		if len(pkg.Problems) > 0 && kind != "" {
			broken = pkg
			continue
		}
		for _, c := range pkg.Components {
			if kind != "" && c.Kind != kind {
				continue
			}
			names = append(names, strings.TrimPrefix(string(c.Kind)+" "+c.Name, string(kind)+" "))
			if c.Matches(name) {
				found, home = append(found, c), pkg
			}
		}
	}
	switch {
	case len(found) == 0 && broken != nil:
		return c, nil, deriveRefusal(broken, e.before)
	case len(found) == 0:
		return c, nil, terminal.Usagef("%s %q does not exist; the project has %s", cmp.Or(string(kind), "component"), name, joinOrNone(names))
	case len(found) == 1:
		return found[0], home, nil
	case found[0].Kind == found[1].Kind:
		return c, nil, terminal.Usagef("%q is ambiguous: %s or %s", name, found[0].Name, found[1].Name)
	}
	return c, nil, terminal.Usagef("%q is the name of a %s and of a %s; pass the kind", name, found[0].Kind, found[1].Kind)
}

// Components of the project's own generators are files that match the generator's directive makes, so they
// are found in every clone, and also if they were written by hand.

// ownGenerators returns the package of the project's own generators. It is empty if there are none.
func (e *Engine) ownGenerators(ctx context.Context) (*derive.Package, error) {
	place, _ := derive.PlaceOf(derive.Generator)
	if len(e.before.Files(place.Dir)) == 0 {
		return &derive.Package{}, nil
	}
	packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
	if err != nil {
		return &derive.Package{}, err
	}
	return packages[0], nil
}

// madePackages returns the packages with components of own generators. Those in petrock's folders are not
// among them: they have petrock's kinds.
func (e *Engine) madePackages(ctx context.Context) ([]*derive.Package, error) {
	own, err := e.ownGenerators(ctx)
	if err != nil {
		return nil, err
	}
	var packages []*derive.Package
	for _, g := range own.Components {
		if !hasOwnKind(g) {
			continue
		}
		pkg := &derive.Package{Place: derive.Place{Dir: path.Dir(g.Makes[0]), Kind: derive.Kind(g.Name)}}
		files, err := fs.Glob(e.root.FS(), g.Makes[0])
		if err != nil {
			return nil, fmt.Errorf("find the components of generator %s: %w", g.Name, err)
		}
		for _, file := range files {
			if c, ok := e.madeComponent(g, file); ok {
				pkg.Components = append(pkg.Components, c)
			}
		}
		packages = append(packages, pkg)
	}
	return packages, nil
}

// hasOwnKind reports whether the components of a generator have its name as their kind.
func hasOwnKind(g derive.Component) bool {
	if len(g.Makes) == 0 {
		return false
	}
	_, isPlace := derive.PlaceAt(path.Dir(g.Makes[0]))
	return !isPlace
}

// madeComponent returns the component of a generator in a file, with the Go name, line and description of its
// first exported declaration. It reports false for tests, derived files and folders.
func (e *Engine) madeComponent(g derive.Component, file string) (derive.Component, bool) {
	info, err := e.root.Lstat(file)
	known := e.before.File(file)
	if err != nil || !info.Mode().IsRegular() || strings.HasSuffix(file, "_test.go") || known != nil && known.IsDerived() {
		return derive.Component{}, false
	}
	before, after, _ := strings.Cut(g.Makes[0], "*")
	name := strings.TrimSuffix(strings.TrimPrefix(file, before), after)
	c := derive.Component{Kind: derive.Kind(g.Name), Name: name, File: file, Line: 1}
	if known == nil {
		return c, true
	}
	for _, decl := range known.Syntax.Decls {
		if name := declarationName(decl); ast.IsExported(name) {
			c.Func, c.Line = name, e.before.Fset().PositionFor(decl.Pos(), false).Line
			c.Description, _, _ = strings.Cut(docOf(decl).Text(), "\n")
			break
		}
	}
	return c, true
}

// madeFiles returns the files of a component of an own generator, without its test.
func (e *Engine) madeFiles(ctx context.Context, c derive.Component) ([]string, error) {
	own, err := e.ownGenerators(ctx)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, g := range own.Components {
		if g.Name != string(c.Kind) {
			continue
		}
		for _, pattern := range g.Makes {
			file := strings.Replace(pattern, "*", c.Name, 1)
			if _, err := e.root.Lstat(file); err == nil && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// checkKind returns an error if a kind of component does not exist.
func (e *Engine) checkKind(ctx context.Context, kind string) error {
	kinds := Kinds()
	if kind == "" || slices.Contains(kinds, kind) {
		return nil
	}
	own, err := e.ownGenerators(ctx)
	if err != nil {
		return err
	}
	for _, g := range own.Components {
		if hasOwnKind(g) {
			kinds = append(kinds, g.Name)
		}
	}
	if !slices.Contains(kinds, kind) {
		return terminal.Usagef("%q is not a kind of component; the kinds are %s", kind, strings.Join(kinds, ", "))
	}
	return nil
}

// checkSample refuses a draft whose sample, which is not written, does not compile in the project.
func (e *Engine) checkSample(ctx context.Context, draft gen.Draft) error {
	if len(draft.Sample) == 0 {
		return nil
	}
	p := newPlan(actionGenerate)
	if err := e.planDraft(ctx, p, gen.Draft{Files: draft.Sample}); err != nil {
		return err
	}
	view := e.before.With(p.texts)
	verdict, err := e.checker.Verify(ctx, e.before, view)
	if err != nil || len(verdict.New) == 0 {
		return err
	}
	p.explainMissing(verdict.New)
	return &Refusal{
		Reason:      fmt.Sprintf("a component of generator %s would not compile:", draft.Name),
		Diagnostics: withSource(verdict.New, view),
		Remedy:      "Nothing was changed. Correct the template and retry.",
	}
}
