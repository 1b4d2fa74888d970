package trial

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/generators/typecheck"
)

// A Summary is the result of the tests of several packages.
type Summary struct {
	Packages    int                    // packages with tests
	Passed      int                    // tests that passed; a test with subtests counts as its subtests
	Skipped     int                    // tests that were skipped
	Failures    []TestFailure          // sorted by package
	Diagnostics []typecheck.Diagnostic // errors of packages that do not build or do not pass vet, see [typecheck.VetMark]
}

// A TestFailure is a test that failed.
type TestFailure struct {
	Package string `json:"package"`          // Folder of the package
	Test    string `json:"test,omitempty"`   // Name of the test or subtest; empty if the package failed outside of a test
	File    string `json:"file,omitempty"`   // File of the last message, or of the panic
	Line    int    `json:"line,omitempty"`   // Line in that file
	Message string `json:"message"`          // Messages of the test, or the reason that it ended
	Output  string `json:"output,omitempty"` // Other output of the test
}

// Packages runs go test for the packages in dirs, slash-separated folders by import path, with the planned
// files. run selects tests by name, as go test -run does; empty means all. The tests are not confined, and have
// the environment of this process. They run in the package's folder or, if files are planned, in a copy of
// it (see [SeesPlanned]). The time limit applies to each package. If a package exceeds a limit, all tests are
// killed. Failures of the code are in the summary.
func Packages(ctx context.Context, o Options, dirs map[string]string, run string, l Limits) (summary *Summary, err error) {
	l = l.withDefaults()
	b, err := newBuildDir(o, ".")
	if err != nil {
		return nil, err
	}
	defer func() { err = joinErrors(err, b.remove()) }()
	made, err := b.makeFolders(slices.Collect(maps.Values(dirs)))
	defer func() {
		for _, dir := range slices.Backward(made) {
			os.Remove(dir) // fails if it is in use
		}
	}()
	if err != nil {
		return nil, err
	}
	o.step(fmt.Sprintf("testing %d packages", len(dirs)))
	args := append([]string{"test", "-json", "-timeout=" + l.Time.String()}, o.Flags...)
	if len(o.Planned) > 0 {
		args = append(args, "-overlay="+b.overlayFile())
		if SeesPlanned() {
			script, err := b.mirror(o.Planned, slices.Collect(maps.Values(dirs)))
			if err != nil {
				return nil, fmt.Errorf("copy the project for tests: %w", err)
			}
			args = append(args, "-exec=sh '"+script+"'")
		}
	}
	if run != "" {
		args = append(args, "-run="+run)
	}
	for _, importPath := range slices.Sorted(maps.Keys(dirs)) {
		args = append(args, "./"+dirs[importPath])
	}
	whole := ctx
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &testEvents{
		limits: l, stop: stop, packages: map[string]*testedPackage{}, builds: map[string]string{},
		frame: regexp.MustCompile(`^ *(=== (RUN|PAUSE|CONT|NAME) |--- (PASS|FAIL|SKIP): |(FAIL|ok  |\?   )\t|(PASS|FAIL)\n|exit status )`),
	}
	var errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = b.root, append(cmd.Environ(), b.options(nil).Env...)
	cmd.Stdout, cmd.Stderr = out, &errOut
	typecheck.StartGroup(cmd)
	cmd.Cancel = func() error { typecheck.KillGroup(cmd); return nil }
	cmd.WaitDelay = drainTimeout
	err = cmd.Run()
	if cmd.Process != nil {
		typecheck.KillGroup(cmd) // processes that tests have left
	}
	limit, exceeded := errors.AsType[*limitError](context.Cause(ctx))
	switch _, failed := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil && !exceeded:
		return nil, context.Cause(ctx)
	case err != nil && !failed && !exceeded && !errors.Is(err, exec.ErrWaitDelay): // a child may hold the output open
		return nil, fmt.Errorf("run go test: %w", err)
	case failed && len(out.packages) == 0 && !exceeded:
		return nil, fmt.Errorf("run go test: %w\n%s", err, bytes.TrimSpace(errOut.Bytes()))
	}
	summary = out.summarize(b, dirs, limit)
	summary.Diagnostics, err = b.markVet(whole, o.Flags, slices.Sorted(maps.Values(dirs)), summary.Diagnostics)
	return summary, err
}

// A limitError means that a package exceeded a limit.
type limitError struct{ pkg, message string }

func (e *limitError) Error() string { return e.pkg + " " + e.message }

// testEvents collects the events that go test -json prints.
type testEvents struct {
	limits Limits
	stop   context.CancelCauseFunc
	frame  *regexp.Regexp // lines of the testing package or the go command, not of a test

	mu       sync.Mutex
	partial  []byte // a line that is not complete yet
	packages map[string]*testedPackage
	builds   map[string]string // output of failed builds, by package
}

