package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

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

// Options configure an operation.
type Options struct {
	DryRun bool // plan and verify only
	Force  bool // also change edited files
	Keep   bool // keep edited files
	NoExec bool // type-check only: build and run nothing
	Test   bool // run the tests of changed packages and their importers before writing

	lenient bool // work even if the go command cannot load the project

	NoData  bool     // do not look at stored events
	Accept  []string // for Sync and Edit: commands whose recorded fields are replaced by those of the source
	Removal Removal  // for Destroy: what happens to stored events
	Skip    []string // for Sync: removed commands whose events are ignored from now on
	Saved   bool     // for Sync: a file was saved, perhaps unfinished; do not record commands in the contract, nor the operation
}

// transact makes one change to the project under its lock. A dry run saves the plan instead of applying it.
func (e *Engine) transact(ctx context.Context, o Options, makePlan func(*journal.Journal) (*plan, error)) (_ *Result, err error) {
	applying := false
	e.options = o
	defer func() {
		if err != nil && ctx.Err() != nil && !applying {
			err = errors.New("interrupted; nothing was changed")
		}
	}()
	j, err := e.openJournal(ctx)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	e.cache.Lenient = o.lenient
	defer func() { e.cache.Lenient = false }()
	if err := e.read(ctx); err != nil {
		return nil, err
	}

	p, err := makePlan(j)
	if err != nil {
		return nil, err
	}
	if err := e.verify(ctx, p, o); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // the last moment to cancel
		return nil, err
	}
	applying = !o.DryRun
	if o.DryRun {
		err = e.savePlan(p)
	} else {
		err = e.apply(j, p)
	}
	if err != nil {
		return nil, err
	}
	return e.report(ctx, p, j.Recovered(), o)
}

// openJournal locks the project, and completes or rolls back an interrupted operation.
func (e *Engine) openJournal(ctx context.Context) (*journal.Journal, error) {
	return journal.Open(ctx, e.project.Root, journal.Options{Waiting: func() { e.step("waiting for another petrock process in this project") }})
}

// apply writes the files of a plan, all of them or none, and adds the operation to the history.
func (e *Engine) apply(j *journal.Journal, p *plan) error {
	if len(p.files) == 0 {
		return nil
	}
	e.step("writing")
	op := p.operation
	if op.Action == actionSync && (p.keepsCommands || !slices.ContainsFunc(p.files, func(f journal.Change) bool { return f.Path == contract.File })) {
		op.Action = "" // derived files need no history; the contract does
	}
	var err error
	if p.operation, err = j.Apply(op, p.files); err != nil {
		return err
	}
	if err := j.Record(p.operation); err != nil {
		return err
	}
	if p.applying != nil {
		e.root.Remove(path.Join(plansDir, p.applying.id+".json")) // cannot be applied again anyway
	}
	return nil
}

func (e *Engine) report(ctx context.Context, p *plan, recovered string, o Options) (*Result, error) {
	r := e.newResult(p)
	r.DryRun, r.Recovered, r.Trial = o.DryRun, recovered, p.tried
	r.Tests = p.tests
	if r.Action == actionEdit && !slices.ContainsFunc(p.files, func(f journal.Change) bool { return f.Path == contract.File }) {
		r.ToolsList = nil // unchanged
	}
	r.Operation, r.Plan = p.operation.ID, p.savedID
	for _, b := range p.broken {
		r.Warnings = append(r.Warnings, e.diagnose(p, b))
	}
	if r.Action == actionSync {
		if err := e.reportPurity(ctx, r, p.after); err != nil {
			return nil, err
		}
	}
	switch {
	case r.Plan != "":
		r.Next = []string{fmt.Sprintf("Write it with petrock apply %s (over MCP: apply).", r.Plan)}
	case r.DryRun:
		r.Next = []string{}
	}
	r.Next = append(r.Next, e.workerAdvice(p)...)
	r.Next = append(r.Next, e.partsAdvice(p)...)
	if p.tests != nil && p.tests.OK {
		r.Next = slices.DeleteFunc(r.Next, func(next string) bool { return strings.HasPrefix(next, "go test ") })
	}
	for i, next := range r.Next {
		if strings.HasPrefix(next, "go test ") {
			r.Next[i] += " (over MCP: test)"
		}
	}
	return r, nil
}

