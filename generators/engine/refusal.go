package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Refusal says why something was not done. Nothing has been changed then.
type Refusal struct {
	Reason      string                 `json:"reason"`                // In one sentence
	Conflicts   []string               `json:"conflicts,omitempty"`   // What is in the way
	Diagnostics []typecheck.Diagnostic `json:"diagnostics,omitempty"` // What the compiler says, with places in the planned files
	Declares    string                 `json:"declares,omitempty"`    // What the file of the function declares besides it, for those who sent its body
	Failures    []Failure              `json:"failures,omitempty"`    // Examples that something else came of
	Printed     string                 `json:"printed,omitempty"`     // What the function printed meanwhile
	Files       []FileChange           `json:"files,omitempty"`       // What has been edited, with the differences
	Operations  []string               `json:"operations,omitempty"`  // Ids of operations that are in the way
	WayOut      string                 `json:"wayOut,omitempty"`      // What to do

	before bool // what is wrong was wrong before
}

// A Failure is an example that something else came of than it says.
type Failure struct {
	gen.Example
	Said string `json:"said"` // What came of it
}

// around adds to diagnostics the lines around their places, as far as they are in planned files, which nobody can
// look up, and as far as they are not around the place before.
func around(found []typecheck.Diagnostic, planned map[string][]byte) []typecheck.Diagnostic {
	found = slices.Clone(found)
	shown, last := "", 0
	for i, d := range found {
		if d.File == shown && d.Line >= last && d.Line <= last+2 {
			continue // its line is there already
		}
		found[i].Lines = typecheck.LinesAround(string(planned[d.File]), d.Line)
		shown, last = d.File, d.Line
	}
	return found
}

// Error is all of it, for people.
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
		fmt.Fprintf(&out, "\nMeanwhile it printed:\n  %s", strings.ReplaceAll(strings.TrimSpace(r.Printed), "\n", "\n  "))
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
