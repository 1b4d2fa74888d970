package engine

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// A plan is one change of the project. Planning fills in the texts: the user's files come from a
// generator or from the journal, derived ones from derive. Verifying fills in the files.
type plan struct {
	action     string            // of the operation
	operation  journal.Operation // its record; has an id once it is applied
	kind, name string            // the component that is generated or destroyed
	next       []string          // what to do after it, one sentence each

	texts      map[string][]byte      // by path; nil for a file to delete
	modes      map[string]fs.FileMode // permissions of restored files
	derived    map[string]bool        // which of them are derived
	conflicts  []string               // what prevents the plan
	packages   []*derive.Package      // what was derived from
	otherTools []*derive.Package      // other packages with tools, if some of packages have tools
	trial      gen.Trial              // the examples to run
	dir        string                 // of the package with the trial's test
	bodyFile   string                 // the file with the body that the caller sent; empty if none
	missing    []string               // why imports were not found
	checkPure  bool                   // refuse non-deterministic application of commands
	warnings   []typecheck.Diagnostic
	saved      *savedPlan // of a dry run, or of a saved plan that is applied; otherwise nil
	applying   *savedPlan // the saved plan that is applied; otherwise nil

	after    *typecheck.View        // the project with the plan applied
	existing []typecheck.Diagnostic // errors that the project had before
	files    []journal.Change       // what changes on disk, sorted
	tried    *Trial                 // the result of the examples; nil if there are none
	savedID  string                 // of the plan that a dry run has saved

	lost         string          // why the contract says nothing about stored events
	broken       []brokenCommand // commands whose stored events would no longer be read
	brokenBefore []string        // those that were broken before the plan
	breaks       []string        // what would break clients
	accepts      []string        // commands whose recorded fields are given up
	settles      string          // the command whose versions it settles; those of others are left as they are
	lenient      bool            // it only takes away: what is broken is left as it is
	destroys     bool            // it removes a component, and so what clients were offered
	whole        bool            // it is made of all of the project
	undone       *undone         // what is undone of the contract
}

func newPlan(action string) *plan {
	return &plan{
		action: action, operation: journal.Operation{Action: action},
		texts: map[string][]byte{}, modes: map[string]fs.FileMode{}, derived: map[string]bool{},
	}
}

// plans reports whether the plan has something to say about a file.
func (p *plan) plans(file string) bool {
	_, planned := p.texts[file]
	return planned
}

// dirs are the folders in which files of the plan are.
func (p *plan) dirs() []string {
	dirs := map[string]bool{}
	for file := range p.texts {
		dirs[path.Dir(file)] = true
	}
	return slices.Sorted(maps.Keys(dirs))
}

// derive adds derived files to a plan: those of the given places, and the wiring. If the plan has
// to be exact, a place from which nothing can be derived is a refusal.
func (e *Engine) derive(ctx context.Context, p *plan, places []derive.Place, exact bool) error {
	e.step("deriving")
	hidden := e.hidden()
	if len(hidden) > 0 && exact {
		return e.refused(p, hidden[0])
	}
	var err error
	if p.packages, err = e.deriver.Packages(ctx, e.before.With(p.texts), places); err != nil {
		return err
	}
	if err := e.findOtherTools(ctx, p, places); err != nil {
		return err
	}
	for _, pkg := range p.packages {
		if len(pkg.Problems) > 0 {
			if exact {
				return e.refusedNow(ctx, p, pkg)
			}
			continue
		}
		if pkg.Text == nil && e.before.File(pkg.File) == nil {
			continue
		}
		e.planDerived(p, pkg.File, pkg.Text)
	}
	run, err := e.deriver.RunGenerators(e.before.With(p.texts))
	if err != nil {
		return err
	}
	if run.Text != nil || e.before.File(run.Path) != nil {
		e.planDerived(p, run.Path, run.Text)
	}
	if p.packages = append(p.packages, hidden...); len(hidden) > 0 {
		return nil // the wiring and the contract stay as they are
	}
	wired, err := e.deriver.Wire(e.before.With(p.texts))
	if err != nil {
		return err
	}
	for _, file := range wired {
		e.planDerived(p, file.Path, file.Text)
	}
	return e.updateContract(ctx, p)
}

