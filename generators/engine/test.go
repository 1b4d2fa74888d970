package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/benchmark/parse"
	"golang.org/x/tools/cover"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// TestOptions configure [Engine.Test]. Packages are folders or import paths, which may end in /...,
// or files or components, whose packages are tested; the default is all except petrock's. Run and
// Bench are regular expressions.
type TestOptions struct {
	Packages []string      `json:"packages,omitempty"` // Folders, files, components; default all
	Run      string        `json:"run,omitempty"`      // Test name pattern
	Coverage bool          `json:"coverage,omitempty"` // With packages: missed lines
	Bench    string        `json:"bench,omitempty"`    // Pattern
	Race     bool          `json:"race,omitempty"`
	Count    int           `json:"count,omitempty"`
	Timeout  time.Duration `json:"-"` // For each package; default the limit of examples, longer with Race, Bench and Count
}

// Test runs tests of the project as it is on disk. The tests are the user's own code: they are not
// confined. The time of each package is limited, and so is its output, to 1 MiB.
func (e *Engine) Test(ctx context.Context, o TestOptions) (*TestResult, error) {
	if err := e.read(ctx, false); err != nil {
		return nil, err
	}
	patterns := o.Packages
	if o.Coverage && len(patterns) == 0 {
		patterns = []string{"./..."} // packages without tests count
	}
	dirs, asked, err := e.findPackages(ctx, patterns)
	if err != nil {
		return nil, err
	}
	selected := trial.Selection{Run: o.Run, Cover: o.Coverage}
	limits := e.Limits
	if limits.Time, err = e.configure(&selected, o); err != nil {
		return nil, err
	}
	result, summary, err := e.runTests(ctx, e.before, nil, dirs, selected, limits)
	if err != nil {
		return nil, err
	}
	for i, f := range result.Failures {
		if f.TimedOut {
			result.Failures[i].Message += "; set " + e.option("timeout") + " to allow more"
		}
	}
	if o.Coverage {
		result.Coverage = e.newCoverage(summary.Profiles, asked, len(o.Packages) > 0)
	}
	if result.Benchmarks, err = e.compareBenchmarks(summary.Benchmarks); err != nil {
		return nil, err
	}
	vetted, _, err := e.checker.Vet(ctx, e.before, dirs) // in process, which is quicker than go test
	if err != nil {
		return nil, err
	}
	result.Diagnostics = append(result.Diagnostics, withSource(vetted, e.before)...)
	result.OK = result.OK && len(vetted) == 0
	if pattern := o.Run + o.Bench; pattern != "" && result.OK && result.Passed+result.Skipped+len(result.Benchmarks) == 0 {
		return nil, terminal.Usagef("%q matches no test or benchmark in %s", pattern, joinFew(dirs))
	}
	return result, nil
}

// configure sets the flags of go test for options, and returns the time limit of each package.
func (e *Engine) configure(s *trial.Selection, o TestOptions) (time.Duration, error) {
	limit := cmp.Or(e.Limits.Time, trial.DefaultTime) * time.Duration(max(o.Count, 1))
	switch {
	case o.Bench != "" && (o.Race || o.Coverage):
		return 0, terminal.Usagef("bench cannot be combined with race or coverage, which slow the code; run them one after the other")
	case o.Race && !e.system.Context().CgoEnabled && runtime.GOOS != "darwin":
		return 0, errors.New("test with race: the race detector needs cgo; install a C compiler such as gcc or clang and do not set CGO_ENABLED=0, or test without race")
	case o.Race:
		s.Flags, limit = append(s.Flags, "-race"), 6*limit
	case o.Bench != "":
		s.Flags, s.Run, limit = append(s.Flags, "-benchmem", "-bench="+o.Bench), cmp.Or(o.Run, "^$"), 30*limit
	}
	if o.Count > 0 {
		s.Flags = append(s.Flags, "-count="+strconv.Itoa(o.Count))
	}
	return cmp.Or(o.Timeout, limit), nil
}

