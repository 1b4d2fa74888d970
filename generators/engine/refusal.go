package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Fault is an error as JSON, the same on the command line and over MCP.
type Fault struct {
	OK      bool     `json:"ok"`                // Always false
	Message string   `json:"error"`             // Message for people
	Status  int      `json:"status"`            // Exit code of the command line
	Refusal *Refusal `json:"refusal,omitempty"` // Details, if a change was refused
}

// Error returns the message, with the details of a refusal.
func (f *Fault) Error() string {
	if f.Refusal != nil && f.Message == f.Refusal.Reason { // the short form
		return f.Refusal.Error()
	}
	return f.Message
}

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
	Declares    string                 `json:"declares,omitempty"`    // Declarations in the file with the caller's body, without function bodies
	Failures    []Failure              `json:"failures,omitempty"`    // Failed examples
	Tests       []trial.TestFailure    `json:"tests,omitempty"`       // Failed tests
	Printed     string                 `json:"printed,omitempty"`     // Output of the function
	Files       []FileChange           `json:"files,omitempty"`       // Edited files, with diffs
	Operations  []string               `json:"operations,omitempty"`  // Ids of conflicting operations
	Omission
	Remedy string `json:"remedy,omitempty"` // What to do

	cause cause
}

// A cause tells refusals apart.
type cause int

const (
	causeOther   cause = iota
	causeCompile       // the change would not compile
	causeBefore        // the project had the errors before
	causeEvents        // stored events would become unreadable
)

// refusedCode returns the refusal of a change because of errors in the code that it would leave, or
// nil.
func refusedCode(err error) *Refusal {
	refusal, ok := errors.AsType[*Refusal](err)
	if !ok || len(refusal.Diagnostics) == 0 || refusal.cause == causeBefore || refusal.cause == causeEvents {
		return nil
	}
	return refusal
}

// A Failure is an example that failed.
type Failure struct {
	gen.Example
	Message string `json:"message"` // Why it failed
}

// orNil returns the refusal, or nil if it lists nothing.
func (r *Refusal) orNil() error {
	if len(r.Conflicts)+len(r.Diagnostics)+len(r.Tests)+len(r.Files) == 0 {
		return nil
	}
	return r
}

// Error formats the refusal as text.
func (r *Refusal) Error() string {
	var out strings.Builder
	out.WriteString(r.Reason)
	add := func(indent, text string) {
		if text != "" {
			out.WriteString("\n" + indent + strings.ReplaceAll(text, "\n", "\n"+indent))
		}
	}
	for _, conflict := range r.Conflicts {
		add("  ", conflict)
	}
	const maxListed = 20
	for i, d := range r.Diagnostics {
		if i == maxListed {
			add("  ", fmt.Sprintf("and %d more", len(r.Diagnostics)-maxListed))
			break
		}
		add("  ", d.String())
		add("    ", d.Lines)
	}
	if r.Declares != "" {
		add("", "The file declares:")
		add("  ", r.Declares)
	}
	for _, f := range r.Failures {
		given := ""
		if f.Input != nil {
			given = fmt.Sprintf(", given %s", f.Input)
		}
		add("  ", f.Name+given+":")
		add("    ", f.Message)
	}
	for _, f := range r.Tests {
		place := ""
		if f.File != "" {
			place = fmt.Sprintf(" (%s:%d)", f.File, f.Line)
		}
		add("  ", strings.TrimSpace(f.Package+" "+f.Test)+place+":")
		add("    ", f.Message)
		if f.Output != "" {
			add("    ", "Output:\n  "+strings.ReplaceAll(f.Output, "\n", "\n  "))
		}
	}
	if r.Printed != "" {
		add("", "Output:")
		add("  ", strings.TrimSpace(r.Printed))
	}
	for _, file := range r.Files {
		add("", cmp.Or(strings.TrimSuffix(file.Diff, "\n"), "  "+file.Path))
	}
	add("", r.LeftOut)
	add("", r.Remedy)
	return out.String()
}

// withSource adds source lines to diagnostics in files of a view. It omits lines that the previous
// diagnostic shows.
func withSource(found []typecheck.Diagnostic, view *typecheck.View) []typecheck.Diagnostic {
	found = slices.Clone(found)
	shown, last := "", 0
	for i, d := range found {
		if d.File == shown && d.Line >= last && d.Line <= last+2 {
			continue
		}
		if file := view.File(d.File); file != nil {
			found[i].Lines = typecheck.LinesAround(string(file.Text), d.Line)
			shown, last = d.File, d.Line
		}
	}
	return found
}

// withoutExisting removes from after the diagnostics that before has: same file, same message.
func withoutExisting(after, before []typecheck.Diagnostic) []typecheck.Diagnostic {
	return slices.DeleteFunc(after, func(d typecheck.Diagnostic) bool {
		return slices.ContainsFunc(before, func(old typecheck.Diagnostic) bool { return old.File == d.File && old.Message == d.Message })
	})
}

// deriveRefusal refuses to derive from a package with problems.
func deriveRefusal(pkg *derive.Package, view *typecheck.View) *Refusal {
	return &Refusal{
		Reason:      fmt.Sprintf("cannot derive from %s:", pkg.Dir),
		Diagnostics: withSource(pkg.Problems, view),
		Remedy:      "Fix these errors first. Changes that do not involve this package still work.",
		cause:       causeBefore,
	}
}

// Short returns the short form of the fault.
func (f *Fault) Short(limit int) any {
	s := Shorten(f, limit)
	if f.Refusal == nil {
		return s
	}
	s.Refusal = Shorten(f.Refusal, limit)
	s.Refusal.Remedy = f.Refusal.Remedy // whole
	if slices.ContainsFunc(f.Refusal.Files, func(f FileChange) bool { return f.Diff != "" }) {
		s.Refusal.LeftOut = cmp.Or(s.Refusal.LeftOut, "Left out: diffs. Set detail to get everything.")
	}
	if f.Message == f.Refusal.Error() || f.Message == f.Refusal.Reason {
		s.Message = s.Refusal.Reason // the refusal has the rest
	}
	return s
}

// generatorError classifies the error of a generator: Go that does not parse is a refusal, refusals
// and system errors stay as they are, and all others are usage errors.
func generatorError(kind string, err error) error {
	if other, ok := errors.AsType[nonUsageError](err); ok {
		return other.error
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal
	}
	if source, ok := errors.AsType[*gen.SourceError](err); ok {
		return &Refusal{
			Reason: "invalid " + source.Field + ":",
			Diagnostics: []typecheck.Diagnostic{{
				File: source.Field, Line: source.Line, Column: source.Column, Message: source.Message,
				Lines: typecheck.LinesAround(source.Text, source.Line),
			}},
			Remedy: "Nothing was changed. Correct the " + source.Field + " and retry.",
		}
	}
	return terminal.Usagef("%s: %w", kind, err)
}

// A nonUsageError marks an error that is not the caller's fault: a panic, a timeout, a
// cancellation or a system error.
type nonUsageError struct{ error }

const wouldNotCompile = "the change would not compile:"
