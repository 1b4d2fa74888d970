package engine

import (
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Result says what was done, or would be.
type Result struct {
	OK          bool                   `json:"ok"`                  // All of it was done; false if something was refused
	DryRun      bool                   `json:"dryRun"`              // Nothing was written
	Action      string                 `json:"action"`              // generate, destroy, undo or sync
	Kind        string                 `json:"kind,omitempty"`      // Of the component
	Name        string                 `json:"name,omitempty"`      // Of the component, as clients see it
	Operation   string                 `json:"operation,omitempty"` // Id under which it can be undone
	Undoes      string                 `json:"undoes,omitempty"`    // Id of the operation that was taken back
	Plan        string                 `json:"plan,omitempty"`      // Id of the plan that was made, under which it can be applied
	Files       []FileChange           `json:"files"`               // What changed
	Components  []derive.Component     `json:"components"`          // Definitions of what is new
	Diagnostics []typecheck.Diagnostic `json:"diagnostics"`         // What was wrong with the project before, and still is, as far as it was looked for
	Refused     []typecheck.Diagnostic `json:"refused"`             // Why nothing could be derived from some packages, whose derived files stay as they are
	Warnings    []typecheck.Diagnostic `json:"warnings"`            // What had better be otherwise
	Impure      []typecheck.Diagnostic `json:"impure,omitempty"`    // What would make another state of a log when it is read again
	ToolsList   *Size                  `json:"toolsList,omitempty"` // What the list of tools costs a model
	Trial       *Trial                 `json:"trial,omitempty"`     // What came of running the examples
	Recovered   string                 `json:"recovered,omitempty"` // What was done about an operation that had been interrupted
	Next        []string               `json:"next"`                // What to do now
}

// A FileChange is what happened to one file.
type FileChange struct {
	Path    string         `json:"path"`              // From the project's root
	Action  journal.Action `json:"action"`            // create, update or delete
	Derived bool           `json:"derived,omitempty"` // It is petrock's
	Before  string         `json:"before,omitempty"`  // SHA-256 of what it held
	After   string         `json:"after,omitempty"`   // SHA-256 of what it holds now
	Diff    string         `json:"diff"`              // The change as a unified diff
}

// A Trial is what came of running the examples of a component before it was written.
type Trial struct {
	Ran      bool     `json:"ran"`               // False if running was turned off
	Passed   []string `json:"passed"`            // Names of the examples that passed: all of them, if they ran
	Printed  string   `json:"printed,omitempty"` // What the function printed
	Confined bool     `json:"confined"`          // The system kept the function from writing outside a folder of its own
}

// A Size is what a list of tools costs those who read it.
type Size struct {
	Tools  int `json:"tools"`  // How many there are
	Bytes  int `json:"bytes"`  // Of the list as JSON
	Tokens int `json:"tokens"` // An estimate: four bytes each
}

func fileChange(f journal.Change) FileChange {
	return FileChange{Path: f.Path, Action: f.Action(), Derived: f.Derived, Before: journal.Hash(f.Before), After: journal.Hash(f.After), Diff: f.Diff()}
}

// size is what the tools among components cost.
func size(components []derive.Component) *Size {
	var s Size
	for _, c := range components {
		if !c.IsTool() {
			continue
		}
		if text, err := c.Tool().AppendJSON(nil); err == nil {
			s.Bytes += len(text) + 1
		}
		s.Tools++
	}
	s.Bytes += len(`{"tools":[]}`)
	s.Tokens = (s.Bytes + 3) / 4
	return &s
}
