package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// Options say how far something goes.
type Options struct {
	DryRun bool // plan and verify, and write nothing
	Force  bool // also what has been edited since
	Keep   bool // leave what has been edited since
	NoExec bool // build and run nothing of what is generated; type-check alone

	Accept []string // of sync: commands whose recorded fields are given up for those that the source has
}

// isMissing reports whether a file, or its folder, is not there.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// transact opens the journal, makes a plan with it, and applies that. What the plan derives from is
// up to it; it may also fill in what is known of the operation once the journal is read.
func (e *Engine) transact(ctx context.Context, op *journal.Operation, o Options, draw func(*journal.Journal, *Result) (*plan, error)) (*Result, error) {
	opened, err := journal.Open(ctx, e.project.Root, journal.Options{Waiting: func() { e.step("waiting for another petrock in this project") }})
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	result := &Result{OK: true, DryRun: o.DryRun, Action: op.Action, Undoes: op.Undoes, Recovered: opened.Recovered()}
	if err := e.look(ctx); err != nil {
		return nil, err
	}
	p, err := draw(opened, result)
	if err != nil {
		return nil, err
	}
	if err := e.verify(ctx, p); err != nil {
		return nil, err
	}
	files, err := e.changes(p)
	if err != nil {
		return nil, err
	}
	if err := p.from.still(files); err != nil {
		return nil, err
	}
	if result.Trial, err = e.try(ctx, p, o); err != nil {
		return nil, err
	}
	if o.DryRun && p.from != nil {
		if result.Plan, err = e.save(p.from, result.Trial); err != nil {
			return nil, err
		}
	}
	if !o.DryRun && len(files) > 0 {
		if err := ctx.Err(); err != nil { // from here on it is done
			return nil, err
		}
		e.step("writing")
		recorded := *op
		if op.Action == actionSync && !slices.ContainsFunc(files, func(f journal.Change) bool { return f.Path == contract.File }) {
			recorded.Action = "" // derived files need no history; the contract is history
		}
		if recorded, err = opened.Apply(recorded, files); err != nil {
			return nil, err
		}
		result.Operation = recorded.ID
		e.forget(p.from)
	}
	for _, f := range files {
		result.Files = append(result.Files, fileChange(f))
	}
	e.fill(result, p)
	for _, b := range p.broken {
		result.Warnings = append(result.Warnings, b.diagnostic())
	}
	if op.Action == actionSync {
		if err := e.judge(ctx, result, p.after); err != nil {
			return nil, err
		}
	}
	switch {
	case result.Plan != "":
		result.Next = []string{fmt.Sprintf("Apply the plan %s to write it.", result.Plan)}
	case result.DryRun:
		result.Next = []string{}
	case result.Action == actionUndo:
		result.Next = []string{fmt.Sprintf("To undo %s brings back what was taken back.", result.Operation)}
	}
	result.Next = append(result.Next, e.forLogs(p)...)
	return result, nil
}

// The actions.
const (
	actionGenerate = "generate"
	actionDestroy  = "destroy"
	actionUndo     = "undo"
	actionSync     = "sync"
)

// fill says what came of a plan. Lists are never null.
func (e *Engine) fill(r *Result, p *plan) {
	var tools []derive.Component
	listed := false
	for _, pkg := range p.packages {
		r.Refused = append(r.Refused, pkg.Problems...)
		r.Warnings = append(r.Warnings, pkg.Warnings...)
		if pkg.HasTools() && len(pkg.Problems) == 0 {
			tools = append(tools, pkg.Components...)
			listed = true
		}
		for _, c := range pkg.Components {
			isPart := r.Kind == string(derive.Feature) && c.Feature == r.Name
			if c.Name == r.Name && string(c.Kind) == r.Kind || isPart {
				r.Components = append(r.Components, c)
			}
		}
	}
	r.Warnings = append(r.Warnings, p.warnings...)
	for _, what := range p.breaks {
		r.Warnings = append(r.Warnings, typecheck.Diagnostic{Message: "this breaks clients: " + what})
	}
	for _, pkg := range p.beside {
		if len(pkg.Problems) == 0 {
			tools = append(tools, pkg.Components...)
		}
	}
	if listed {
		r.ToolsList = size(tools)
	}
	if r.Files == nil {
		r.Files = []FileChange{}
	}
	if r.Components == nil {
		r.Components = []derive.Component{}
	}
	if r.Next == nil {
		r.Next = []string{}
	}
	r.Diagnostics = append([]typecheck.Diagnostic{}, p.old...)
	r.Refused = append([]typecheck.Diagnostic{}, r.Refused...)
	r.Warnings = append([]typecheck.Diagnostic{}, r.Warnings...)
	r.OK = len(r.Refused) == 0
}
