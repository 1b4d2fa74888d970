package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// A planner adds a change to an empty plan.
type planner func(*journal.Journal, *plan) error

// transact makes one change to the project under its lock. Each phase returns what it decides, and no
// later phase changes that. A dry run saves the plan instead of applying it.
func (e *Engine) transact(ctx context.Context, asked request, makePlan planner) (*Result, error) {
	j, err := e.openJournal(ctx)
	if err != nil {
		return nil, notMade(ctx, err)
	}
	defer j.Close()
	e.cache.Lenient = asked.lenient
	defer func() { e.cache.Lenient = false }()
	planned, err := e.plan(ctx, j, asked, makePlan)
	if err != nil {
		return nil, notMade(ctx, err)
	}
	checked, err := e.verify(ctx, planned)
	if err = notMade(ctx, err); err != nil { // the last moment to cancel
		return nil, err
	}
	checked.result.Recovered = j.Recovered()
	switch {
	case asked.DryRun:
		return checked.result, e.savePlan(checked)
	case len(checked.files) == 0 && checked.undoes == "": // an undo counts even if the files were restored by hand
		return checked.result, nil
	}
	applied, err := e.apply(j, checked)
	if err != nil {
		return checked.result, err
	}
	return checked.result, e.record(j, checked, applied)
}

// notMade returns the error of a change that was not made. It adds that the caller cancelled it.
func notMade(ctx context.Context, err error) error {
	cancelled := ctx.Err()
	switch {
	case cancelled == nil:
		return err
	case err == nil || errors.Is(err, cancelled):
		return fmt.Errorf("interrupted; this change was not made: %w", cancelled)
	}
	return fmt.Errorf("interrupted; this change was not made: %w: %w", cancelled, err)
}

// plan reads the project, and plans a change.
func (e *Engine) plan(ctx context.Context, j *journal.Journal, asked request, makePlan planner) (plan, error) {
	if err := e.read(ctx); err != nil {
		return plan{}, err
	}
	planned := newPlan(asked)
	err := makePlan(j, planned)
	return *planned, err
}

// apply writes the files of a change, all of them or none.
func (e *Engine) apply(j *journal.Journal, c *verified) (journal.Operation, error) {
	e.step("writing")
	op := journal.Operation{Action: c.action, Title: c.title, Undoes: c.undoes}
	if c.action == actionSync {
		op.Follows = len(c.Accept)+len(c.Skip) == 0
		if c.Saved || !c.changes(contract.File) {
			op.Action = "" // derived files need no history; the contract does
		}
	}
	for _, part := range c.parts {
		if part.Action == journal.Create {
			op.Added = append(op.Added, part.Name)
		} else {
			op.Removed = append(op.Removed, part.Name)
		}
	}
	return j.Apply(op, c.files)
}

// record adds the operation to the history, and its id to the result. It removes a saved plan, so that
// it cannot be applied again; if that fails, it adds a warning, because the change is made.
func (e *Engine) record(j *journal.Journal, c *verified, op journal.Operation) error {
	if err := j.Record(op); err != nil {
		return err
	}
	c.result.Operation = op.ID
	if c.applying == nil {
		return nil
	}
	if err := e.root.Remove(planFile(c.applying.id)); err != nil {
		c.result.Warnings = append(c.result.Warnings, typecheck.Diagnostic{Message: fmt.Sprintf("plan %s was applied, but not removed: %v; remove the file", c.applying.id, err)})
	}
	return nil
}
