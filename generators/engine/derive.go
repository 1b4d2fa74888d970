package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// derive adds derived files to a plan: those of the given places, the wiring and the contract. If
// strict, it refuses a plan with errors in a place. It also adds the parts that planned files use.
func (e *Engine) derive(ctx context.Context, p *plan, places []derive.Place, strict bool) error {
	if err := e.addNeeded(ctx, p); err != nil {
		return err
	}
	e.step("deriving")
	unread := e.unreadPackages()
	if len(unread) > 0 && strict {
		return deriveRefusal(unread[0], e.before)
	}
	view := e.before.With(p.texts)
	others := slices.DeleteFunc(derive.Places(view), func(place derive.Place) bool {
		return !place.Wired || slices.Contains(places, place) || len(view.Files(place.Dir)) == 0
	})
	all, err := e.deriver.Packages(ctx, view, slices.Concat(places, others))
	if err != nil {
		return err
	}
	p.packages, p.others = all[:len(places):len(places)], all[len(places):]
	derive.CheckNames(p.packages, p.others)
	for _, pkg := range p.packages {
		switch {
		case len(pkg.Problems) > 0 && strict:
			if err := e.refuseNewProblems(ctx, p, pkg); err != nil {
				return err
			}
			return deriveRefusal(pkg, view)
		case len(pkg.Problems) == 0 && (pkg.Text != nil || e.before.File(pkg.File) != nil):
			e.planDerived(p, pkg.File, pkg.Text)
		}
	}
	run, err := e.deriver.GeneratorProgram(e.before.With(p.texts))
	if err != nil {
		return err
	}
	if run.Text != nil || e.before.File(run.Path) != nil {
		e.planDerived(p, run.Path, run.Text)
	}
	p.packages = append(p.packages, unread...)
	if len(unread) > 0 {
		return nil // do not change the wiring and the contract
	}
	promised, err := e.updateContract(ctx, p)
	if err != nil {
		return err
	}
	wired, err := e.deriver.Wire(e.before.With(p.texts), promised.Skipped())
	if err != nil {
		return err
	}
	for _, file := range wired {
		e.planDerived(p, file.Path, file.Text)
	}
	return nil
}

// planDerived plans a derived file. An existing file with that name must be a derived one.
func (e *Engine) planDerived(p *plan, file string, text []byte) {
	existing, err := e.root.ReadFile(file)
	switch {
	case err == nil && !typecheck.IsDerived(file, existing):
		if text != nil {
			p.conflict("%s ends in _gen.go but has no line %q, so it is not a derived file; rename it, or remove it if petrock derived it", file, typecheck.DerivedMark+" …")
		}
	case err == nil && text != nil && bytes.Equal(existing, text):
		delete(p.texts, file)
	default:
		p.texts[file], p.recomputed[file] = text, true
	}
}

// refuseNewProblems refuses a plan that adds problems to a package.
func (e *Engine) refuseNewProblems(ctx context.Context, p *plan, pkg *derive.Package) error {
	before, err := e.deriver.Packages(ctx, e.before, []derive.Place{pkg.Place})
	if err != nil {
		return err
	}
	fresh := withoutExisting(slices.Clone(pkg.Problems), before[0].Problems)
	refusal := &Refusal{
		Reason: fmt.Sprintf("cannot derive from %s after this change:", pkg.Dir), Diagnostics: withSource(fresh, e.before.With(p.texts)), Remedy: p.compileRemedy(fresh),
	}
	return refusal.orNil()
}

// touched returns the places with files of a plan, and those of other folders.
func (e *Engine) touched(p *plan, others ...string) []derive.Place {
	dirs := append(p.dirs(), others...)
	return slices.DeleteFunc(derive.Places(e.before.With(p.texts)), func(place derive.Place) bool { return !slices.Contains(dirs, place.Dir) })
}

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
