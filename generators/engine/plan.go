package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// Options configure an operation.
type Options struct {
	DryRun bool // plan and verify only
	Force  bool // change edited files too
	Keep   bool // keep edited files
	NoExec bool // type-check only: build and run nothing
	Test   bool // run the tests of changed packages and their importers before writing

	NoData  bool     // do not look at stored events
	Accept  []string // for Sync and Edit: commands whose recorded fields are replaced by those of the source
	Removal Removal  // for Destroy: what happens to stored events
	Skip    []string // for Sync: removed commands whose events are ignored from now on

	// Saved is for Sync: a file was saved, perhaps unfinished. Commands are not recorded in the
	// contract, nor is the operation.
	Saved bool

	applying *savedPlan // the saved plan that must result; nil if any may
}

// A Removal is the decision about the stored events of a command, or of the commands of a feature,
// that is removed. At most one of Retire, Skip and Map is set.
type Removal struct {
	Retire bool   `json:"retire,omitempty"`                  // Keep the type, to replay its events
	Skip   bool   `json:"skip,omitempty"`                    // Ignore its events
	Map    string `json:"map,omitempty"`                     // Read its events as this command
	Body   string `json:"body,omitempty" schema:"format=go"` // With map: returns the command from old, an eventlog.Record
}

// The actions.
const (
	actionGenerate = "generate"
	actionEdit     = "edit"
	actionDestroy  = "destroy"
	actionUndo     = "undo"
	actionRedo     = "redo"
	actionSync     = "sync"
	actionAdd      = "add"
	actionRemove   = "remove"
	actionChange   = "change"
)

// A request is what an operation is asked to do.
type request struct {
	Options
	action       string
	generator    string // the generator that is run; empty if none
	arguments    arguments
	lenient      bool // work even if the go command cannot load the project
	contractOnly bool // the contract decides about stored events, without git and data
}

// Arguments are what [Engine.Apply] needs to repeat an operation, besides the options.
type arguments struct {
	Kind   string          `json:"kind,omitempty"`   // of the component
	Name   string          `json:"name,omitempty"`   // of the generator, component or part; the operation to revert
	Input  json.RawMessage `json:"input,omitempty"`  // of the generator
	Change *Change         `json:"change,omitempty"` // for change
	Edits  []FileEdit      `json:"edits,omitempty"`  // for edit
}

// A plan is one change to the project. User files come from a generator, an edit or the journal,
// derived files from derive. Planning sets its fields, and nothing after it changes them.
type plan struct {
	request

	title      string                 // of the operation, such as generate tool greet
	undoes     string                 // id of the operation that it reverts; empty if none
	reverted   string                 // title of the operation that it undoes or redoes
	kind, name string                 // the component that is generated, changed or destroyed
	dir        string                 // folder of the component and of the trial's test; empty for other plans
	next       []string               // next steps, one sentence each
	notices    []string               // side effects, one sentence each
	warnings   []typecheck.Diagnostic // for the result

	// The files that it writes or deletes.
	texts      map[string][]byte      // new texts by path; nil deletes a file
	modes      map[string]fs.FileMode // permissions of restored files
	recomputed map[string]bool        // files that undo computes again instead of restoring
	conflicts  []string               // conflicts with the project
	parts      []PartChange           // parts that are added or removed
	tidied     bool                   // whether go mod tidy computed go.mod

	// The Go code that it comes from and that it derives from.
	bodyFile  string            // the file with the body that the caller sent; empty if none
	missing   []imports.Missing // imports that were not found
	trial     gen.Trial         // the examples to run
	oldNames  map[string]string // old names of declarations that a change renames, by their new names
	checkPure bool              // whether to refuse code that makes replay non-deterministic
	packages  []*derive.Package // packages that were derived from
	others    []*derive.Package // the other packages that the server includes

	// What it does to the contract and to stored events.
	contractLost  string          // error if the contract is missing
	breaks        []string        // changes that break clients
	newVersionsOf []string        // the commands that get a new version
	skips         []string        // removed commands whose events are ignored from now on
	broken        []brokenCommand // commands whose stored events would no longer be readable
	stored        *StoredEvents   // the stored events; nil if the plan changes no commands
	decode        []storedType    // stored events to decode with the planned types
	was, now      source          // on disk and with the plan; empty if commands were not compared
}

// A brokenCommand is a command whose stored events would no longer be readable.
type brokenCommand struct {
	command    string
	changes    []contract.Change // of its fields; empty if it was removed
	unreadable string            // why a stored event cannot be decoded; else empty
	isNewer    bool              // whether stored events, or the source before an undo, have a later version
	file       string            // the command's file; empty if the source does not have the command
	line       int
	beingAdded bool   // whether the plan adds the command again after it was removed
	isOlder    bool   // whether the source on disk breaks it too, or the source that an undo restores did
	isRecorded bool   // whether the last commit, or without git the contract, keeps an undo from breaking it
	sharedWith string // another broken command, whose new version comes with one of this command; may be empty
}

