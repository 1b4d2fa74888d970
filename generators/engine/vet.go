package engine

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// startVet starts the checks of go vet that go test runs, on the packages whose code a plan changes. The
// returned function waits for them, and refuses the plan if they find something new. The checks run while the
// examples are built, so that they take hardly any time.
func (e *Engine) startVet(ctx context.Context, p *plan, o Options) (wait func() error, stop func()) {
	dirs := e.dirsToVet(p, o)
	if len(dirs) == 0 {
		return func() error { return nil }, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	options := trial.Options{Root: e.project.Root, Flags: e.system.Flags, Planned: maps.Clone(p.texts)}
	var after []typecheck.Diagnostic
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		after, err = trial.Vet(ctx, options, dirs, o.NoExec)
	}()
	wait = func() error {
		<-done
		var before []typecheck.Diagnostic
		if existing := e.existingPackages(dirs); err == nil && len(after) > 0 && len(existing) > 0 {
			options.Planned = nil
			before, err = trial.Vet(ctx, options, existing, o.NoExec)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // such as a missing module
			p.warnings = append(p.warnings, typecheck.Diagnostic{Message: fmt.Sprintf("go vet could not check the change: %v", err)})
			return nil
		}
		return e.vetRefusal(p, withoutExisting(after, before))
	}
	return wait, func() { cancel(); <-done }
}

func (e *Engine) vetRefusal(p *plan, found []typecheck.Diagnostic) error {
	found = slices.DeleteFunc(found, func(d typecheck.Diagnostic) bool { return d.File == "" })
	if len(found) == 0 {
		return nil
	}
	refusal := &Refusal{Reason: wouldNotCompile, Diagnostics: e.withLines(found, p), Remedy: "Nothing was changed."}
	if !slices.ContainsFunc(found, func(d typecheck.Diagnostic) bool { return !trial.IsVet(d) }) {
		refusal.Reason = "the change would fail go vet, which go test runs:"
	}
	if p.bodyFile != "" {
		refusal.Remedy += " Correct the body and retry."
	}
	return refusal
}

// dirsToVet returns the folders of the packages whose code a generator, a change or an edit changes. It is
// empty if there is nothing to check: code that the generator itself wrote, without a body of the caller, or
// a saved plan that was checked in the dry run. Without permission to execute code, it is also empty if the
// project uses cgo.
func (e *Engine) dirsToVet(p *plan, o Options) []string {
	switch {
	case !slices.Contains([]string{actionGenerate, actionEdit, actionChange}, p.action),
		p.action == actionGenerate && p.bodyFile == "" && p.trial.Test == "",
		p.applying != nil && p.applying.Trial != nil && p.applying.Trial.Ran,
		o.NoExec && slices.ContainsFunc(p.after.All(), usesCgo):
		return nil
	}
	dirs := map[string]bool{}
	for file, text := range p.texts {
		dir := path.Dir(file)
		if text != nil && !p.recomputed[file] && !isPetrockPath(file) && p.after.File(file) != nil && p.after.Package(dir, nil) != nil {
			dirs[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

func (e *Engine) existingPackages(dirs []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return e.before.Package(dir, nil) == nil })
}

func usesCgo(file *typecheck.File) bool {
	return slices.ContainsFunc(file.Imports(), func(i typecheck.Import) bool { return i.Path == "C" })
}
