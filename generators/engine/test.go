package engine

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// TestOptions configure [Engine.Test].
type TestOptions struct {
	Packages []string // folders or import paths, which may end in /...; default all except petrock's
	Run      string   // a regular expression that selects tests by name

	Timeout time.Duration // for each package; default the limit of examples
}

// A TestResult is the result of tests.
type TestResult struct {
	OK          bool                   `json:"ok"`                    // Whether all tests passed
	Packages    int                    `json:"packages"`              // Number of packages with tests
	Passed      int                    `json:"passed"`                // Number of tests that passed; a test with subtests counts as its subtests
	Failed      int                    `json:"failed"`                // Number of tests that failed
	Skipped     int                    `json:"skipped"`               // Number of tests that were skipped
	Failures    []trial.TestFailure    `json:"failures"`              // Tests that failed
	Diagnostics []typecheck.Diagnostic `json:"diagnostics,omitempty"` // Errors of packages that do not compile, or of go vet
	LeftOut     string                 `json:"leftOut,omitempty"`     // What the short form leaves out
}

// Test runs tests of the project as it is on disk. The tests are the user's own code: they are not confined.
// Time and output of each package have the limits of examples.
func (e *Engine) Test(ctx context.Context, o TestOptions) (*TestResult, error) {
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	dirs, err := e.findPackages(o.Packages)
	if err != nil {
		return nil, err
	}
	limits := e.Limits
	limits.Time = cmp.Or(o.Timeout, limits.Time)
	result, err := e.runTests(ctx, e.before, nil, dirs, o.Run, limits)
	if err != nil {
		return nil, err
	}
	if o.Run != "" && result.OK && result.Passed+result.Skipped == 0 {
		return nil, terminal.Usagef("run %q matches no test in %s", o.Run, joinFew(dirs))
	}
	return result, nil
}

// findPackages returns the folders that patterns name. Without patterns, it returns the folders with tests,
// except petrock's.
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

func isPetrockPath(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return slices.Contains(PetrockFolders(), first)
}

func hasTests(view *typecheck.View, dir string) bool {
	return slices.ContainsFunc(view.Files(dir), (*typecheck.File).IsTest)
}

// runTests runs tests of packages with planned files, which are part of view.
func (e *Engine) runTests(ctx context.Context, view *typecheck.View, planned map[string][]byte, dirs []string, run string, limits trial.Limits) (*TestResult, error) {
	result := &TestResult{OK: true, Failures: []trial.TestFailure{}}
	if len(dirs) == 0 {
		return result, nil
	}
	byImportPath := map[string]string{}
	for _, dir := range dirs {
		byImportPath[e.checker.ImportPath(dir)] = dir
	}
	options := trial.Options{Root: e.project.Root, Flags: e.system.Flags, Planned: planned, Step: e.step}
	summary, err := trial.Packages(ctx, options, byImportPath, run, limits)
	if err != nil {
		return nil, err
	}
	result.Packages, result.Passed, result.Skipped, result.Failed = summary.Packages, summary.Passed, summary.Skipped, len(summary.Failures)
	result.Failures = append(result.Failures, summary.Failures...)
	for i, f := range result.Failures {
		if f.File != "" && view.File(f.File) == nil { // of a helper in another package
			result.Failures[i].File, result.Failures[i].Line = "", 0
			result.Failures[i].Message = fmt.Sprintf("%s:%d: %s", path.Base(f.File), f.Line, f.Message)
		}
	}
	vetted, _, err := e.checker.Vet(ctx, view, dirs) // in process, which is quicker than go test
	if err != nil {
		return nil, err
	}
	result.Diagnostics = withSource(append(summary.Diagnostics, vetted...), view)
	result.OK = len(result.Failures)+len(result.Diagnostics) == 0
	return result, nil
}

// Short returns the short form of the result.
func (r *TestResult) Short(most int) any {
	c := &Cutter{Most: most}
	s := r.short(c)
	s.LeftOut = c.LeftOut()
	return s
}

func (r *TestResult) short(c *Cutter) *TestResult {
	s := *r
	s.Failures = c.tests(r.Failures)
	s.Diagnostics = c.Diagnostics(r.Diagnostics, "error")
	return &s
}

// tests returns the first failures, with shortened texts.
func (c *Cutter) tests(list []trial.TestFailure) []trial.TestFailure {
	list = slices.Clone(Cut(c, list, "failed test"))
	for i, f := range list {
		list[i].Message, list[i].Output = c.Text(f.Message), c.Text(f.Output)
	}
	return list
}

// String formats the result as text.
func (r *TestResult) String() string {
	text := fmt.Sprintf("%d passed", r.Passed)
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	if r.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", r.Skipped)
	}
	text += " in " + count(r.Packages, "package")
	switch {
	case r.OK && r.Packages == 0:
		return "There are no tests.\n"
	case r.OK:
		return "All tests passed: " + text + ".\n"
	case r.Failed == 0:
		text = "Some packages do not compile, or fail go vet. Tests of the others: " + text + "."
	default:
		text = "Tests failed: " + text + "."
	}
	failed := &Refusal{Reason: text, Diagnostics: r.Diagnostics, Tests: r.Failures, Remedy: r.LeftOut}
	return failed.Error() + "\n"
}

// testPlan runs the tests of the packages that a plan changes, and of those that import them, with the
// planned files. It refuses the plan if tests fail that pass without it.
func (e *Engine) testPlan(ctx context.Context, p *plan) error {
	dirs := e.packagesToTest(p)
	after, err := e.runTests(ctx, p.after, p.texts, dirs, "", e.Limits)
	if err != nil {
		return err
	}
	p.tests = after
	if after.OK {
		return nil
	}
	var failing []string // packages that fail and existed before
	for _, dir := range dirs {
		failed := slices.ContainsFunc(after.Failures, func(f trial.TestFailure) bool { return f.Package == dir })
		if (failed || len(after.Diagnostics) > 0) && len(e.before.Files(dir)) > 0 {
			failing = append(failing, dir)
		}
	}
	before, err := e.runTests(ctx, e.before, nil, failing, "", e.Limits)
	if err != nil {
		return err
	}
	refusal := &Refusal{Reason: "tests would fail:", Remedy: "Nothing was changed. Correct the change or the tests and retry."}
	refusal.Diagnostics = withoutExisting(slices.Clone(after.Diagnostics), before.Diagnostics)
	refusal.Tests = slices.DeleteFunc(slices.Clone(after.Failures), func(f trial.TestFailure) bool {
		return slices.ContainsFunc(before.Failures, func(old trial.TestFailure) bool { return old.Package == f.Package && old.Test == f.Test })
	})
	return refusal.orNil()
}

// packagesToTest returns the folders with tests of changed packages and their importers.
func (e *Engine) packagesToTest(p *plan) []string {
	var dirs []string
	for _, f := range p.files {
		if isPetrockPath(f.Path) {
			continue
		}
		dir := path.Dir(f.Path)
		for len(p.after.Files(dir)) == 0 && len(e.before.Files(dir)) == 0 && dir != "." {
			dir = path.Dir(dir) // a file in testdata belongs to the package above it
		}
		dirs = append(dirs, e.checker.Importers(p.after, dir)...)
	}
	slices.Sort(dirs)
	return slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool { return isPetrockPath(dir) || !hasTests(p.after, dir) })
}
