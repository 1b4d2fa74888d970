package engine

import (
	"context"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// Sync regenerates all derived files. Packages with errors keep their derived files, and their
// errors are in the result.
func (e *Engine) Sync(ctx context.Context, o Options) (*Result, error) {
	return e.transact(ctx, request{Options: o, action: actionSync}, func(_ *journal.Journal, p *plan) error {
		return e.planSync(ctx, p)
	})
}

// planSync plans derived files.
func (e *Engine) planSync(ctx context.Context, p *plan) error {
	p.title = actionSync
	for _, command := range p.Accept {
		p.title += " --accept " + command
	}
	for _, command := range p.Skip {
		p.title += " --skip " + command
	}
	return e.derive(ctx, p, e.onDisk().existingPlaces(), false)
}

// Check reports the changes that [Engine.Sync] would make. The result is OK if there are none, and
// if replay of the event log is deterministic. Check takes no lock and writes nothing.
func (e *Engine) Check(ctx context.Context) (*Result, error) {
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	p := newPlan(request{Options: Options{DryRun: true}, action: actionSync, contractOnly: true})
	if err := e.planSync(ctx, p); err != nil {
		return nil, err
	}
	files, err := e.changedFiles(p)
	if err != nil {
		return nil, err
	}
	result := newResult(p, files)
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
