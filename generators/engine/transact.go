package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// transact makes one change to the project under its lock: it plans, verifies, applies and records
// the change. Each phase returns what it decides, and no later phase changes that. A dry run saves
// the plan instead of applying it.
func (e *Engine) transact(ctx context.Context, asked request, makePlan func(*journal.Journal, *plan) error) (*Result, error) {
	j, err := e.openJournal(ctx)
	var checked *verified
	if err == nil {
		defer j.Close()
		checked, err = e.prepare(ctx, j, asked, makePlan)
	}
	switch cancelled := ctx.Err(); { // the last moment to cancel
	case cancelled != nil && err != nil && !errors.Is(err, cancelled):
		return nil, fmt.Errorf("interrupted; this change was not made: %w: %w", cancelled, err)
	case cancelled != nil:
		return nil, fmt.Errorf("interrupted; this change was not made: %w", cancelled)
	case err != nil:
		return nil, err
	}
	result := checked.result
	if result.Recovered = j.Recovered(); asked.DryRun {
		err = e.savePlan(checked, result)
	} else {
		result.Operation, err = e.apply(j, checked)
	}
	return result, err
}

// prepare reads the project, and plans and verifies a change.
func (e *Engine) prepare(ctx context.Context, j *journal.Journal, asked request, makePlan func(*journal.Journal, *plan) error) (*verified, error) {
	e.cache.Lenient = asked.lenient
	defer func() { e.cache.Lenient = false }()
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	planned := newPlan(asked)
	if err := makePlan(j, planned); err != nil {
		return nil, err
	}
	return e.verify(ctx, *planned)
}

// apply writes the files of a change, all of them or none, and adds the operation to the history.
// It returns the operation's id. It removes a saved plan, so that it cannot be applied again; if
// that fails, it adds a warning to the result, because the change is made.
func (e *Engine) apply(j *journal.Journal, c *verified) (id string, err error) {
	if len(c.files) == 0 && c.undoes == "" { // an undo counts even if the files were restored by hand
		return "", nil
	}
	e.step("writing")
	op := journal.Operation{Action: c.action, Title: c.title, Undoes: c.undoes}
	if c.action == actionSync && (c.Saved || !c.changes(contract.File)) {
		op.Action = "" // derived files need no history; the contract does
	}
	for _, part := range c.parts {
		if part.Action == journal.Create {
			op.Added = append(op.Added, part.Name)
		} else {
			op.Removed = append(op.Removed, part.Name)
		}
	}
	if op, err = j.Apply(op, c.files); err == nil {
		err = j.Record(op)
	}
	if err == nil && c.applying != nil {
		if err := e.root.Remove(planFile(c.applying.id)); err != nil {
			c.result.Warnings = append(c.result.Warnings, typecheck.Diagnostic{Message: fmt.Sprintf("plan %s was applied, but not removed: %v; remove the file", c.applying.id, err)})
		}
	}
	return op.ID, err
}
