package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// Sync derives all derived files again. Packages with errors keep theirs, and are named in the
// result.
func (e *Engine) Sync(ctx context.Context, o Options) (*Result, error) {
	return e.transact(ctx, syncRequest{accept: o.Accept}, o)
}

// A syncRequest derives all derived files again.
type syncRequest struct {
	accept []string // see [Options]
}

func (r syncRequest) plan(ctx context.Context, e *Engine, _ *journal.Journal) (*plan, error) {
	p := newPlan(actionSync)
	p.operation.Title = actionSync
	for _, entry := range r.accept {
		p.operation.Title += " --accept " + entry
	}
	p.whole, p.accepts = true, r.accept
	return p, e.derive(ctx, p, e.there(), false)
}

// there are the places that the project has.
func (e *Engine) there() []derive.Place {
	var places []derive.Place
	for _, place := range derive.Places(e.before) {
		if len(e.before.Files(place.Dir)) > 0 {
			places = append(places, place)
		}
	}
	return places
}

// Check reports what [Engine.Sync] would do. The result is OK if that is nothing, and if replaying the
// event log is deterministic. Check takes no lock and writes nothing.
func (e *Engine) Check(ctx context.Context) (*Result, error) {
	if err := e.look(ctx); err != nil {
		return nil, err
	}
	p, err := syncRequest{}.plan(ctx, e, nil)
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
	if p.lost != "" {
		result.Refused = append(result.Refused, typecheck.Diagnostic{File: contract.File, Message: p.lost})
	}
	for _, conflict := range p.conflicts {
		result.Refused = append(result.Refused, typecheck.Diagnostic{Message: conflict})
	}
	result.Refused = append(result.Refused, e.interrupted()...)
	result.OK = len(result.Files)+len(result.Refused)+len(result.Impure) == 0
	return result, nil
}

// Stale says what is not as it would be derived, empty if nothing is.
func (r *Result) Stale() string {
	var out strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&out, "%s is stale\n", f.Path)
	}
	for _, d := range r.Refused {
		fmt.Fprintf(&out, "%s\n", d)
	}
	return out.String()
}
