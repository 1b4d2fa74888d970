package engine

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// TestOptions configure [Engine.Test].
type TestOptions struct {
	Packages []string // folders or import paths, which may end in /...; default all except petrock's
	Run      string   // a regular expression that selects tests by name

	Timeout time.Duration // for each package; default the limit of examples
}

// Test runs tests of the project as it is on disk. The tests are the user's own code: they are not
// confined. The time of each package is limited, and so is its output, to 1 MiB.
func (e *Engine) Test(ctx context.Context, o TestOptions) (*TestResult, error) {
	if err := e.read(ctx, false); err != nil {
		return nil, err
	}
	dirs, err := e.findPackages(o.Packages)
	if err != nil {
		return nil, err
	}
	limits := e.Limits
	limits.Time = cmp.Or(o.Timeout, limits.Time)
	result, _, err := e.runTests(ctx, e.before, nil, dirs, trial.Selection{Run: o.Run}, limits)
	if err != nil {
		return nil, err
	}
	vetted, _, err := e.checker.Vet(ctx, e.before, dirs) // in process, which is quicker than go test
	if err != nil {
		return nil, err
	}
	result.Diagnostics = append(result.Diagnostics, withSource(vetted, e.before)...)
	result.OK = result.OK && len(vetted) == 0
	if o.Run != "" && result.OK && result.Passed+result.Skipped == 0 {
		return nil, terminal.Usagef("run %q matches no test in %s", o.Run, joinFew(dirs))
	}
	return result, nil
}

