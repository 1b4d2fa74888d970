package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Result describes an operation, or a dry run of one.
type Result struct {
	OK          bool                   `json:"ok"`                    // False if refused is not empty; for a check also if files are stale or replay is non-deterministic
	DryRun      bool                   `json:"dryRun,omitempty"`      // True for a dry run: no file of the project was changed
	Action      string                 `json:"action"`                // generate, change, edit, destroy, undo, redo, sync, add or remove
	Kind        string                 `json:"kind,omitempty"`        // Kind of the component
	Name        string                 `json:"name,omitempty"`        // Name of the component, as clients see it; for edit, the files
	Operation   string                 `json:"operation,omitempty"`   // Id for undo
	Undoes      string                 `json:"undoes,omitempty"`      // Id of the operation that was undone; of the undo that was redone
	Reverted    string                 `json:"reverted,omitempty"`    // What was undone or redone, such as generate tool greet
	Plan        string                 `json:"plan,omitempty"`        // Id of the saved plan, for apply
	Notices     []string               `json:"notices,omitempty"`     // Side effects, such as a feature that is created for a command
	Files       []FileChange           `json:"files,omitempty"`       // Changed files, without those of parts
	Parts       []PartChange           `json:"parts,omitempty"`       // Parts that were added or removed
	Components  []derive.Component     `json:"components,omitempty"`  // Definitions of new components
	Diagnostics []typecheck.Diagnostic `json:"diagnostics,omitempty"` // Errors that the project had before
	Refused     []typecheck.Diagnostic `json:"refused,omitempty"`     // Errors that prevented an update
	Warnings    []typecheck.Diagnostic `json:"warnings,omitempty"`
	Impure      []typecheck.Diagnostic `json:"impure,omitempty"`    // Code that makes replaying the event log non-deterministic
	ToolsList   *Size                  `json:"toolsList,omitempty"` // Size of tools/list
	Trial       *Trial                 `json:"trial,omitempty"`     // Result of the examples
	Tests       *TestResult            `json:"tests,omitempty"`     // Result of the tests of changed packages
	Stored      *StoredEvents          `json:"stored,omitempty"`    // The look at stored events, if there are some or it was not possible
	Recovered   string                 `json:"recovered,omitempty"` // Recovery of an interrupted operation
	Next        []string               `json:"next,omitempty"`      // Next steps
	Omission
}

func (r *Result) omitDetails() { r.Components, r.ToolsList = nil, nil }

// String formats the result as text, without diffs.
func (r *Result) String() string {
	var out strings.Builder
	writeLines(&out, "notice: ", r.Notices)
	fmt.Fprintf(&out, "%s\n", r.Headline())
	writeLines(&out, "  ", r.Parts)
	writeLines(&out, "  ", r.Files)
	if r.ToolsList != nil {
		fmt.Fprintln(&out, r.ToolsList)
	}
	if r.Trial != nil {
		fmt.Fprintln(&out, r.Trial)
	}
	if r.Tests != nil {
		fmt.Fprint(&out, r.Tests)
	}
	if r.Stored != nil {
		fmt.Fprintln(&out, r.Stored)
	}
	writeLines(&out, "refused: ", r.Refused)
	writeLines(&out, "warning: ", append(slices.Clone(r.Impure), r.Warnings...))
	if len(r.Diagnostics) > 0 {
		fmt.Fprintf(&out, "Errors that existed before:\n")
		writeLines(&out, "  ", r.Diagnostics)
	}
	if len(r.Next) > 0 {
		fmt.Fprintf(&out, "Next:\n")
		writeLines(&out, "  ", r.Next)
	}
	if r.LeftOut != "" {
		fmt.Fprintln(&out, r.LeftOut)
	}
	return out.String()
}

// Headline describes the result in one line.
func (r *Result) Headline() string {
	verb := map[string]string{
		"generate": "Generated", "change": "Changed", "edit": "Edited", "destroy": "Destroyed", "undo": "Undid",
		"redo": "Redid", "sync": "Derived", "add": "Added", "remove": "Removed",
	}[r.Action]
	if r.DryRun {
		verb = "Would " + strings.Replace(r.Action, "sync", "derive", 1)
	}
	what := strings.TrimSpace(r.Kind + " " + r.Name)
	switch {
	case r.Action == "sync" && len(r.Files) == 0 && len(r.Refused) > 0:
		return "Nothing was changed: petrock cannot derive from some packages."
	case r.Action == "edit" && len(r.Files) == 0:
		return "Nothing to change: the files already have these texts."
	case r.Action == "sync" && len(r.Files) == 0:
		return "All derived files are up to date."
	case r.Action == "sync":
		what = count(len(r.Files), "file")
	case r.Action == "undo":
		what = r.Undoes + ", " + r.Reverted
	case r.Action == "redo":
		what = r.Reverted
	}
	if r.Operation != "" {
		return fmt.Sprintf("%s %s (operation %s):", verb, what, r.Operation)
	}
	return fmt.Sprintf("%s %s:", verb, what)
}

