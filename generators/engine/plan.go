package engine

import (
	"bytes"
	"context"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/typecheck"
)

// A plan is one change to the project. User files come from a generator, an edit or the journal,
// derived files from derive. Only planning sets its fields: a [verified] plan contains a copy.
type plan struct {
	request
	title      string   // of the operation, such as generate tool greet
	undoes     string   // id of the operation that it reverts; empty if none
	kind, name string   // the component that is generated, changed or destroyed
	dir        string   // folder of the component and of the trial's test; empty for other plans
	next       []string // next steps, one sentence each
	notices    []string // side effects, one sentence each
	warnings   []typecheck.Diagnostic

	fileChanges
	sources
	decisions
}

// fileChanges are the files of a plan.
type fileChanges struct {
	texts      map[string][]byte      // new texts by path; nil deletes a file
	modes      map[string]fs.FileMode // permissions of restored files
	recomputed map[string]bool        // files that undo computes again instead of restoring
	conflicts  []string               // conflicts with the project
	parts      []PartChange           // parts that are added or removed
	tidied     bool                   // whether go mod tidy computed go.mod
}

// sources are the Go code that a plan comes from and that it derives from.
type sources struct {
	bodyFile  string            // the file with the body that the caller sent; empty if none
	missing   []imports.Missing // imports that were not found
	trial     gen.Trial         // the examples to run
	oldNames  map[string]string // old names of declarations that a change renames, by their new names
	checkPure bool              // whether to refuse code that makes replay non-deterministic
	packages  []*derive.Package // packages that were derived from
	others    []*derive.Package // the other packages that the server includes
}

// decisions are what a plan does to the contract and to stored events.
type decisions struct {
	contractLost  string                      // error if the contract is missing
	breaks        []string                    // changes that break clients
	newVersionsOf []string                    // the commands that get a new version
	skips         []string                    // removed commands whose events are ignored from now on
	broken        []brokenCommand             // commands whose stored events would no longer be readable
	brokenBefore  []string                    // those of them that were broken before, which the plan may ignore
	stored        *StoredEvents               // the stored events; nil if the plan changes no commands
	decode        []storedType                // stored events to decode with the planned types
	was           map[string]contract.Command // commands of the source on disk; nil if commands were not compared
}

func newPlan(asked request) *plan {
	return &plan{
		request: asked, decisions: decisions{skips: asked.Skip},
		fileChanges: fileChanges{texts: map[string][]byte{}, modes: map[string]fs.FileMode{}, recomputed: map[string]bool{}},
	}
}

func (p *plan) isRevert() bool { return p.action == actionUndo || p.action == actionRedo }

func (p *plan) plans(file string) bool {
	_, planned := p.texts[file]
	return planned
}

// conflict notes a conflict with the project.
func (p *plan) conflict(format string, args ...any) {
	p.conflicts = append(p.conflicts, fmt.Sprintf(format, args...))
}

func (p *plan) warn(messages ...string) {
	for _, message := range messages {
		p.warnings = append(p.warnings, typecheck.Diagnostic{Message: message})
	}
}

func (p *plan) dirs() []string {
	dirs := map[string]bool{}
	for file := range p.texts {
		dirs[path.Dir(file)] = true
	}
	return slices.Sorted(maps.Keys(dirs))
}

// textOf returns the planned text of a file, or else its text on disk; nil if it does not exist.
func (e *Engine) textOf(p *plan, file string) ([]byte, error) {
	if text, planned := p.texts[file]; planned {
		return text, nil
	}
	text, err := e.root.ReadFile(file)
	if isMissing(err) {
		return nil, nil
	}
	return text, err
}

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
	refusal := &Refusal{Reason: fmt.Sprintf("cannot derive from %s after this change:", pkg.Dir), Remedy: p.compileRemedy()}
	fresh := withoutExisting(slices.Clone(pkg.Problems), before[0].Problems)
	refusal.Diagnostics = withSource(fresh, e.before.With(p.texts))
	return refusal.orNil()
}

// deriveRefusal refuses to derive from a package with problems.
func deriveRefusal(pkg *derive.Package, view *typecheck.View) *Refusal {
	return &Refusal{
		Reason:      fmt.Sprintf("cannot derive from %s:", pkg.Dir),
		Diagnostics: withSource(pkg.Problems, view),
		Remedy:      "Fix these errors first. Changes that do not involve this package still work.",
		cause:       causeBefore,
	}
}

// touched returns the places with files of a plan.
func (e *Engine) touched(p *plan) []derive.Place {
	dirs := p.dirs()
	return slices.DeleteFunc(derive.Places(e.before.With(p.texts)), func(place derive.Place) bool { return !slices.Contains(dirs, place.Dir) })
}

func (e *Engine) addImports(ctx context.Context, p *plan, file gen.File) ([]byte, error) {
	view := e.before.With(p.texts)
	var given []imports.Import
	for _, i := range file.Imports {
		given = append(given, imports.Import{Name: i.Name, Path: i.Path})
	}
	text, err := e.resolver.Insert(ctx, view, file.Path, file.Text, given)
	if err != nil {
		return nil, err
	}
	text, missing, err := e.resolver.Add(ctx, view, file.Path, text)
	p.missing = append(p.missing, missing...)
	return text, err
}

// formatted returns the text of a file, formatted if it is Go that parses.
func formatted(file string, text []byte) []byte {
	if path.Ext(file) == ".go" {
		if formatted, err := format.Source(text); err == nil {
			return formatted
		}
	}
	return text
}

// completeGo adds missing imports to planned Go files, removes unused ones, and formats the files.
func (e *Engine) completeGo(ctx context.Context, p *plan) error {
	for _, name := range slices.Sorted(maps.Keys(p.texts)) {
		view := e.before.With(p.texts)
		if view.File(name) == nil {
			continue // deleted, not Go, or in testdata
		}
		text, err := e.resolver.RemoveUnused(ctx, view, name, p.texts[name])
		if err != nil {
			return err
		}
		if text, err = e.addImports(ctx, p, gen.File{Path: name, Text: text}); err != nil {
			return err
		}
		p.texts[name] = formatted(name, text)
	}
	return nil
}
