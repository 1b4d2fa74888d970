package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
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
	if err := e.read(ctx, false); err != nil {
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

// AddPart adds a part to the project.
func (e *Engine) AddPart(ctx context.Context, name string, o Options) (*Result, error) {
	return e.changeParts(ctx, name, request{Options: o, action: actionAdd})
}

// RemovePart removes a part. It refuses if the part is used, or if its code was edited.
func (e *Engine) RemovePart(ctx context.Context, name string, o Options) (*Result, error) {
	return e.changeParts(ctx, name, request{Options: o, action: actionRemove})
}

func (e *Engine) changeParts(ctx context.Context, name string, asked request) (*Result, error) {
	part, ok := parts.Find(name)
	if !ok {
		return nil, terminal.Usagef("part %q does not exist; %s", name, terminal.DidYouMean(name, parts.Names(), "the parts are "+strings.Join(parts.Names(), ", ")))
	}
	return e.transact(ctx, asked, func(_ *journal.Journal, p *plan) error {
		p.title, p.name, p.kind, p.arguments.Name = asked.action+" "+name, name, "part", name
		adds, has := asked.action == actionAdd, isPresent(part, e.before)
		change := e.addPart
		switch {
		case adds && has:
			return &Refusal{Reason: fmt.Sprintf("the project already has part %s, in %s", name, strings.Join(part.Folders, " and "))}
		case !adds && !has:
			return &Refusal{Reason: fmt.Sprintf("the project does not have part %s; see %s", name, e.Call("list"))}
		case !adds:
			if reason := e.whyPartStays(part, e.before); reason != "" {
				return &Refusal{Reason: fmt.Sprintf("remove part %s: %s", name, reason), Remedy: "Nothing was changed."}
			}
			change = e.removePart
		}
		if err := change(ctx, p, part); err != nil {
			return err
		}
		return e.derive(ctx, p, nil, false)
	})
}