// A testedPackage is the events of one package. The test "" is the package itself.
type testedPackage struct {
	result      string // pass, fail or skip; empty if it did not end
	failedBuild bool
	timer       *time.Timer
	printed     int // bytes
	tests       map[string]*testedTest
	order       []string // names of tests
}

type testedTest struct {
	result      string
	hasSubtests bool
	output      []byte // up to the limit
}

// Write implements [io.Writer] for the output of go test.
func (t *testEvents) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.partial = append(t.partial, text...)
	for {
		line, rest, whole := bytes.Cut(t.partial, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		t.read(line)
		t.partial = append(t.partial[:0], rest...)
	}
}

func (t *testEvents) read(line []byte) {
	var event struct{ Action, Package, Test, Output, ImportPath, FailedBuild string }
	if json.Unmarshal(line, &event) != nil {
		return // not an event
	}
	if event.Action == "build-output" {
		t.builds[event.ImportPath] += event.Output
		return
	}
	if event.Package == "" {
		return
	}
	pkg := t.packages[event.Package]
	if pkg == nil {
		pkg = &testedPackage{tests: map[string]*testedTest{}}
		t.packages[event.Package] = pkg
	}
	test := pkg.test(event.Test)
	switch event.Action {
	case "start":
		exceeded := &limitError{event.Package, "did not end within " + formatDuration(t.limits.Time)}
		pkg.timer = time.AfterFunc(t.limits.Time+timeoutMargin, func() { t.stop(exceeded) })
	case "output":
		if t.frame.MatchString(event.Output) {
			return
		}
		test.output = append(test.output, event.Output[:min(len(event.Output), t.limits.Output-len(test.output))]...)
		if pkg.printed += len(event.Output); pkg.printed > capacityFactor*t.limits.Output {
			t.stop(&limitError{event.Package, "printed more than " + formatSize(int64(capacityFactor*t.limits.Output))})
		}
	case "pass", "fail", "skip":
		test.result = event.Action
		if event.Test == "" {
			pkg.result, pkg.failedBuild = event.Action, event.FailedBuild != ""
			if pkg.timer != nil {
				pkg.timer.Stop()
			}
		}
	}
}

// test returns the record of a test, and creates it when the test starts.
func (p *testedPackage) test(name string) *testedTest {
	if test := p.tests[name]; test != nil {
		return test
	}
	test := &testedTest{}
	p.tests[name] = test
	p.order = append(p.order, name)
	for at := strings.LastIndexByte(name, '/'); at >= 0; at = strings.LastIndexByte(name[:at], '/') {
		if parent := p.tests[name[:at]]; parent != nil {
			parent.hasSubtests = true
		}
	}
	return test
}

// summarize returns the summary. exceeded is the limit for which the tests were killed; nil if none.
func (t *testEvents) summarize(b buildDir, dirs map[string]string, exceeded *limitError) *Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &Summary{}
	options := b.options(nil)
	for _, name := range slices.Sorted(maps.Keys(t.builds)) {
		s.Diagnostics = append(s.Diagnostics, options.Diagnose(t.builds[name])...)
	}
	slices.SortFunc(s.Diagnostics, typecheck.Diagnostic.Compare)
	s.Diagnostics = slices.Compact(s.Diagnostics)
	for _, name := range slices.Sorted(maps.Keys(t.packages)) {
		pkg := t.packages[name]
		if pkg.timer != nil {
			pkg.timer.Stop()
		}
		if pkg.failedBuild {
			continue
		}
		if len(pkg.order) > 1 || pkg.result == "fail" {
			s.Packages++
		}
		dir := dirs[name]
		before := len(s.Failures)
		for _, test := range pkg.order {
			if test != "" {
				t.count(s, b, dir, pkg, test)
			}
		}
		switch {
		case exceeded != nil && exceeded.pkg == name:
			s.Failures = append(s.Failures[:before], TestFailure{Package: dir, Test: pkg.running(), Message: exceeded.message})
		case pkg.result == "" && exceeded != nil:
			s.Failures = append(s.Failures, TestFailure{Package: dir, Message: "was killed because " + exceeded.Error()})
		case pkg.result == "fail" && len(s.Failures) == before:
			failure := pkg.tests[""].failure(b, dir, t.limits)
			failure.Test = pkg.running()
			failure.Message = cmp.Or(failure.Message, "the process ended early (os.Exit), or failed outside of a test (TestMain)")
			s.Failures = append(s.Failures, failure)
		}
	}
	return s
}

