package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/petrock/petrock/generators/derive"
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