// findOtherTools finds the packages with tools that the plan does not derive from, if it derives from
// some: tool names are unique, and all tools count in tools/list.
func (e *Engine) findOtherTools(ctx context.Context, p *plan, places []derive.Place) error {
	if !slices.ContainsFunc(places, derive.Place.HasTools) {
		return nil
	}
	view := e.before.With(p.texts)
	var others []derive.Place
	for _, place := range derive.Places(view) {
		if place.HasTools() && !slices.Contains(places, place) && len(view.Files(place.Dir)) > 0 {
			others = append(others, place)
		}
	}
	if len(others) > 0 {
		var err error
		if p.otherTools, err = e.deriver.Packages(ctx, view, others); err != nil {
			return err
		}
	}
	derive.Clashes(p.packages, p.otherTools)
	return nil
}

// planDerived plans a derived file. An existing file of that name has to be a derived one.
func (e *Engine) planDerived(p *plan, file string, text []byte) {
	was := e.before.File(file)
	there, err := e.root.ReadFile(file) // a build may not take it
	if was != nil || err == nil {
		if was != nil {
			there = was.Text
		}
		if !typecheck.IsDerived(file, there) {
			if text != nil {
				p.conflicts = append(p.conflicts, fmt.Sprintf("%s has the name of a derived file, and no line %q; rename it, or remove it if it was derived", file, typecheck.DerivedMark+" …"))
			}
			return
		}
		if bytes.Equal(there, text) && text != nil {
			delete(p.texts, file)
			return
		}
	}
	p.texts[file] = text
	p.derived[file] = true
}

// refusedNow says that nothing could be derived from a package after the plan, and whether that is the
// plan's fault.
func (e *Engine) refusedNow(ctx context.Context, p *plan, pkg *derive.Package) error {
	refusal := e.refused(p, pkg)
	before, err := e.deriver.Packages(ctx, e.before, []derive.Place{pkg.Place})
	if err == nil && len(before[0].Problems) == 0 {
		refusal.Reason = fmt.Sprintf("nothing could be derived from %s any more:", pkg.Dir)
		refusal.WayOut = "Nothing was changed."
		refusal.before = false
	}
	return refusal
}

// refused says that nothing can be derived from a package.
func (e *Engine) refused(p *plan, pkg *derive.Package) *Refusal {
	return &Refusal{
		Reason:      fmt.Sprintf("nothing can be derived from %s as it is:", pkg.Dir),
		Diagnostics: around(pkg.Problems, p.texts),
		WayOut:      "Mend that first. What does not touch this package still works.",
		before:      true,
	}
}

// verify refuses a plan that conflicts with the project, does not compile, makes replay
// non-deterministic, or whose examples fail. Only new errors count.
func (e *Engine) verify(ctx context.Context, p *plan, o Options) error {
	if len(p.conflicts) > 0 {
		slices.Sort(p.conflicts)
		return &Refusal{Reason: "something is in the way:", Conflicts: slices.Compact(p.conflicts), WayOut: "Nothing was changed. Take another name, or change what is there."}
	}
	if err := p.refuseBroken(); err != nil {
		return err
	}
	p.after = e.before.With(p.texts)
	e.step("verifying")
	verdict, err := e.checker.Verify(ctx, e.before, p.after)
	if err != nil {
		return err
	}
	p.existing = verdict.Old
	if len(verdict.New) > 0 {
		return &Refusal{
			Reason:      "it would not compile:",
			Diagnostics: around(verdict.New, p.texts),
			Declares:    p.declares(verdict.New),
			WayOut:      "Nothing was changed" + whyMissing(p.missing),
		}
	}
	if p.checkPure {
		if err := e.verifyPure(ctx, p); err != nil {
			return err
		}
	}
	if p.files, err = e.changes(p); err != nil {
		return err
	}
	if err := p.verifySaved(); err != nil {
		return err
	}
	p.tried, err = e.try(ctx, p, o)
	return err
}

// whyMissing is the end of a sentence: why packages were not found, which is what may be wrong.
func whyMissing(why []string) string {
	if len(why) == 0 {
		return "."
	}
	return ": " + strings.Join(why, "; ") + "."
}

// changes returns the files that the plan changes on disk, sorted.
func (e *Engine) changes(p *plan) ([]journal.Change, error) {
	var files []journal.Change
	for _, file := range slices.Sorted(maps.Keys(p.texts)) {
		f := journal.Change{Path: file, After: p.texts[file], Mode: p.modes[file], Derived: p.derived[file]}
		if was := e.before.File(file); was != nil {
			f.Before = was.Text
		} else if text, err := e.root.ReadFile(file); err == nil {
			f.Before = text
		} else if !isMissing(err) {
			return nil, err
		}
		if f.Action() != journal.None {
			files = append(files, f)
		}
	}
	return files, nil
}
