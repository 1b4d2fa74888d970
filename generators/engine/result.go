package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/trial"
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

// A PartChange is a part that an operation adds or removes.
type PartChange struct {
	Name    string         `json:"name"`              // Name of the part
	Action  journal.Action `json:"action"`            // create or delete
	Folders []string       `json:"folders"`           // Folders of its code
	Files   int            `json:"files"`             // Number of its files
	Modules []string       `json:"modules,omitempty"` // Modules that it adds to go.mod or removes from it
}

func (c *PartChange) omitDetails() { c.Modules = nil }

// String describes the change in one line.
func (c PartChange) String() string {
	verb := "add"
	if c.Action == journal.Delete {
		verb = "remove"
	}
	text := fmt.Sprintf("%s  part %s: %s (%s)", verb, c.Name, strings.Join(c.Folders, ", "), count(c.Files, "file"))
	if len(c.Modules) > 0 {
		text += fmt.Sprintf(" and %s in go.mod", count(len(c.Modules), "module"))
	}
	return text
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

// Short returns the short form of the result. That of a dry run has the beginning of the diff of
// the user's files.
func (r *Result) Short(limit int) any {
	sorted, left := *r, 400
	isOurs := func(f FileChange) int { // what the user wrote comes first
		if f.Derived || f.Path == contract.File {
			return 1
		}
		return 0
	}
	sorted.Files = slices.SortedStableFunc(slices.Values(r.Files), func(a, b FileChange) int { return isOurs(a) - isOurs(b) })
	s := Shorten(&sorted, limit)
	for i, f := range sorted.Files[:len(s.Files)] {
		if r.DryRun && !f.Derived && f.Path != contract.File && (left > 0 || limit == 0) {
			s.Files[i].Diff = f.Diff
			if limit > 0 {
				s.Files[i].Diff = cutText(f.Diff, left)
			}
			left -= len(f.Diff)
		}
	}
	return s
}

// A TestResult is the result of tests.
type TestResult struct {
	OK          bool                   `json:"ok"`                    // Whether all tests passed
	Packages    int                    `json:"packages"`              // Number of packages with tests
	Passed      int                    `json:"passed"`                // Number of tests that passed; a test with subtests counts as its subtests
	Failed      int                    `json:"failed"`                // Number of tests that failed
	Skipped     int                    `json:"skipped"`               // Number of tests that were skipped
	Failures    []trial.TestFailure    `json:"failures"`              // Tests that failed
	Diagnostics []typecheck.Diagnostic `json:"diagnostics,omitempty"` // Errors of packages that do not compile, or of go vet
	Older       bool                   `json:"older,omitempty"`       // Whether all of these failures and errors existed before the change
	NotRun      []string               `json:"notRun,omitempty"`      // Packages whose tests did not run, or not to their end
	Why         string                 `json:"why,omitempty"`         // Why not
	Coverage    *Coverage              `json:"coverage,omitempty"`    // Which statements ran
	Benchmarks  []Benchmark            `json:"benchmarks,omitempty"`  // What benchmarks measured; of several runs, the medians
	Omission
}

// Short returns the short form of the result.
func (r *TestResult) Short(limit int) any { return Shorten(r, limit) }

// String formats the result as text.
func (r *TestResult) String() string {
	text := fmt.Sprintf("%d passed", r.Passed)
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	if r.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", r.Skipped)
	}
	text += " in " + count(r.Packages, "package")
	switch {
	case len(r.NotRun) > 0 && r.Passed+r.Failed+r.Skipped == 0:
		text = "Tests were not run"
	case r.Older:
		text = "No new failures: " + text + ". These failed before, and still fail"
	case len(r.Failures)+len(r.Diagnostics) == 0 && len(r.Benchmarks) > 0 && r.Passed == 0:
		text = count(len(r.Benchmarks), "benchmark") + " in " + count(r.Packages, "package")
	case len(r.Failures)+len(r.Diagnostics) == 0 && len(r.Benchmarks) > 0:
		text += " and " + count(len(r.Benchmarks), "benchmark")
	case len(r.Failures)+len(r.Diagnostics) == 0 && r.Packages == 0:
		text = "There are no tests"
	case len(r.Failures)+len(r.Diagnostics) == 0:
		text = "All tests passed: " + text
	case r.Failed == 0:
		text = "Some packages do not compile, or fail go vet. Tests of the others: " + text
	default:
		text = "Tests failed: " + text
	}
	if len(r.NotRun) > 0 {
		text += fmt.Sprintf(". Not run: %s, because %s", joinFew(r.NotRun), r.Why)
	}
	var out strings.Builder
	fmt.Fprintln(&out, &Refusal{Reason: text + ".", Diagnostics: r.Diagnostics, Tests: r.Failures})
	if r.Coverage != nil {
		fmt.Fprint(&out, r.Coverage)
	}
	writeLines(&out, "  ", r.Benchmarks)
	return strings.TrimSuffix(out.String()+r.LeftOut, "\n") + "\n"
}

