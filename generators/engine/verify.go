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
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

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

// declares returns the declarations of the file with the caller's body, without function bodies, to show
// the names that the body can use. It is empty if no diagnostic is about that file.
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

// checkPurity checks that replay of features is deterministic. If changed is not nil, it checks only
// features that depend on packages in these folders, except core.
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

func (e *Engine) verifyPure(ctx context.Context, p *plan) error {
	after, err := e.checkPurity(ctx, p.after, p.dirs())
	isOther := func(d typecheck.Diagnostic) bool { return p.texts[d.File] == nil }
	p.warnings = append(p.warnings, slices.DeleteFunc(after.Warnings, isOther)...)
	if err != nil || len(after.Impure) == 0 {
		return err
	}
	before, err := e.checkPurity(ctx, e.before, p.dirs())
	if err != nil {
		return err
	}
	fresh := withoutExisting(after.Impure, before.Impure)
	refusal := &Refusal{
		Reason:      "replaying the event log would be non-deterministic:",
		Diagnostics: withSource(fresh, p.after),
		Declares:    p.declares(fresh),
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

// unreadPackages returns the packages that exist but are not read: symbolic links and nested modules. If they
// were treated as missing, their components would be unregistered.
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

// vet runs the checks of go vet on the packages whose code a plan writes, and refuses the plan if they find
// something new.
func (e *Engine) vet(ctx context.Context, p *plan) error {
	dirs := map[string]bool{}
	for file, text := range p.texts {
		if text != nil && !p.recomputed[file] && !isPetrockPath(file) && p.after.File(file) != nil {
			dirs[path.Dir(file)] = true
		}
	}
	changed := slices.Sorted(maps.Keys(dirs))
	after, _, err := e.checker.VetAll(ctx, p.after, changed)
	if err != nil || len(after) == 0 {
		return err
	}
	before, broken, err := e.checker.VetAll(ctx, e.before, changed)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(withoutExisting(after, before), func(d typecheck.Diagnostic) bool {
		return !p.plans(d.File) && slices.Contains(broken, path.Dir(d.File)) // a file that was not checked before
	})
	refusal := &Refusal{Reason: "the change would fail go vet:", Diagnostics: withSource(fresh, p.after), Remedy: "Nothing was changed."}
	if p.bodyFile != "" {
		refusal.Remedy += " Correct the body and retry."
	}
	return refusal.orNil()
}
