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

// Sync derives all derived files again. Packages from which nothing can be derived keep theirs,
// and are named in the result.
func (e *Engine) Sync(ctx context.Context, o Options) (*Result, error) {
	title := actionSync
	for _, entry := range o.Accept {
		title += " --accept " + entry
	}
	return e.transact(ctx, &journal.Operation{Action: actionSync, Title: title}, o, func(_ *journal.Journal, _ *Result) (*plan, error) {
		p := newPlan()
		p.whole, p.accepts = true, o.Accept
		return p, e.derive(ctx, p, e.there(), false)
	})
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

// Check reports what [Engine.Sync] would do; the result is OK if that is nothing, and if commands are applied so that the
// state comes out the same whenever the log is read. It changes nothing of
// the project, takes no lock, and needs no right to write.
func (e *Engine) Check(ctx context.Context) (*Result, error) {
	if err := e.look(ctx); err != nil {
		return nil, err
	}
	p := newPlan()
	p.whole = true
	if err := e.derive(ctx, p, e.there(), false); err != nil {
		return nil, err
	}
	files, err := e.changes(p)
	if err != nil {
		return nil, err
	}
	result := &Result{OK: true, DryRun: true, Action: actionSync}
	for _, f := range files {
		result.Files = append(result.Files, fileChange(f))
	}
	e.fill(result, p)
	if err := e.judge(ctx, result, e.before); err != nil {
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