// A StoredEvents is the result of looking at the events that the project's server has stored.
type StoredEvents struct {
	Looked bool   `json:"looked"`           // Whether the data was read
	Why    string `json:"why,omitempty"`    // Why it was not
	Where  string `json:"where,omitempty"`  // The data folder or database
	Events int64  `json:"events,omitempty"` // Number of events of the commands that change

	types   []storedType
	decoded int // events that were decoded with the planned types
}

// A storedType is the stored events of one version of a command.
type storedType struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	Count   int64  `json:"count"`
	First   int64  `json:"first"` // sequence number of the first one
}

// String describes in one line whether stored events were looked at.
func (s *StoredEvents) String() string {
	switch {
	case !s.Looked:
		return "Stored events were not looked at: " + s.Why + ". contract.json alone decided."
	case s.Events == 0:
		return "No events of the changed commands are stored."
	}
	text := fmt.Sprintf("Stored events of the changed commands: %d", s.Events)
	if s.decoded > 0 {
		text += fmt.Sprintf(", of which %d were decoded with the new types", s.decoded)
	}
	return text + "."
}

// of returns the stored events of a command, the oldest version first.
func (s *StoredEvents) of(command string) []storedType {
	return slices.DeleteFunc(slices.Clone(s.types), func(t storedType) bool { return t.Type != command })
}

// describe returns the number of stored events of a command and the first of them, or "". It is ""
// for nil.
func (s *StoredEvents) describe(command string) string {
	if s == nil {
		return ""
	}
	var events, first int64
	for _, t := range s.of(command) {
		if events += t.Count; first == 0 || t.First < first {
			first = t.First
		}
	}
	switch events {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 event is stored, event %d", first)
	}
	return fmt.Sprintf("%d events are stored, the first is event %d", events, first)
}

// A Shortener is a result with a short form: without diffs, hashes, schemas and whole files. limit
// is how many entries of each list the short form has; the smaller it is, the shorter are its
// texts. If limit is 0, lists and texts are complete.
type Shortener interface{ Short(limit int) any }

// An Omission is the part of a result that describes what its short form leaves out.
type Omission struct {
	LeftOut string `json:"leftOut,omitempty"` // What the short form leaves out
}

func (o *Omission) setLeftOut(text string) { o.LeftOut = text }

// Shorten returns a copy of a result for [Shortener], with shorter lists and texts, and without
// details. An [Omission] in it describes the entries of lists that are left out.
func Shorten[T any](result *T, limit int) *T {
	c, short := &cutter{limit: limit}, *result
	c.cut(reflect.ValueOf(&short).Elem(), "")
	if o, ok := any(&short).(interface{ setLeftOut(string) }); ok && len(c.leftOut) > 0 {
		o.setLeftOut(fmt.Sprintf("Left out: %s. Set detail to get everything.", strings.Join(c.leftOut, ", ")))
	}
	return &short
}

// A cutter shortens a value, and notes the entries of lists that it leaves out.
type cutter struct {
	limit   int // of the entries of a list; 0 means no limit
	leftOut []string
}