// findPackages returns the folders that patterns name, and what they ask about: these folders, a
// named file, or the file of a named component. Without patterns, it returns the folders with
// tests, except petrock's.
func (e *Engine) findPackages(ctx context.Context, patterns []string) (dirs, asked []string, err error) {
	if len(patterns) == 0 {
		return slices.DeleteFunc(e.before.Dirs(), func(dir string) bool { return isPetrockPath(dir) || !hasTests(e.before, dir) }), nil, nil
	}
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
		asked = append(asked, found...)
		if len(found) == 0 {
			file := e.before.File(e.pathInProject(name))
			if c, _, err := e.onDisk().lookUp(ctx, "", pattern); file == nil && err == nil {
				file = e.before.File(c.File)
			}
			if file == nil {
				tested, _, _ := e.findPackages(ctx, nil) // without patterns, it does not fail
				return nil, nil, terminal.Usagef("package, file or component %q does not exist; %s", pattern, terminal.DidYouMean(pattern, tested, "the folders with tests are "+cmp.Or(joinFew(tested), "none")))
			}
			found, asked = []string{file.Dir()}, append(asked, file.Path)
		}
		dirs = append(dirs, found...)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), asked, nil
}

func hasTests(view *typecheck.View, dir string) bool {
	return slices.ContainsFunc(view.Files(dir), (*typecheck.File).IsTest)
}