// running returns the test that started last and has not ended.
func (p *testedPackage) running() string {
	for _, name := range slices.Backward(p.order) {
		if p.tests[name].result == "" {
			return name
		}
	}
	return ""
}

// count adds a test to the summary. Of a test whose subtests failed, only messages of its own count.
func (t *testEvents) count(s *Summary, b buildDir, dir string, pkg *testedPackage, name string) {
	test := pkg.tests[name]
	switch {
	case test.result == "pass" && !test.hasSubtests:
		s.Passed++
	case test.result == "skip" && !test.hasSubtests:
		s.Skipped++
	case test.result == "fail", test.result == "" && crashLine(test.output) != "":
		failure := test.failure(b, dir, t.limits)
		isFailedSubtest := func(other string) bool {
			return strings.HasPrefix(other, name+"/") && pkg.tests[other].result == "fail"
		}
		if failure.Test = name; failure.Message == "" && slices.ContainsFunc(pkg.order, isFailedSubtest) {
			return
		}
		failure.Message = cmp.Or(failure.Message, "failed without a message")
		s.Failures = append(s.Failures, failure)
	}
}

// failure separates the messages of a test from its other output. A crash replaces both.
func (test *testedTest) failure(b buildDir, dir string, l Limits) TestFailure {
	f := TestFailure{Package: dir}
	output := strings.ToValidUTF8(string(test.output), "\uFFFD")
	message := regexp.MustCompile(`^ {4}([^\s:]+\.go):(\d+): ?(.*)$`)
	var messages, rest []string
	inMessage := false
	for line := range strings.Lines(output) {
		line = strings.TrimSuffix(line, "\n")
		if found := message.FindStringSubmatch(line); found != nil {
			f.Line, _ = strconv.Atoi(found[2]) // of the last message: the first ones may be logs
			f.File = path.Join(dir, found[1])
			messages, inMessage = append(messages, found[3]), true
			continue
		}
		if more, ok := strings.CutPrefix(line, "        "); ok && inMessage {
			messages = append(messages, more)
			continue
		}
		inMessage = false
		rest = append(rest, line)
	}
	f.Message, f.Output = strings.Join(messages, "\n"), strings.TrimSpace(strings.Join(rest, "\n"))
	if crash := crashLine([]byte(f.Output)); crash != "" {
		before, _, _ := strings.Cut(f.Output, crash)
		f.Output = strings.TrimSpace(before)
		f.Message = strings.TrimSpace(f.Message + "\n" + crashed(crash, l))
		if file, line := CrashPlace(b.root, output); file != "" {
			f.File, f.Line = file, line
		}
	}
	return f
}

// CrashPlace returns the file and line of the innermost call of a crash that is in the project in root,
// without petrock's own folders if possible. The output contains the stack.
func CrashPlace(root, output string) (file string, line int) {
	for _, found := range regexp.MustCompile(`(?m)^\t(.+\.go):(\d+)(?: \+0x|$)`).FindAllStringSubmatch(output, -1) {
		inside, err := filepath.Rel(root, found[1])
		if err != nil || !filepath.IsLocal(inside) {
			continue
		}
		inside = filepath.ToSlash(inside)
		isPetrock := strings.HasPrefix(inside, "core/") || strings.HasPrefix(inside, "generators/")
		if file == "" || !isPetrock {
			file = inside
			line, _ = strconv.Atoi(found[2])
		}
		if !isPetrock {
			break
		}
	}
	return file, line
}

// markVet marks the diagnostics of go test that are findings of go vet. The go command prints compile errors
// in the same way.
func (b buildDir) markVet(ctx context.Context, flags, dirs []string, found []typecheck.Diagnostic) ([]typecheck.Diagnostic, error) {
	if len(found) == 0 {
		return nil, nil
	}
	options := b.options(flags)
	options.Patterns = nil
	for _, dir := range dirs {
		options.Patterns = append(options.Patterns, "./"+dir)
	}
	compiled, err := typecheck.CheckPackages(ctx, options)
	if err != nil {
		return nil, err
	}
	isCompileError := map[typecheck.Diagnostic]bool{}
	for _, d := range compiled.Diagnostics {
		d.Package = "" // may be a test variant
		isCompileError[d] = true
	}
	// The go command caches findings with the path that the file had in an earlier temporary folder.
	planned := regexp.MustCompile(`^.*/` + regexp.QuoteMeta(tempPrefix) + `[^/]*/files/`)
	for i, d := range found {
		d.Package, d.File = "", planned.ReplaceAllString(d.File, "")
		found[i].File = d.File
		if d.File != "" && !isCompileError[d] {
			found[i].Message = typecheck.VetMark + d.Message
		}
	}
	return found, nil
}