// cut shortens the value of a field with a JSON name. It replaces lists and pointers by copies.
func (c *cutter) cut(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			whole := v.Elem()
			v.Set(reflect.New(whole.Type()))
			v.Elem().Set(whole)
			c.cut(v.Elem(), name)
		}
	case reflect.Struct:
		c.cutStruct(v)
	case reflect.Slice:
		n := v.Len()
		if v.Type().Elem().Kind() == reflect.Uint8 { // a part of JSON is not valid
			if n > c.maxText() {
				v.SetZero()
			}
			return
		}
		if c.limit > 0 && n > c.limit {
			left := fmt.Sprintf("%d in %s", n-c.limit, name)
			if failures, ok := v.Interface().([]trial.TestFailure); ok {
				var tests []string
				for _, f := range failures[c.limit:] {
					tests = append(tests, f.Test)
				}
				left += " (" + cutText(strings.Join(tests, ", "), 800) + ")"
			}
			c.leftOut = append(c.leftOut, left)
			n = c.limit
		}
		list := reflect.MakeSlice(v.Type(), n, n)
		reflect.Copy(list, v)
		v.Set(list)
		for i := range n {
			c.cut(v.Index(i), name)
		}
	case reflect.String:
		v.SetString(cutText(cutSame(v.String(), c.maxText()), c.maxText()))
	}
}

func (c *cutter) cutStruct(v reflect.Value) {
	switch s := v.Addr().Interface().(type) {
	case interface{ omitDetails() }:
		s.omitDetails()
	case *typecheck.Diagnostic:
		if s.File != "" {
			s.Package = "" // the file names it
		}
		if len(s.Lines) > c.maxText() {
			s.Lines = "" // the message has the position
		}
	}
	for field, value := range v.Fields() {
		if field.IsExported() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			c.cut(value, name)
		}
	}
}

// maxText returns the maximum length of a text, in bytes.
func (c *cutter) maxText() int {
	if c.limit == 0 {
		return math.MaxInt
	}
	return 150 + 50*c.limit
}

// cutText returns the first bytes of a text that is longer than limit, with an ellipsis.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " …"
}

// cutSame shortens the beginning that what a test got has in common with what it wants, if the text
// is longer than limit.
func cutSame(text string, limit int) string {
	head, rest, hasGot := strings.Cut(text, "got ")
	got, want, hasWant := strings.Cut(rest, "\nwant ")
	got, want = strings.TrimSpace(got), strings.TrimSpace(want)
	if len(text) <= limit || !hasGot || !hasWant {
		return text
	}
	same := 0
	for same < min(len(got), len(want)) && got[same] == want[same] {
		same++
	}
	const shown = 30 // bytes before the difference
	if same > shown {
		got, want = "… "+strings.ToValidUTF8(got[same-shown:], ""), "… "+strings.ToValidUTF8(want[same-shown:], "")
	}
	half := max(limit-len(head), limit/2) / 2
	return head + "got  " + cutText(got, half) + "\nwant " + cutText(want, half)
}

func count(n int, noun string) string {
	switch {
	case n != 1 && strings.HasSuffix(noun, "ch"):
		noun += "es"
	case n != 1:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func joinFew(words []string) string {
	const maxListed = 8
	if len(words) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:maxListed], ", "), len(words)-maxListed)
	}
	return strings.Join(words, ", ")
}

func joinOrNone(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }

// writeLines writes the entries of a list, one a line.
func writeLines[T any](out *strings.Builder, prefix string, list []T) {
	for _, entry := range list {
		fmt.Fprintf(out, "%s%v\n", prefix, entry)
	}
}

func page[T any](list []T, offset, limit int) []T {
	first := min(max(offset, 0), len(list))
	return list[first:min(first+max(limit, 1), len(list))]
}

// writePage writes which entries of a list are shown, and how to get the next ones.
func writePage(out *strings.Builder, shown, offset, total int, what string) {
	switch next := offset + shown; {
	case total == 0:
		fmt.Fprintf(out, "There is no %s.\n", what)
	case shown == 0:
		fmt.Fprintf(out, "There are %s; offset %d is past the end.\n", count(total, what), offset)
	case next < total:
		fmt.Fprintf(out, "%d to %d of %s; pass offset: %d to get the next ones.\n", offset+1, next, count(total, what), next)
	case offset > 0:
		fmt.Fprintf(out, "%d to %d of %s.\n", offset+1, next, count(total, what))
	}
}
