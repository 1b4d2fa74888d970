package engine

import (
	"context"
	"slices"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/typecheck"
)

// verifyPure refuses code that makes replay non-deterministic.
func (e *Engine) verifyPure(ctx context.Context, c *verified) error {
	if !c.checkPure {
		return nil
	}
	after, err := e.checkPurity(ctx, c.after, c.dirs())
	isOther := func(d typecheck.Diagnostic) bool { return c.texts[d.File] == nil }
	c.result.Warnings = append(c.result.Warnings, slices.DeleteFunc(after.Warnings, isOther)...)
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

func (e *Engine) reportPurity(ctx context.Context, r *Result, view *typecheck.View) error {
	report, err := e.checkPurity(ctx, view, nil)
	if err != nil {
		return err
	}
	r.Impure = report.Impure
	r.Warnings = append(r.Warnings, report.Warnings...)
	return nil
}
