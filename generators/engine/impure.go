package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/typecheck"
)

// purity looks at how the features of a view apply their commands: all of them, or if changed is not nil, those that
// have to do with files in these folders.
func (e *Engine) purity(ctx context.Context, view *typecheck.View, changed []string) (typecheck.PurityReport, error) {
	var dirs []string
	for _, place := range derive.Places(view) {
		if place.Kind == derive.Feature && (changed == nil || e.reaches(view, place.Dir, changed, map[string]bool{})) {
			dirs = append(dirs, place.Dir)
		}
	}
	if len(dirs) > 0 {
		e.step("looking at how commands are applied")
	}
	return typecheck.PurityCheck{Core: e.deriver.Core, Checker: e.checker}.Find(ctx, view, dirs)
}

// reaches reports whether the package in a folder is in one of others, or imports one, directly or not. Nothing is followed
// into core.
func (e *Engine) reaches(view *typecheck.View, dir string, others []string, seen map[string]bool) bool {
	if seen[dir] || dir == "core" || strings.HasPrefix(dir, "core/") {
		return false
	}
	seen[dir] = true
	if slices.Contains(others, dir) {
		return true
	}
	for _, file := range view.Files(dir) {
		for _, i := range file.Imports() {
			inside, ours := strings.CutPrefix(i.Path, e.checker.Module().Path+"/")
			if ours && !file.IsTest() && !file.IsDerived() && e.reaches(view, inside, others, seen) {
				return true
			}
		}
	}
	return false
}

// verifyPure refuses a plan that makes the application of commands non-deterministic, so that replaying
// the event log might give another state.
func (e *Engine) verifyPure(ctx context.Context, p *plan) error {
	after, err := e.purity(ctx, p.after, p.dirs())
	p.warnings = slices.DeleteFunc(after.Warnings, func(d typecheck.Diagnostic) bool { return p.texts[d.File] == nil })
	if err != nil || len(after.Impure) == 0 {
		return err
	}
	before, err := e.purity(ctx, e.before, p.dirs())
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(after.Impure, func(d typecheck.Diagnostic) bool {
		return slices.ContainsFunc(before.Impure, func(old typecheck.Diagnostic) bool { return old.File == d.File && old.Message == d.Message })
	})
	if len(fresh) == 0 {
		return nil
	}
	return &Refusal{
		Reason:      "the state would not be the same when the log is read again:",
		Diagnostics: around(fresh, p.texts),
		Declares:    p.declares(fresh),
		WayOut:      "Nothing was changed. A function that does no harm may say so in its doc comment: //petrock:pure and the reason.",
	}
}

// reportPurity adds the findings about all features to a result.
func (e *Engine) reportPurity(ctx context.Context, r *Result, view *typecheck.View) error {
	report, err := e.purity(ctx, view, nil)
	if err != nil {
		return err
	}
	r.Impure = report.Impure
	r.Warnings = append(r.Warnings, report.Warnings...)
	return nil
}

// Impurities says what would make another state of the log when it is read again, empty if nothing is known to.
func (r *Result) Impurities() string {
	var out strings.Builder
	for _, d := range r.Impure {
		fmt.Fprintf(&out, "%s\n", d)
	}
	return out.String()
}
