package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
	Draft   string   `json:"draft,omitempty"`   // Id of the draft that keeps the arguments, see [Draft]

	cause error // nil if another program returned the fault
}

// Error returns the message, with the details of a refusal.
func (f *Fault) Error() string {
	text := f.Message
	if f.Refusal != nil && f.Message == f.Refusal.Reason { // the short form
		text = f.Refusal.Error()
	}
	if f.Draft != "" {
		text += fmt.Sprintf("\nDraft %s keeps this call: repeat it with draft %[1]s and only what changes.", f.Draft)
		if strings.HasPrefix(text, cannotEdit) {
			text += " An edit replaces the one of its path, but a replacement follows a text; an edit with only a path removes those of the path."
		}
	}
	return text
}

// Unwrap returns the error that the fault describes.
func (f *Fault) Unwrap() error { return f.cause }

// FaultOf converts an error to a fault.
func FaultOf(err error) *Fault {
	if known, ok := errors.AsType[*Fault](err); ok {
		return known
	}
	f := &Fault{Message: err.Error(), Status: terminal.ExitCode(err), cause: err}
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

	cause    cause
	declared []string // names of the declarations in Declares, for the short form
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
	for _, d := range r.Diagnostics {
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
			place = fmt.Sprintf(" (%s:%d%s)", f.File, f.Line, strings.TrimSuffix(": "+f.Source, ": "))
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

// withSource adds the lines around the first diagnostic in a file of a view.
func withSource(found []typecheck.Diagnostic, view *typecheck.View) []typecheck.Diagnostic {
	found = slices.Clone(found)
	for i, d := range found {
		if file := view.File(d.File); file != nil {
			found[i].Lines = typecheck.LinesAround(string(file.Text), d.Line)
			break
		}
	}
	return found
}

// codePosition matches the position of code in a message or a stack, such as tools/add.go:12.
var codePosition = regexp.MustCompile(`((?:[A-Za-z]:)?[\w./-]+\.go):(\d+)`)

// withLines adds, after each line of an output that names a line of the user's code, the text of
// that line.
func (e *Engine) withLines(output string, view *typecheck.View) string {
	lines := strings.Split(output, "\n")
	for i, line := range lines {
		if at := codePosition.FindStringSubmatch(line); at != nil {
			name := e.pathInProject(at[1])
			for _, file := range view.All() { // a log names only the last folder
				if view.File(name) == nil && strings.HasSuffix(file.Path, "/"+name) {
					name = file.Path
				}
			}
			number, _ := strconv.Atoi(at[2])
			if source := sourceLine(view, name, number); source != "" && !isPetrockPath(name) {
				lines[i] += fmt.Sprintf("\n%s:%d: %s", name, number, source)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// sourceLine returns a line of a file of a view, or "" if it does not exist.
func sourceLine(view *typecheck.View, name string, number int) string {
	file := view.File(name)
	if file == nil || number < 1 || number > bytes.Count(file.Text, []byte("\n")) {
		return ""
	}
	return string(bytes.TrimSpace(bytes.Split(file.Text, []byte("\n"))[number-1]))
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
	whole := *f.Refusal
	if c := (&cutter{limit: limit}); len(whole.Declares) > c.maxText() {
		whole.Declares = joinFew(whole.declared)
	}
	s.Refusal = Shorten(&whole, limit)
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
