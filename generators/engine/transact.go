package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/journal"
)

// transact makes one change to the project under its lock, in four phases: it plans, verifies,
// applies and records the change. Each phase returns what it decides, and no later phase changes
// that. A dry run saves the plan instead of applying it.
func (e *Engine) transact(ctx context.Context, asked request, makePlan func(*journal.Journal, *plan) error) (*Result, error) {
	defer func() { e.cache.Lenient = false }()
	j, err := e.begin(ctx, asked)
	if err != nil {
		return nil, nothingChanged(ctx, err)
	}
	defer j.Close()

	planned := newPlan(asked)
	if err := makePlan(j, planned); err != nil {
		return nil, nothingChanged(ctx, err)
	}
	checked, err := e.verify(ctx, *planned)
	if err := cmp.Or(err, ctx.Err()); err != nil { // the last moment to cancel
		return nil, nothingChanged(ctx, err)
	}
	if asked.DryRun {
		id, err := e.savePlan(checked)
		if err != nil {
			return nil, nothingChanged(ctx, err)
		}
		return e.report(ctx, checked, recorded{plan: id, recovered: j.Recovered()})
	}
	applied, err := e.apply(j, checked)
	if err != nil {
		return nil, err
	}
	if err := e.record(j, checked, applied); err != nil {
		return nil, err
	}
	return e.report(ctx, checked, recorded{operation: applied.ID, recovered: j.Recovered()})
}

// begin locks the project and reads it.
func (e *Engine) begin(ctx context.Context, asked request) (*journal.Journal, error) {
	j, err := e.openJournal(ctx)
	if err != nil {
		return nil, err
	}
	e.cache.Lenient = asked.lenient
	if err := e.read(ctx); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// nothingChanged returns the error of a phase that writes nothing, which may be a cancellation.
func nothingChanged(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted; nothing was changed")
	}
	return err
}

// apply writes the files of a change, all of them or none.
func (e *Engine) apply(j *journal.Journal, c *verified) (journal.Operation, error) {
	if len(c.files) == 0 {
		return journal.Operation{}, nil
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
	return j.Apply(op, c.files)
}

// record adds an applied operation to the history. A saved plan cannot be applied again.
func (e *Engine) record(j *journal.Journal, c *verified, applied journal.Operation) error {
	if len(c.files) == 0 {
		return nil
	}
	if err := j.Record(applied); err != nil {
		return err
	}
	if c.applying != nil {
		e.root.Remove(planFile(c.applying.id))
	}
	return nil
}
