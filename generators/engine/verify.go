package engine

import (
	"cmp"
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
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// A verified is a plan that was checked. Verifying sets its own fields, and leaves those of the
// plan alone.
type verified struct {
	plan
	after       *typecheck.View        // the project with the plan applied
	files       []journal.Change       // changes on disk, sorted
	existing    []typecheck.Diagnostic // errors that the project had before
	impure      []typecheck.Diagnostic // warnings about replay
	decoded     *StoredEvents          // the stored events, after some were decoded; nil if they do not matter
	undecodable []brokenCommand        // commands with stored events that cannot be decoded
	tried       *Trial                 // the result of the examples; nil without examples
	tests       *TestResult            // the result of the tests; nil if they were not run
}

// verify refuses a plan that conflicts with the project, does not compile, fails go vet, makes
// replay non-deterministic or stored events unreadable, or fails examples or tests. It ignores
// errors that the project had before.
func (e *Engine) verify(ctx context.Context, p plan) (*verified, error) {
	if len(p.conflicts) > 0 {
		return nil, &Refusal{
			Reason:    p.title + ": conflict with existing files:",
			Conflicts: slices.Compact(slices.Sorted(slices.Values(p.conflicts))),
			Remedy:    fmt.Sprintf("Nothing was changed. Choose another name, or rename or destroy what exists first (%s).", e.Call("destroy")),
		}
	}
	if err := e.refuseBroken(&p, p.broken); err != nil {
		return nil, err
	}
	e.step("verifying")
	files, err := e.changedFiles(&p)
	if err != nil {
		return nil, err
	}
	c := &verified{plan: p, after: e.before.With(p.texts), files: files, decoded: p.stored}
	for _, check := range []func(context.Context, *verified) error{
		e.verifyTypes, e.vet, e.verifyPure, e.compile, e.verifySaved, e.decodeStored, e.runPlannedTests,
	} {
		if err := check(ctx, c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// changes reports whether a file changes on disk.
func (c *verified) changes(file string) bool {
	return slices.ContainsFunc(c.files, func(f journal.Change) bool { return f.Path == file })
}

// verifyTypes type-checks the changed packages and those that import them.
func (e *Engine) verifyTypes(ctx context.Context, c *verified) error {
	verdict, err := e.checker.Verify(ctx, e.before, c.after)
	if err != nil {
		return err
	}
	c.existing = verdict.Old
	if len(verdict.New) == 0 {
		return nil
	}
	c.explainMissing(verdict.New)
	return &Refusal{
		Reason:      wouldNotCompile,
		cause:       causeCompile,
		Diagnostics: withSource(verdict.New, c.after),
		Declares:    c.declares(verdict.New),
		Remedy:      c.compileRemedy(),
	}
}

const wouldNotCompile = "the change would not compile:"

func (p *plan) compileRemedy() string {
	remedy := "Nothing was changed."
	if p.bodyFile != "" {
		remedy += " Correct " + p.correctable("the body") + " and retry."
	}
	var modules []string
	for _, change := range p.parts {
		if change.Action != journal.Create {
			continue
		}
		part, _ := parts.Find(change.Name)
		required, _ := part.Required() // changePart has read them
		for _, m := range required {
			modules = append(modules, m.String())
		}
	}
	if len(modules) > 0 {
		remedy += " If modules are not downloaded, connect to the network, run this command, and retry:\n  go mod download " + strings.Join(modules, " ")
	}
	return remedy
}

// correctable returns what the caller can correct in a plan: the input or the code of an own
// generator, else source.
func (p *plan) correctable(source string) string {
	if p.generator == "" || p.generator == "version" || slices.Contains(Kinds(), p.generator) {
		return source
	}
	return fmt.Sprintf("the input of %s or its template in %s", p.generator, derive.OwnGenerators)
}

// explainMissing replaces errors about undefined package names with the reason why no package was
// imported.
func (p *plan) explainMissing(found []typecheck.Diagnostic) {
	for i, d := range found {
		for _, m := range p.missing {
			if (p.bodyFile == "" || d.File == p.bodyFile) && d.Message == "undefined: "+m.Name {
				found[i].Message = m.Reason
			}
		}
	}
}

// changedFiles returns the files that a plan changes on disk, sorted.
func (e *Engine) changedFiles(p *plan) ([]journal.Change, error) {
	var files []journal.Change
	for _, file := range slices.Sorted(maps.Keys(p.texts)) {
		f := journal.Change{Path: file, After: p.texts[file], Mode: p.modes[file], Derived: p.recomputed[file]}
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

// newTrial returns the result of examples that passed.
func (p *plan) newTrial(reports []*trial.Report) *Trial {
	tried := &Trial{Ran: true, Passed: []string{}}
	for _, report := range reports {
		tried.Printed += report.Printed
		tried.Confined, tried.Unenforced = report.IsConfined(), report.Unenforced
		for _, c := range report.Cases {
			tried.Passed = append(tried.Passed, p.example(c).Name)
		}
	}
	return tried
}

// trialRefusal refuses a plan whose examples failed.
func (p *plan) trialRefusal(report *trial.Report) *Refusal {
	refusal := &Refusal{Reason: "examples failed:", Printed: cutText(report.Printed, 2000)}
	source := "the example"
	if p.trial.Examples == nil {
		refusal.Reason, source = "the generated test failed:", "the input"
	}
	if p.bodyFile != "" {
		source = "the body or " + source
	}
	refusal.Remedy = "Nothing was changed. Correct " + p.correctable(source) + "."
	for _, c := range report.Cases {
		if c.Passed {
			continue
		}
		message := cmp.Or(strings.Join(c.Messages, "\n"), report.Ended)
		refusal.Failures = append(refusal.Failures, Failure{p.example(c), message})
		if report.IsConfined() && (strings.Contains(message, "permission denied") || strings.Contains(message, "read-only file system")) {
			refusal.Remedy = "Nothing was changed. Examples may write only to their working directory and to temporary folders."
		}
	}
	if len(p.trial.Examples) > len(report.Cases) && report.Ended != "" {
		refusal.Remedy += " Later examples were not run."
	}
	if len(refusal.Failures) == 0 {
		refusal.Reason = cmp.Or(report.Ended, "the generated test failed")
	}
	return refusal
}

// declares returns the declarations of the file with the caller's body, without function bodies, to
// show the names that the body can use. It is empty if no diagnostic is about that file.
func (p *plan) declares(found []typecheck.Diagnostic) string {
	if p.bodyFile == "" || !slices.ContainsFunc(found, func(d typecheck.Diagnostic) bool { return d.File == p.bodyFile }) {
		return ""
	}
	return outline(p.bodyFile, p.texts[p.bodyFile], false)
}

// example returns the example of a test case. Case names have spaces instead of underscores.
func (p *plan) example(c trial.Case) gen.Example {
	for _, e := range p.trial.Examples {
		if strings.ReplaceAll(e.Name, "_", " ") == c.Name {
			return e
		}
	}
	return gen.Example{Name: c.Name}
}

// checkPurity checks that replay of features is deterministic. If changed is not nil, it checks
// only features that depend on packages in these folders, except core.
func (e *Engine) checkPurity(ctx context.Context, view *typecheck.View, changed []string) (typecheck.PurityReport, error) {
	var dirs, affected []string
	for _, dir := range changed {
		if !isPetrockPath(dir) {
			affected = append(affected, e.checker.Importers(view, dir)...)
		}
	}
	for _, place := range derive.Places(view) {
		if place.Kind == derive.Feature && (changed == nil || slices.Contains(affected, place.Dir)) {
			dirs = append(dirs, place.Dir)
		}
	}
	if len(dirs) > 0 {
		e.step("checking that replay is deterministic")
	}
	return typecheck.PurityCheck{Core: e.deriver.Core, Checker: e.checker}.Find(ctx, view, dirs)
}

// verifyPure refuses code that makes replay non-deterministic.
func (e *Engine) verifyPure(ctx context.Context, c *verified) error {
	if !c.checkPure {
		return nil
	}
	after, err := e.checkPurity(ctx, c.after, c.dirs())
	isOther := func(d typecheck.Diagnostic) bool { return c.texts[d.File] == nil }
	c.impure = slices.DeleteFunc(after.Warnings, isOther)
	if err != nil || len(after.Impure) == 0 {
		return err
	}
	before, err := e.checkPurity(ctx, e.before, c.dirs())
	if err != nil {
		return err
	}
	fresh := withoutExisting(after.Impure, before.Impure)
	refusal := &Refusal{
		Reason:      "replaying the event log would be non-deterministic:",
		Diagnostics: withSource(fresh, c.after),
		Declares:    c.declares(fresh),
		Remedy:      "Nothing was changed. If a function is deterministic, add //petrock:pure and a reason to its doc comment.",
	}
	return refusal.orNil()
}

// withoutExisting removes from after the diagnostics that before has: same file, same message.
func withoutExisting(after, before []typecheck.Diagnostic) []typecheck.Diagnostic {
	return slices.DeleteFunc(after, func(d typecheck.Diagnostic) bool {
		return slices.ContainsFunc(before, func(old typecheck.Diagnostic) bool { return old.File == d.File && old.Message == d.Message })
	})
}

func (e *Engine) reportPurity(ctx context.Context, r *Result, view *typecheck.View) error {
	report, err := e.checkPurity(ctx, view, nil)
	if err != nil {
		return err
	}
	r.Impure = report.Impure
	r.Warnings = append(r.Warnings, report.Warnings...)
	return nil
}

// unreadPackages returns the packages that exist but are not read: symbolic links and nested
// modules. If they were treated as missing, their components would be unregistered.
func (e *Engine) unreadPackages() []*derive.Package {
	places := slices.DeleteFunc(derive.Places(e.before), func(place derive.Place) bool { return !place.Wired || place.Kind == derive.Feature })
	if e.whyUnread(derive.Features) != "" {
		places = append(places, derive.FeaturePlace(derive.Features))
	} else if entries, err := fs.ReadDir(e.root.FS(), derive.Features); err == nil {
		for _, entry := range entries {
			places = append(places, derive.FeaturePlace(path.Join(derive.Features, entry.Name())))
		}
	}
	var found []*derive.Package
	for _, place := range places {
		if reason := e.whyUnread(place.Dir); reason != "" {
			found = append(found, &derive.Package{Place: place, Problems: []typecheck.Diagnostic{{Message: reason}}})
		}
	}
	return found
}

// whyUnread returns why a folder is not read, or "" if it is.
func (e *Engine) whyUnread(dir string) string {
	if info, err := e.root.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Sprintf("%s is a symbolic link, which petrock does not follow; replace it with a folder", dir)
	}
	if mod := e.otherModule(path.Join(dir, "x")); mod != "" {
		return fmt.Sprintf("%s is in another module (%s); make it part of this module", dir, mod)
	}
	return ""
}

// otherModule returns the go.mod of the nested module that contains a file, or an empty string.
func (e *Engine) otherModule(file string) string {
	for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
		mod := path.Join(dir, "go.mod")
		if _, err := e.root.Lstat(mod); err == nil {
			return mod
		}
	}
	return ""
}

func (e *Engine) interrupted() []typecheck.Diagnostic {
	if !journal.Interrupted(e.root) {
		return nil
	}
	return []typecheck.Diagnostic{{Message: "an operation was interrupted or is in progress; run petrock sync to complete it or roll it back"}}
}

// vet runs the checks of go vet on the packages whose code a plan writes, and refuses the plan if
// they find something new.
func (e *Engine) vet(ctx context.Context, c *verified) error {
	dirs := map[string]bool{}
	for file, text := range c.texts {
		if text != nil && !c.recomputed[file] && !isPetrockPath(file) && c.after.File(file) != nil {
			dirs[path.Dir(file)] = true
		}
	}
	changed := slices.Sorted(maps.Keys(dirs))
	after, _, err := e.checker.VetAll(ctx, c.after, changed)
	if err != nil || len(after) == 0 {
		return err
	}
	before, broken, err := e.checker.VetAll(ctx, e.before, changed)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(withoutExisting(after, before), func(d typecheck.Diagnostic) bool {
		return !c.plans(d.File) && slices.Contains(broken, path.Dir(d.File)) // a file that was not checked before
	})
	refusal := &Refusal{Reason: "the change would fail go vet:", Diagnostics: withSource(fresh, c.after), Remedy: "Nothing was changed."}
	if c.bodyFile != "" {
		refusal.Remedy += " Correct the body and retry."
	}
	return refusal.orNil()
}