// newResult returns the part of a result that depends only on the plan. Lists are never nil.
func (e *Engine) newResult(p *plan) *Result {
	r := &Result{
		Action: p.action, Undoes: p.operation.Undoes, Kind: p.kind, Name: p.name,
		Files: []FileChange{}, Components: []derive.Component{}, Next: append([]string{}, p.next...),
		Diagnostics: append([]typecheck.Diagnostic{}, p.existing...),
		Refused:     []typecheck.Diagnostic{}, Warnings: []typecheck.Diagnostic{}, Notices: p.notices, Parts: p.parts,
	}
	if p.stored != nil && (!p.stored.Looked || p.stored.Events > 0) {
		r.Stored = p.stored
	}
	if r.Undoes != "" {
		r.Reverted = baseTitle(p.operation)
	}
	for _, f := range p.files {
		if !p.belongsToPart(f.Path) {
			r.Files = append(r.Files, newFileChange(f))
		}
	}
	for _, pkg := range p.packages {
		r.Refused = append(r.Refused, pkg.Problems...)
		r.Warnings = append(r.Warnings, pkg.Warnings...)
		for _, c := range pkg.Components {
			belongsToFeature := r.Kind == string(derive.Feature) && c.Feature == r.Name
			if c.Name == r.Name && string(c.Kind) == r.Kind || belongsToFeature {
				r.Components = append(r.Components, c)
			}
		}
	}
	r.Warnings = append(r.Warnings, p.warnings...)
	for _, what := range p.breaks {
		r.Warnings = append(r.Warnings, typecheck.Diagnostic{Message: "this breaks clients: " + what})
	}
	isSound := func(pkg *derive.Package) bool { return pkg.HasTools() && !hasProblems(pkg) }
	if slices.ContainsFunc(p.packages, isSound) {
		var tools []derive.Component
		for _, pkg := range slices.Concat(p.packages, p.others) {
			if isSound(pkg) {
				tools = append(tools, pkg.Components...)
			}
		}
		r.ToolsList = toolsListSize(tools)
	}
	r.OK = len(r.Refused) == 0
	return r
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Sync derives all derived files again. Packages with errors keep their derived files, and their errors are
// in the result.
func (e *Engine) Sync(ctx context.Context, o Options) (*Result, error) {
	return e.transact(ctx, o, func(*journal.Journal) (*plan, error) { return e.planSync(ctx, o, false) })
}

// planSync plans derived files. contractOnly means that the contract decides, without git and data.
func (e *Engine) planSync(ctx context.Context, o Options, contractOnly bool) (*plan, error) {
	p := newPlan(actionSync)
	p.operation.Title = actionSync
	for _, command := range o.Accept {
		p.operation.Title += " --accept " + command
	}
	for _, command := range o.Skip {
		p.operation.Title += " --skip " + command
	}
	p.accepts, p.skips, p.keepsCommands, p.contractOnly = o.Accept, o.Skip, o.Saved, contractOnly
	return p, e.derive(ctx, p, e.existingPlaces(), false)
}

func (e *Engine) existingPlaces() []derive.Place {
	return slices.DeleteFunc(derive.Places(e.before), func(place derive.Place) bool { return len(e.before.Files(place.Dir)) == 0 })
}

// Check reports the changes that [Engine.Sync] would make. The result is OK if there are none, and if replay
// of the event log is deterministic. Check takes no lock and writes nothing.
func (e *Engine) Check(ctx context.Context) (*Result, error) {
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	p, err := e.planSync(ctx, Options{}, true)
	if err != nil {
		return nil, err
	}
	if p.files, err = e.changes(p); err != nil {
		return nil, err
	}
	result := e.newResult(p)
	result.DryRun = true
	if err := e.reportPurity(ctx, result, e.before); err != nil {
		return nil, err
	}
	for _, b := range p.broken {
		result.Refused = append(result.Refused, e.diagnose(p, b))
	}
	if p.contractLost != "" {
		result.Refused = append(result.Refused, typecheck.Diagnostic{File: contract.File, Message: p.contractLost})
	}
	for _, conflict := range p.conflicts {
		result.Refused = append(result.Refused, typecheck.Diagnostic{Message: conflict})
	}
	result.Refused = append(result.Refused, e.interrupted()...)
	result.OK = len(result.Files)+len(result.Refused)+len(result.Impure) == 0
	return result, nil
}
