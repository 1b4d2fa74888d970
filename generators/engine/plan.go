package engine

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/project"
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
	generator    string     // the generator that is run; empty if none
	input        string     // its JSON input
	applying     *savedPlan // the saved plan that must result; nil if any may
	lenient      bool       // work even if the go command cannot load the project
	contractOnly bool       // the contract decides about stored events, without git and data
}

// A plan is one change to the project. User files come from a generator, an edit or the journal,
// derived files from derive. Planning sets its fields, and nothing after it changes them.
type plan struct {
	request
	plannedFiles
	plannedCode
	plannedEvents

	title      string                 // of the operation, such as generate tool greet
	undoes     string                 // id of the operation that it reverts; empty if none
	reverted   string                 // title of the operation that it undoes or redoes
	kind, name string                 // the component that is generated, changed or destroyed
	dir        string                 // folder of the component and of the trial's test; empty for other plans
	next       []string               // next steps, one sentence each
	notices    []string               // side effects, one sentence each
	warnings   []typecheck.Diagnostic // for the result
}

// plannedFiles are the files that a plan writes or deletes.
type plannedFiles struct {
	texts      map[string][]byte      // new texts by path; nil deletes a file
	modes      map[string]fs.FileMode // permissions of restored files
	recomputed map[string]bool        // files that undo computes again instead of restoring
	conflicts  []string               // conflicts with the project
	parts      []PartChange           // parts that are added or removed
	tidied     bool                   // whether go mod tidy computed go.mod
}

// plannedCode is the Go code that a plan comes from and that it derives from.
type plannedCode struct {
	bodyFile  string            // the file with the body that the caller sent; empty if none
	missing   []imports.Missing // imports that were not found
	trial     gen.Trial         // the examples to run
	oldNames  map[string]string // old names of declarations that a change renames, by their new names
	checkPure bool              // whether to refuse code that makes replay non-deterministic
	packages  []*derive.Package // packages that were derived from
	others    []*derive.Package // the other packages that the server includes
}

// plannedEvents is what a plan does to the contract and to stored events.
type plannedEvents struct {
	contractLost  string          // error if the contract is missing
	breaks        []string        // changes that break clients
	newVersionsOf []string        // the commands that get a new version
	skips         []string        // removed commands whose events are ignored from now on
	broken        []brokenCommand // commands whose stored events would no longer be readable
	stored        *StoredEvents   // the stored events; nil if the plan changes no commands
	decode        []storedType    // stored events to decode with the planned types
	was, now      source          // on disk and with the plan; empty if commands were not compared
}

func newPlan(asked request) *plan {
	return &plan{
		request:       asked,
		plannedFiles:  plannedFiles{texts: map[string][]byte{}, modes: map[string]fs.FileMode{}, recomputed: map[string]bool{}},
		plannedEvents: plannedEvents{skips: asked.Skip},
	}
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

func (p *plan) compileRemedy() string {
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
	if len(modules) > 0 {
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

// declares returns the declarations of the file with the caller's body, without function bodies, to
// show the names that the body can use. It is empty if no diagnostic is about that file.
func (p *plan) declares(found []typecheck.Diagnostic) string {
	if p.bodyFile == "" || !slices.ContainsFunc(found, func(d typecheck.Diagnostic) bool { return d.File == p.bodyFile }) {
		return ""
	}
	return outline(p.bodyFile, p.texts[p.bodyFile], false)
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