// runTests runs the selected tests of packages with planned files, which are part of view. It also
// returns what the result leaves out.
func (e *Engine) runTests(ctx context.Context, view *typecheck.View, planned map[string][]byte, dirs []string, selected trial.Selection, limits trial.Limits) (*TestResult, *trial.Summary, error) {
	result := &TestResult{OK: true, Failures: []trial.TestFailure{}}
	if len(dirs) == 0 {
		return result, &trial.Summary{}, nil
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
		result.Failures[i].Source, result.Failures[i].Output = sourceLine(view, f.File, f.Line), e.withLines(f.Output, view)
	}
	result.Diagnostics = withSource(summary.Diagnostics, view)
	result.OK = len(result.Failures)+len(result.Diagnostics)+len(result.NotRun) == 0
	return result, summary, nil
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
	after, summary, err := e.runTests(ctx, c.after, c.texts, dirs, selected, e.Limits)
	if err != nil {
		return err
	}
	if examples := summary.Examples; examples != nil {
		examples.Printed = e.withLines(examples.Printed, c.after)
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
	case c.action == actionChange && c.bodyFile != "":
		return fmt.Sprintf("Nothing was changed. Correct the body, or what these tests expect, in the same operation (%s). Tests have samples of fields that have another type now, unless the old values fit.", edit)
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

// A Coverage is how many of the statements of packages, a package or a file ran in the tests of
// their package. Derived files are not counted.
type Coverage struct {
	Name      string      `json:"name,omitempty"`      // Folder or file; empty for the total
	Percent   float64     `json:"percent"`             // Rounded down to one decimal
	Parts     []*Coverage `json:"parts,omitempty"`     // Of the total
	Uncovered []string    `json:"uncovered,omitempty"` // Lines that did not run, with their function, if they were asked for

	ran, all int
}

// String formats the coverage as text.
func (c *Coverage) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %.1f%%\n", cmp.Or(c.Name, "Coverage:"), c.Percent)
	writeLines(&out, "  not covered: ", c.Uncovered)
	for _, part := range c.Parts {
		fmt.Fprint(&out, part)
	}
	return out.String()
}

func (c *Coverage) add(block cover.ProfileBlock) {
	c.all += block.NumStmt
	c.ran += block.NumStmt * min(block.Count, 1)
	c.Percent = float64(1000*c.ran/max(c.all, 1)) / 10
}

// newCoverage returns the coverage of folders and files. If listed, it has the lines that did not
// run.
func (e *Engine) newCoverage(profiles []*cover.Profile, asked []string, listed bool) *Coverage {
	total := &Coverage{}
	for _, p := range profiles {
		file := e.before.File(strings.TrimPrefix(p.FileName, e.checker.Module().Path+"/"))
		if file == nil || file.IsDerived() || file.Dir() == ownPetrock {
			continue
		}
		name := file.Dir()
		if slices.Contains(asked, file.Path) {
			name = file.Path
		} else if !slices.Contains(asked, name) {
			continue
		}
		at := slices.IndexFunc(total.Parts, func(c *Coverage) bool { return c.Name == name })
		if at < 0 {
			at, total.Parts = len(total.Parts), append(total.Parts, &Coverage{Name: name})
		}
		for _, block := range p.Blocks {
			total.add(block)
			total.Parts[at].add(block)
		}
		if listed {
			total.Parts[at].Uncovered = append(total.Parts[at].Uncovered, uncovered(e.before, file, p.Blocks)...)
		}
	}
	return total
}

// uncovered returns the lines of a file on which no statement ran, as tools/add.go:3-5 Add.
func uncovered(view *typecheck.View, file *typecheck.File, blocks []cover.ProfileBlock) (all []string) {
	text, isMissed := strings.Split(string(file.Text), "\n"), map[int]bool{}
	for _, ran := range []bool{false, true} {
		for _, b := range blocks {
			for line := b.StartLine; line <= b.EndLine && line <= len(text) && ran == (b.Count > 0); line++ {
				code := text[line-1]
				if line == b.StartLine {
					code = code[min(b.StartCol-1, len(code)):]
				}
				isMissed[line] = !ran && (strings.Trim(code, "\t {})") != "" || line < b.EndLine && isMissed[line-1])
			}
		}
	}
	start := view.Fset().File(file.Syntax.FileStart).LineStart
	for first := 1; first <= len(text); first++ {
		if !isMissed[first] {
			continue
		}
		function := typecheck.Enclosing[*ast.FuncDecl](file, start(first))
		last, name := first, ""
		for isMissed[last+1] && typecheck.Enclosing[*ast.FuncDecl](file, start(last+1)) == function {
			last++
		}
		if function != nil {
			name = " " + declarationName(function)
		}
		all = append(all, fmt.Sprintf("%s:%d-%d%s", file.Path, first, last, name))
		first = last
	}
	return all
}

// benchFile has the last run of each benchmark, by name.
const benchFile = ".petrock/bench.json"

// A Benchmark is what an operation of a benchmark takes: of several runs, of that with the median
// time.
type Benchmark struct {
	Name   string     `json:"name"` // Folder of the package, a space, and the name with the number of CPUs
	Time   float64    `json:"nsPerOp"`
	Bytes  uint64     `json:"bytesPerOp"`
	Allocs uint64     `json:"allocsPerOp"`
	Change float64    `json:"change,omitempty"` // Of the time since the last run, in percent
	Last   *Benchmark `json:"last,omitempty"`   // The last run, if there was one
}

// String formats the benchmark in one line.
func (b Benchmark) String() string {
	text := fmt.Sprintf("%s: %s ns/op, %d B/op, %d allocs/op", b.Name, strconv.FormatFloat(b.Time, 'f', -1, 64), b.Bytes, b.Allocs)
	if b.Last != nil {
		text += fmt.Sprintf(" (time %+.1f%%, last %s)", b.Change, strings.TrimPrefix(b.Last.String(), b.Name+": "))
	}
	return text
}

// compareBenchmarks compares runs of benchmarks with their last ones, and saves them for the next.
func (e *Engine) compareBenchmarks(runs []*parse.Benchmark) (all []Benchmark, err error) {
	saved, byName := map[string]Benchmark{}, map[string][]*parse.Benchmark{}
	if text, err := e.root.ReadFile(benchFile); err == nil {
		_ = json.Unmarshal(text, &saved) // without it, nothing is compared
	}
	for _, r := range runs {
		byName[r.Name] = append(byName[r.Name], r)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		slices.SortFunc(byName[name], func(a, b *parse.Benchmark) int { return cmp.Compare(a.NsPerOp, b.NsPerOp) })
		median := byName[name][len(byName[name])/2]
		b := Benchmark{Name: name, Time: median.NsPerOp, Bytes: median.AllocedBytesPerOp, Allocs: median.AllocsPerOp}
		last, known := saved[name]
		saved[name] = b
		if known {
			b.Change, b.Last = 100*(b.Time/last.Time-1), &last
		}
		all = append(all, b)
	}
	text, err := json.Marshal(saved)
	if err == nil && len(all) > 0 {
		err = e.save(benchFile, text)
	}
	return all, err
}