// Stale lists stale derived files, and errors of packages that cannot be derived from, one line
// each.
func (r *Result) Stale() string {
	var out strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&out, "%s is stale\n", f.Path)
	}
	writeLines(&out, "", r.Refused)
	return out.String()
}

// Impurities lists code that makes replay non-deterministic, one line each. Projects' tests call
// it.
func (r *Result) Impurities() string {
	var out strings.Builder
	writeLines(&out, "", r.Impure)
	return out.String()
}

// A FileChange is the change to one file.
type FileChange struct {
	Path    string         `json:"path"`              // From the project's root
	Action  journal.Action `json:"action"`            // create, update or delete
	Derived bool           `json:"derived,omitempty"` // Whether petrock computed it; undo computes it again
	Before  string         `json:"before,omitempty"`  // SHA-256 of the old text
	After   string         `json:"after,omitempty"`   // SHA-256 of the new text
	Diff    string         `json:"diff,omitempty"`    // The change as a unified diff
}

func (f *FileChange) omitDetails() { f.Before, f.After, f.Diff = "", "", "" }

// String formats the change as text, without the diff. Go files that petrock computed are derived;
// others, such as go.mod, also contain what you write.
func (f FileChange) String() string {
	text := fmt.Sprintf("%s  %s", f.Action, f.Path)
	if f.Derived && path.Ext(f.Path) == ".go" {
		text += " (derived)"
	}
	return text
}

func newFileChange(f journal.Change) FileChange {
	return FileChange{Path: f.Path, Action: f.Action(), Derived: f.Derived, Before: journal.Hash(f.Before), After: journal.Hash(f.After), Diff: f.Diff()}
}

// A Trial is the result of the examples of a component, run before it was written.
type Trial struct {
	Ran        bool     `json:"ran"`                  // False with no-exec
	Passed     []string `json:"passed"`               // Names of the examples that passed; of the test if it has no examples
	Printed    string   `json:"printed,omitempty"`    // Output of the function
	Confined   bool     `json:"confined"`             // Whether the system prevented writes outside a temporary folder
	Unenforced []string `json:"unenforced,omitempty"` // Limits that the system could not enforce
}

// String formats the result of the examples as text.
func (t *Trial) String() string {
	if !t.Ran {
		return "Examples were not run."
	}
	text := "examples passed: " + strings.Join(t.Passed, ", ")
	if len(t.Unenforced) > 0 {
		text += " (this system could not enforce: " + strings.Join(t.Unenforced, "; ") + ")"
	}
	if t.Printed != "" {
		text += "\nOutput (the server writes it to stderr):\n  " + strings.ReplaceAll(strings.TrimSpace(t.Printed), "\n", "\n  ")
	}
	return text
}

// A Size is the size of tools/list.
type Size struct {
	Tools  int `json:"tools"`  // Number of tools
	Bytes  int `json:"bytes"`  // Length of the JSON
	Tokens int `json:"tokens"` // An estimate: four bytes each
}

// String formats the size as text.
func (s *Size) String() string {
	verb := "take"
	if s.Tools == 1 {
		verb = "takes"
	}
	return fmt.Sprintf("The %s %s about %d tokens (%d bytes) of a model's context.", count(s.Tools, "tool"), verb, s.Tokens, s.Bytes)
}

func newSize(tools map[string]json.RawMessage) *Size {
	s := &Size{Tools: len(tools), Bytes: len(`{"tools":[]}`)}
	for _, entry := range tools {
		s.Bytes += len(entry) + 1
	}
	s.Tokens = (s.Bytes + 3) / 4
	return s
}

// Short returns the short form of the result.
func (r *Result) Short(limit int) any { return Shorten(r, limit) }