// findPackages returns the folders that patterns name. Without patterns, it returns the folders
// with tests, except petrock's.
func (e *Engine) findPackages(patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return slices.DeleteFunc(e.before.Dirs(), func(dir string) bool { return isPetrockPath(dir) || !hasTests(e.before, dir) }), nil
	}
	var dirs []string
	for _, pattern := range patterns {
		name, below := strings.CutSuffix(strings.ReplaceAll(pattern, `\`, "/"), "...")
		name = path.Clean(name)
		if inside, ok := strings.CutPrefix(name+"/", e.checker.Module().Path+"/"); ok {
			name = path.Clean(inside)
		}
		found := slices.DeleteFunc(e.before.Dirs(), func(dir string) bool {
			isBelow := below && !(name == "." && isPetrockPath(dir)) && (name == "." || strings.HasPrefix(dir, name+"/"))
			return dir != name && !isBelow
		})
		if len(found) == 0 {
			tested, _ := e.findPackages(nil) // without patterns, it does not fail
			return nil, terminal.Usagef("package %q does not exist; the folders with tests are %s", pattern, cmp.Or(joinFew(tested), "none"))
		}
		dirs = append(dirs, found...)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

func hasTests(view *typecheck.View, dir string) bool {
	return slices.ContainsFunc(view.Files(dir), (*typecheck.File).IsTest)
}

// runTests runs the selected tests of packages with planned files, which are part of view. It also
// returns the report of the examples.
func (e *Engine) runTests(ctx context.Context, view *typecheck.View, planned map[string][]byte, dirs []string, selected trial.Selection, limits trial.Limits) (*TestResult, *trial.Report, error) {
	result := &TestResult{OK: true, Failures: []trial.TestFailure{}}
	if len(dirs) == 0 {
		return result, nil, nil
	}
	selected.Dirs = map[string]string{}
	for _, dir := range dirs {
		selected.Dirs[e.checker.ImportPath(dir)] = dir
	}
	options := trial.Options{Root: e.project.Root, Flags: e.system.Flags, Planned: planned, Step: e.step}
	summary, err := trial.Packages(ctx, options, selected, limits)
	if err != nil {
		return nil, nil, err
	}
	result.Packages, result.Passed, result.Skipped, result.Failed = summary.Packages, summary.Passed, summary.Skipped, len(summary.Failures)
	result.NotRun, result.Why = summary.NotRun, summary.Killed
	result.Failures = append(result.Failures, summary.Failures...)
	for i, f := range result.Failures {
		if f.File != "" && view.File(f.File) == nil { // of a helper in another package
			result.Failures[i].File, result.Failures[i].Line = "", 0
			result.Failures[i].Message = fmt.Sprintf("%s:%d: %s", path.Base(f.File), f.Line, f.Message)
		}
	}
	result.Diagnostics = withSource(summary.Diagnostics, view)
	result.OK = len(result.Failures)+len(result.Diagnostics)+len(result.NotRun) == 0
	return result, summary.Examples, nil
}

// laterTime limits the tests of a plan, all together, once the packages that are tested first have
// ended.
const laterTime = time.Minute

// runPlannedTests runs the examples of a plan, and the tests of the packages that it changes and of
// those that import them, with the planned files. It refuses the plan if an example fails, or a
// test that passes without the plan. It does nothing for plans that need no tests.
func (e *Engine) runPlannedTests(ctx context.Context, c *verified) error {
	if !c.Test && !c.needsTests() {
		return nil
	}
	dirs, first := e.packagesToTest(c)
	selected := trial.Selection{First: first, LaterTime: laterTime}
	if c.trial.Test != "" {
		selected.Examples = trial.Examples{Dir: c.dir, Test: c.trial.Test}
	}
	if c.NoExec {
		if len(dirs) > 0 {
			c.result.Tests = &TestResult{NotRun: dirs, Why: "running code of the project is disabled (--no-exec)"}
		}
		if c.trial.Test != "" {
			c.result.Trial = &Trial{Passed: []string{}}
		}
		return nil
	}
	after, examples, err := e.runTests(ctx, c.after, c.texts, dirs, selected, e.Limits)
	if err != nil {
		return err
	}
	if examples != nil {
		if !examples.Passed {
			return c.trialRefusal(examples)
		}
		c.result.Trial = c.newTrial(examples)
	}
	if c.result.Tests = after; len(after.Failures)+len(after.Diagnostics) == 0 {
		if after.Packages == 0 && c.action != actionEdit {
			c.result.Tests = nil // examples are not counted
		}
		return nil
	}
	return e.refuseNewFailures(ctx, c, dirs)
}

// needsTests reports whether a plan changes what code does, so that tests decide whether to write
// it.
func (p *plan) needsTests() bool {
	return p.trial.Test != "" || p.action == actionChange || p.action == actionDestroy || p.action == actionGenerate && p.bodyFile != ""
}

// refuseNewFailures runs the failed tests of a plan without it, and refuses the plan if they pass.
func (e *Engine) refuseNewFailures(ctx context.Context, c *verified, dirs []string) error {
	after := c.result.Tests
	var failing []string // packages that fail and existed before
	for _, dir := range dirs {
		failed := slices.ContainsFunc(after.Failures, func(f trial.TestFailure) bool { return f.Package == dir })
		if (failed || len(after.Diagnostics) > 0) && hasTests(e.before, dir) {
			failing = append(failing, dir)
		}
	}
	before, _, err := e.runTests(ctx, e.before, nil, failing, trial.Selection{}, e.Limits)
	if err != nil {
		return err
	}
	isOlder := func(f trial.TestFailure) bool {
		name, rest, _ := strings.Cut(f.Test, "/")
		name = strings.TrimSuffix(cmp.Or(c.oldNames[name], name)+"/"+rest, "/")
		return slices.Contains(before.NotRun, f.Package) || slices.ContainsFunc(before.Failures, func(old trial.TestFailure) bool {
			return old.Package == f.Package && (old.Test == name || old.Exceeded && f.Exceeded)
		})
	}
	refusal := &Refusal{Reason: "tests would fail:", Remedy: e.testRemedy(c)}
	refusal.Diagnostics = withoutExisting(slices.Clone(after.Diagnostics), before.Diagnostics)
	refusal.Tests = slices.DeleteFunc(slices.Clone(after.Failures), isOlder)
	after.Older = true // unless the plan is refused
	return refusal.orNil()
}

// testRemedy advises on tests that fail with a plan, and pass without it.
func (e *Engine) testRemedy(c *verified) string {
	edit := e.Call("edit")
	switch {
	case c.action == actionEdit:
		return "Nothing was changed. Correct the change or the tests and retry."
	case c.action == actionDestroy:
		return fmt.Sprintf("Nothing was changed. Remove from these tests what needs %s %s (%s), and retry.", c.kind, c.name, edit)
	case c.bodyFile != "":
		return fmt.Sprintf("Nothing was changed. Correct %s. If a test expects the old behavior, change it first (%s).", c.correctable("the body"), edit)
	case c.action == actionChange:
		return fmt.Sprintf("Nothing was changed. If these tests expect the old %s, change it and the tests in one operation (%s).", c.kind, edit)
	}
	return fmt.Sprintf("Nothing was changed. If a test expects that %s %s does not exist, change it first (%s).", c.kind, c.name, edit)
}

// packagesToTest returns the folders with tests of packages that a plan changes and of those that
// import them, without petrock's. The first are to be tested first: the package of the component,
// or all that an edit changes.
func (e *Engine) packagesToTest(c *verified) (all, first []string) {
	var changed []string
	for _, f := range c.files {
		if isPetrockPath(f.Path) {
			continue
		}
		dir := path.Dir(f.Path)
		for len(c.after.Files(dir)) == 0 && len(e.before.Files(dir)) == 0 && dir != "." {
			dir = path.Dir(dir) // a file in testdata belongs to the package above it
		}
		changed = append(changed, dir)
	}
	all = slices.DeleteFunc(e.checker.Importers(c.after, changed...), func(dir string) bool {
		return isPetrockPath(dir) || dir == ownPetrock || !hasTests(c.after, dir)
	})
	for _, dir := range all {
		if dir == c.dir || c.dir == "" && slices.Contains(changed, dir) {
			first = append(first, dir)
		}
	}
	return all, first
}

// ownPetrock is the folder of the project's own petrock. Its test compares derived files on disk.
const ownPetrock = "cmd/petrock"

// newTrial returns the result of examples that passed.
func (p *plan) newTrial(report *trial.Report) *Trial {
	tried := &Trial{Ran: true, Passed: []string{}, Printed: report.Printed, Confined: report.IsConfined(), Unenforced: report.Unenforced}
	for _, c := range report.Cases {
		tried.Passed = append(tried.Passed, p.example(c).Name)
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
	if report.IsConfined() {
		refusal.Remedy += " Examples may write only to their working directory and to temporary folders."
	}
	for _, c := range report.Cases {
		if c.Passed {
			continue
		}
		message := cmp.Or(strings.Join(c.Messages, "\n"), report.Ended)
		refusal.Failures = append(refusal.Failures, Failure{p.example(c), message})
	}
	if len(p.trial.Examples) > len(report.Cases) && report.Ended != "" {
		refusal.Remedy += " Later examples were not run."
	}
	if len(refusal.Failures) == 0 {
		refusal.Reason = cmp.Or(report.Ended, "the generated test failed")
	}
	return refusal
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
