package engine

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

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
func (e *Engine) workerAdvice(c *verified) []string {
	var advice []string
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
func (e *Engine) partsAdvice(c *verified) []string {
	var next []string
	for _, part := range parts.All() {
		if isPresent(part, c.after) && e.partUser(part, e.before) != "" && e.partUser(part, c.after) == "" {
			next = append(next, fmt.Sprintf("Part %s is no longer used; run %s to remove it.", part.Name, e.Call("remove", "part", part.Name)))
		}
	}
	return next
}
