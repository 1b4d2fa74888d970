package engine

import (
	"fmt"
	"strings"

	"github.com/petrock/petrock/generators/check"
)

// A Refusal says why something was not done. Nothing has been changed then.
type Refusal struct {
	Reason      string             `json:"reason"`                // In one sentence
	Conflicts   []string           `json:"conflicts,omitempty"`   // What is in the way
	Diagnostics []check.Diagnostic `json:"diagnostics,omitempty"` // What the compiler says, with places in the planned files
	Files       []FileChange       `json:"files,omitempty"`       // What has been edited, with the differences
	Operations  []string           `json:"operations,omitempty"`  // Ids of operations that are in the way
	WayOut      string             `json:"wayOut,omitempty"`      // What to do

	before bool                // what is wrong was wrong before
	lines  map[string][]string // of planned files, for those who cannot look them up
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
		if lines := r.lines[d.File]; d.Line > 0 && d.Line <= len(lines) {
			fmt.Fprintf(&out, "\n      %s", strings.TrimSpace(lines[d.Line-1]))
		}
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
