package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Listing is what a project offers.
type Listing struct {
	OK         bool                   `json:"ok"`         // Whether all packages could be read
	Name       string                 `json:"name"`       // Of the project
	Root       string                 `json:"root"`       // Its folder
	Components []derive.Component     `json:"components"` // Sorted by kind and name
	Refused    []typecheck.Diagnostic `json:"refused"`    // Why nothing is known of some packages
	ToolsList  *Size                  `json:"toolsList"`  // What the list of tools costs a model
}

// List lists the components of the project, its own generators included. It changes nothing.
func (e *Engine) List(ctx context.Context) (*Listing, error) {
	if err := e.look(ctx); err != nil {
		return nil, err
	}
	packages, err := e.deriver.Packages(ctx, e.before, e.there())
	if err != nil {
		return nil, err
	}
	listing := &Listing{OK: true, Name: e.project.Name, Root: e.project.Root, Components: []derive.Component{}, Refused: []typecheck.Diagnostic{}}
	derive.Clashes(packages, nil)
	for _, pkg := range append(packages, e.hidden()...) {
		listing.Refused = append(listing.Refused, pkg.Problems...)
		if len(pkg.Problems) > 0 {
			continue
		}
		listing.Components = append(listing.Components, pkg.Components...)
	}
	slices.SortStableFunc(listing.Components, func(a, b derive.Component) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	listing.Refused = append(listing.Refused, e.interrupted()...)
	listing.OK = len(listing.Refused) == 0
	listing.ToolsList = size(listing.Components)
	return listing, nil
}

// A History is what was done to a project in this clone of it.
type History struct {
	OK         bool    `json:"ok"`                  // Always
	Operations []Entry `json:"operations"`          // The oldest first
	Recovered  string  `json:"recovered,omitempty"` // What was done about an operation that had been interrupted
}

// An Entry is one operation.
type Entry struct {
	journal.Operation
	UndoneBy string `json:"undoneBy,omitempty"` // Id of the operation that took it back
}

// History tells what was done to the project in this clone of it.
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
	history := &History{OK: true, Operations: []Entry{}, Recovered: opened.Recovered()}
	undone := undoneBy(operations)
	for _, op := range operations {
		history.Operations = append(history.Operations, Entry{op, undone[op.ID]})
	}
	return history, nil
}
