package engine

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// vet runs the checks of go vet that go test runs, on the packages whose code a generator, an edit or a change
// writes, and refuses the plan if they find something new.
func (e *Engine) vet(ctx context.Context, p *plan) error {
	if !slices.Contains([]string{actionGenerate, actionEdit, actionChange}, p.action) {
		return nil
	}
	dirs := map[string]bool{}
	for file, text := range p.texts {
		if text != nil && !p.recomputed[file] && !isPetrockPath(file) && p.after.File(file) != nil {
			dirs[path.Dir(file)] = true
		}
	}
	changed := slices.Sorted(maps.Keys(dirs))
	after, _, err := e.checker.Vet(ctx, p.after, changed)
	if err != nil || len(after) == 0 {
		return err
	}
	before, broken, err := e.checker.Vet(ctx, e.before, changed)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(withoutExisting(after, before), func(d typecheck.Diagnostic) bool {
		return !p.plans(d.File) && slices.Contains(broken, path.Dir(d.File)) // a file that was not checked before
	})
	if len(fresh) == 0 {
		return nil
	}
	refusal := &Refusal{Reason: "the change would fail go vet, which go test runs:", Diagnostics: e.withLines(fresh, p), Remedy: "Nothing was changed."}
	if p.bodyFile != "" {
		refusal.Remedy += " Correct the body and retry."
	}
	return refusal
}

func isVetFinding(d typecheck.Diagnostic) bool {
	return strings.HasPrefix(d.Message, typecheck.VetMark)
}