// A source is packages, and what they promise.
type source struct {
	packages           []*derive.Package
	*contract.Contract                   // without former versions
	mapped             map[string]string // functions that read events of removed commands
}

func newPlan(asked request) *plan {
	return &plan{request: asked, texts: map[string][]byte{}, modes: map[string]fs.FileMode{}, recomputed: map[string]bool{}, skips: asked.Skip}
}

func (p *plan) isRevert() bool { return p.action == actionUndo || p.action == actionRedo }

func (p *plan) plans(file string) bool {
	_, planned := p.texts[file]
	return planned
}

// conflict notes a conflict with the project.
func (p *plan) conflict(format string, args ...any) {
	p.conflicts = append(p.conflicts, fmt.Sprintf(format, args...))
}

func (p *plan) warn(messages ...string) {
	for _, message := range messages {
		p.warnings = append(p.warnings, typecheck.Diagnostic{Message: message})
	}
}

func (p *plan) dirs() []string {
	dirs := map[string]bool{}
	for file := range p.texts {
		dirs[path.Dir(file)] = true
	}
	return slices.Sorted(maps.Keys(dirs))
}

// belongsToPart reports whether a file changes only because a part is added or removed. Results do
// not list these files, except go.mod.
func (p *plan) belongsToPart(file string) bool {
	return slices.ContainsFunc(p.parts, func(change PartChange) bool {
		part, _ := parts.Find(change.Name)
		return part.Holds(file) || file == part.Archive() || file == parts.Linked || file == SumFile || file == "go.sum"
	})
}

// textOf returns the planned text of a file, or else its text on disk; nil if it does not exist.
func (e *Engine) textOf(planned map[string][]byte, file string) ([]byte, error) {
	if text, ok := planned[file]; ok {
		return text, nil
	}
	text, err := e.root.ReadFile(file)
	if isMissing(err) {
		return nil, nil
	}
	return text, err
}

// readContract returns the planned contract, or else the contract on disk.
func (e *Engine) readContract(planned map[string][]byte) (*contract.Contract, error) {
	text, err := e.textOf(planned, contract.File)
	if err != nil {
		return nil, err
	}
	if err := project.CheckMerged(contract.File, text); err != nil {
		return nil, err
	}
	return contract.Parse(text)
}

// compileRemedy returns what to do about errors in the code that a plan would leave.
func (p *plan) compileRemedy(found []typecheck.Diagnostic) string {
	remedy := "Nothing was changed."
	if p.bodyFile != "" {
		remedy += " Correct " + p.correctable("the body") + " and retry."
	}
	var modules []string
	for _, change := range p.parts {
		if change.Action != journal.Create {
			continue
		}
		part, _ := parts.Find(change.Name)
		required, _ := part.Required() // changePart has read them
		for _, m := range required {
			modules = append(modules, m.String())
		}
	}
	if len(modules) > 0 && strings.Contains(fmt.Sprint(found), "import") {
		remedy += " If modules are not downloaded, connect to the network, run this command, and retry:\n  go mod download " + strings.Join(modules, " ")
	}
	return remedy
}

// correctable returns what the caller can correct in a plan: the input or the code of an own
// generator, else source.
func (p *plan) correctable(source string) string {
	if p.generator == "" || p.generator == "version" || slices.Contains(Kinds(), p.generator) {
		return source
	}
	return fmt.Sprintf("the input of %s or its template in %s", p.generator, derive.OwnGenerators)
}

// declare adds to a refusal the declarations of the file with the caller's body, without function
// bodies, to show the names that the body can use. It does nothing if no diagnostic is about that
// file.
func (p *plan) declare(r *Refusal) *Refusal {
	if p.bodyFile != "" && slices.ContainsFunc(r.Diagnostics, func(d typecheck.Diagnostic) bool { return d.File == p.bodyFile }) {
		parts, names := outline(p.bodyFile, p.texts[p.bodyFile], false)
		r.Declares, r.declared = strings.Join(parts, "\n\n"), names
	}
	return r
}

// A verified is a plan that is checked. Verifying adds what it finds to the result.
type verified struct {
	plan
	after  *typecheck.View  // the project with the plan applied
	files  []journal.Change // changes on disk, sorted
	result *Result
}

// changes reports whether a file changes on disk.
func (c *verified) changes(file string) bool {
	return slices.ContainsFunc(c.files, func(f journal.Change) bool { return f.Path == file })
}

