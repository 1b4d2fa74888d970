package engine

import (
	"context"
	"slices"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// Sync derives all derived files again. Packages with errors keep their derived files, and their errors are
// in the result.
func (e *Engine) Sync(ctx context.Context, o Options) (*Result, error) {
	return e.transact(ctx, o, func(*journal.Journal) (*plan, error) { return e.planSync(ctx, o.Accept, o.Saved) })
}

func (e *Engine) planSync(ctx context.Context, accept []string, saved bool) (*plan, error) {
	p := newPlan(actionSync)
	p.operation.Title = actionSync
	for _, entry := range accept {
		p.operation.Title += " --accept " + entry
	}
	p.wholeProject, p.accepts, p.keepsCommands = true, accept, saved
	if err := e.completeModules(p); err != nil {
		return nil, err
	}
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
	p, err := e.planSync(ctx, nil, false)
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
		result.Refused = append(result.Refused, b.diagnostic())
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