// report completes the result of an operation that was verified, before it is applied.
func (e *Engine) report(ctx context.Context, c *verified) error {
	result := c.result
	if s := result.Stored; s != nil && s.Looked && s.Events == 0 {
		result.Stored = nil // nothing to say
	}
	if c.action == actionEdit && !c.changes(contract.File) {
		result.ToolsList = nil // unchanged
	}
	for _, b := range c.broken {
		result.Warnings = append(result.Warnings, e.diagnose(&c.plan, b))
	}
	if c.action == actionSync {
		if err := e.reportPurity(ctx, result, c.after); err != nil {
			return err
		}
	}
	switch {
	case c.DryRun:
		result.Next = []string{}
	case (c.action == actionGenerate || c.action == actionChange) && c.dir != "" && (result.Tests == nil || !result.Tests.OK):
		result.Next = append(result.Next, fmt.Sprintf("Run the tests with %s.", e.Call("test", "packages", []string{asFolder(c.dir)})))
	}
	result.Next = slices.Concat(result.Next, e.workerAdvice(c), e.partsAdvice(c))
	return nil
}

// newResult returns the part of a result that depends only on the change. Lists are never nil.
func newResult(p *plan, files []journal.Change) *Result {
	r := &Result{
		Action: p.action, DryRun: p.DryRun, Undoes: p.undoes, Reverted: p.reverted, Kind: p.kind, Name: p.name,
		Files: []FileChange{}, Components: []derive.Component{}, Next: append([]string{}, p.next...), Diagnostics: []typecheck.Diagnostic{},
		Refused: []typecheck.Diagnostic{}, Warnings: []typecheck.Diagnostic{}, Notices: p.notices, Parts: p.parts,
	}
	for _, f := range files {
		if !p.belongsToPart(f.Path) {
			r.Files = append(r.Files, newFileChange(f))
		}
	}
	isOther := func(d typecheck.Diagnostic) bool { return p.action != actionSync && !p.plans(d.File) }
	for _, pkg := range p.packages {
		r.Refused = append(r.Refused, pkg.Problems...)
		r.Warnings = append(r.Warnings, slices.DeleteFunc(slices.Clone(pkg.Warnings), isOther)...)
		for _, component := range pkg.Components {
			isIt := component.Name == r.Name && string(component.Kind) == r.Kind
			if isIt || r.Kind == string(derive.Feature) && component.Feature == r.Name {
				r.Components = append(r.Components, component)
			}
		}
	}
	r.Warnings = append(r.Warnings, p.warnings...)
	for _, what := range p.breaks {
		r.Warnings = append(r.Warnings, typecheck.Diagnostic{Message: "this breaks clients: " + what})
	}
	if p.now.Contract != nil && len(p.now.Tools) > 0 {
		r.ToolsList = newSize(p.now.Tools)
	}
	if p.stored != nil {
		r.Stored = new(*p.stored) // verify adds to it
	}
	r.OK = len(r.Refused) == 0
	return r
}

// belongsToPart reports whether a file changes only because a part is added or removed. Results do
// not list these files, except go.mod.
func (p *plan) belongsToPart(file string) bool {
	return slices.ContainsFunc(p.parts, func(change PartChange) bool {
		part, _ := parts.Find(change.Name)
		return part.Holds(file) || file == part.Archive() || file == SumFile || file == "go.sum"
	})
}

// workerAdvice advises on workers that a plan removes or renames.
func (e *Engine) workerAdvice(c *verified) (advice []string) {
	for _, file := range slices.Sorted(maps.Keys(c.recomputed)) {
		after := c.after.File(file)
		for _, worker := range derive.Workers(e.before.File(file)) {
			if after != nil && !slices.Contains(derive.Workers(after), worker) {
				advice = append(advice, fmt.Sprintf("Worker %s no longer exists. If you renamed it, add //petrock:name %s to the doc comment of its type: its position in the event log is stored under this name.", worker, path.Base(worker)))
			}
		}
	}
	return advice
}

// partsAdvice names the parts that are no longer used after a plan.
func (e *Engine) partsAdvice(c *verified) (next []string) {
	for _, part := range parts.All() {
		if isPresent(part, c.after) && e.partUser(part, e.before) != "" && e.partUser(part, c.after) == "" {
			next = append(next, fmt.Sprintf("Part %s is no longer used; run %s to remove it.", part.Name, e.Call("remove", "part", part.Name)))
		}
	}
	return next
}