// A savedPlan is the plan of a dry run: an operation, which [Engine.Apply] repeats, and the files
// that it would write.
type savedPlan struct {
	Action    string           `json:"action"`
	Arguments arguments        `json:"arguments"`
	Options   Options          `json:"options"`
	Files     []journal.Record `json:"files"`

	id string // set when the plan is read
}

const (
	plansDir   = ".petrock/plans"
	maxPlanAge = 7 * 24 * time.Hour
	maxPlans   = 1000
)

func planFile(id string) string { return path.Join(plansDir, id+".json") }

func planID(text []byte) string { return journal.Hash(text)[:16] }

var planIDPattern = regexp.MustCompile(`^[0-9a-f]{16}$`)

// savePlan saves the plan of a dry run that would change something, and adds its id to the result.
func (e *Engine) savePlan(c *verified) error {
	if len(c.files) == 0 && c.undoes == "" {
		return nil
	}
	text, err := json.Marshal(savedPlan{c.action, c.arguments, c.Options, c.records(), ""})
	if err != nil {
		return err
	}
	id := planID(text)
	if err := e.keep(planFile(id), text, maxPlanAge, maxPlans); err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	c.result.Plan = id
	c.result.Next = slices.Insert(c.result.Next, 0, fmt.Sprintf("Write it with %s.", e.Call("apply", "plan", id)))
	return nil
}

// save writes a file that is not part of the project, in .petrock.
func (e *Engine) save(file string, text []byte) error {
	if err := e.root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return err
	}
	return e.root.WriteFile(file, text, 0o644)
}

func (e *Engine) readSaved(id string) (*savedPlan, error) {
	if !planIDPattern.MatchString(id) {
		return nil, terminal.Usagef("%q is not a plan id; a dry run prints the id, 16 hexadecimal digits", id)
	}
	text, err := e.root.ReadFile(planFile(id))
	if isMissing(err) {
		return nil, terminal.Usagef("plan %s does not exist: it was applied, is older than a week, or was made in another clone; run the dry run again", id)
	}
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	saved := &savedPlan{id: id}
	if err := json.Unmarshal(text, saved); err != nil || planID(text) != id {
		return nil, terminal.Usagef("plan %s was edited or is damaged; run the dry run again", id)
	}
	return saved, nil
}

// Apply repeats the operation whose dry run has saved a plan. It refuses if the operation would no
// longer write the same files. NoData and NoExec of o add to the options of the plan.
func (e *Engine) Apply(ctx context.Context, id string, o Options) (*Result, error) {
	saved, err := e.readSaved(id)
	if err != nil {
		return nil, err
	}
	again := saved.Options
	again.DryRun, again.NoExec, again.NoData, again.applying = o.DryRun, o.NoExec, o.NoData || again.NoData, saved
	switch a := saved.Arguments; {
	case saved.Action == actionGenerate:
		return e.Generate(ctx, a.Name, a.Input, again)
	case saved.Action == actionChange && a.Change != nil:
		return e.Change(ctx, *a.Change, again)
	case saved.Action == actionEdit:
		return e.Edit(ctx, a.Edits, again)
	case saved.Action == actionDestroy:
		return e.Destroy(ctx, a.Kind, a.Name, again)
	case saved.Action == actionUndo || saved.Action == actionRedo: // the undo of an undo is a redo
		return e.Undo(ctx, a.Name, again)
	case saved.Action == actionAdd || saved.Action == actionRemove:
		return e.changeParts(ctx, a.Name, request{Options: again, action: saved.Action})
	case saved.Action == actionSync:
		return e.Sync(ctx, again)
	}
	return nil, terminal.Usagef("plan %s was made by another version of petrock; run the dry run again", id)
}

// PlanKind returns the name of the generator that a saved plan runs, or "" if it runs none.
func (e *Engine) PlanKind(id string) (string, error) {
	saved, err := e.readSaved(id)
	if err != nil || saved.Action != actionGenerate {
		return "", err
	}
	return saved.Arguments.Name, nil
}

// verifySaved refuses to apply a saved plan if the files have changed since, or would now get
// different texts.
func (e *Engine) verifySaved(_ context.Context, c *verified) error {
	if c.applying == nil || slices.Equal(c.records(), c.applying.Files) {
		return nil
	}
	return &Refusal{
		Reason: fmt.Sprintf("plan %s is out of date: the project has changed since, and the plan would now write different files", c.applying.id),
		Remedy: "Nothing was changed. Run the dry run again and review the new plan.",
	}
}

// records returns the files that a change would write, as saved plans have them.
func (c *verified) records() (all []journal.Record) {
	for _, f := range c.files {
		all = append(all, journal.Record{Path: f.Path, Before: journal.Hash(f.Before), After: journal.Hash(f.After), Mode: f.Mode})
	}
	return all
}
