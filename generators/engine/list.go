package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/petrock/petrock/generators/derive"
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
	listing.ToolsList = newSize(listing.Components)
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

// Inspect returns a component by its client name or Go name. The kind may be empty if the name is
// unique.
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
