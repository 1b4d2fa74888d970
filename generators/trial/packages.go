package trial

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/benchmark/parse"
	"golang.org/x/tools/cover"

	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Selection is the tests to run.
type Selection struct {
	Dirs     map[string]string // slash-separated folders of packages by import path
	Run      string            // selects tests by name, as go test -run does; empty means all
	Flags    []string          // further flags for go test, such as -race
	Cover    bool              // record which statements run
	Examples Examples

	// First are folders that are tested first. Once they are, the others have LaterTime all
	// together, if it is not 0.
	First     []string
	LaterTime time.Duration
}

// Examples are the subtests of a test that runs confined, in a process of its own. If it fails, no
// other tests run.
type Examples struct {
	Dir  string // folder of the package
	Test string // empty if there are none
}

// A Summary is the result of the tests of several packages.
type Summary struct {
	Packages    int                    // packages with tests
	Passed      int                    // tests that passed, without examples; a test with subtests counts as its subtests
	Skipped     int                    // tests that were skipped
	Failures    []TestFailure          // sorted by package
	Profiles    []*cover.Profile       // with [Selection].Cover, which statements ran
	Benchmarks  []*parse.Benchmark     // runs; a name starts with the folder of the package and a space
	Diagnostics []typecheck.Diagnostic // errors of packages that do not build
	Examples    *Report                // of the examples; nil if there are none, or their package does not build
	NotRun      []string               // folders of packages whose tests have not ended because all were killed
	Killed      string                 // why they were killed, such as "tools printed more than 1 MiB"
}

// A TestFailure is a test that failed.
type TestFailure struct {
	Package string `json:"package"`          // Folder of the package
	Test    string `json:"test,omitempty"`   // Name of the test or subtest; empty if the package failed outside of a test
	File    string `json:"file,omitempty"`   // File of the last message, or of the panic
	Line    int    `json:"line,omitempty"`   // Line in that file
	Source  string `json:"source,omitempty"` // Text of that line; the caller of [Packages] sets it
	Message string `json:"message"`          // Messages of the test, or the reason that it ended
	Output  string `json:"output,omitempty"` // Other output of the test

	Exceeded bool `json:"-"` // whether the package exceeded a limit in this test
	TimedOut bool `json:"-"` // whether that was the time limit
}

// Packages runs go test, without vet, with the planned files. Apart from examples, the tests are
// not confined, and have the environment of this process. They run in the package's folder or, if
// files are planned, in a copy of it; on Windows, tests that open files of the project see those on
// disk. The time limit applies to each package. If a package exceeds another limit, all tests are
// killed. Failures of the code are in the summary. Packages returns an error if the go command or
// the system fails, ctx is done, or an example does not exist.
func Packages(ctx context.Context, o Options, selected Selection, l Limits) (*Summary, error) {
	l = l.withDefaults()
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if test := selected.Examples.Test; test != "" && !token.IsIdentifier(test) {
		return nil, fmt.Errorf("%q is not a test name, such as TestAdd", test)
	}
	dirs := slices.Sorted(maps.Values(selected.Dirs))
	b, err := newBuildDir(o, dirs)
	if err != nil {
		return nil, err
	}
	defer remove(b.dir)
	removeFolders, err := typecheck.MakeFolders(b.root, dirs)
	defer removeFolders()
	if err != nil {
		return nil, err
	}
	o.Step(fmt.Sprintf("testing %s, %d in all", strings.Join(dirs[:min(len(dirs), 3)], ", "), len(dirs)))
	args, err := b.testArgs(o, selected, dirs, l)
	if err != nil {
		return nil, err
	}
	s, err := b.test(ctx, o, selected, args, l)
	if err != nil {
		return nil, err
	}
	if selected.Cover {
		if s.Profiles, err = cover.ParseProfiles(b.coverFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read coverage: %w", err)
		}
	}
	if s.Examples, err = b.readReport(); err == nil && s.Examples == nil && selected.Examples.Test != "" && len(s.Diagnostics) == 0 {
		err = fmt.Errorf("package %s has no tests", selected.Examples.Dir)
	}
	return s, err
}

// testArgs returns the arguments of go test for the packages in folders, and writes the files that
// they name.
func (b buildDir) testArgs(o Options, selected Selection, dirs []string, l Limits) ([]string, error) {
	args := append([]string{"test", "-buildvcs=false", "-json", "-vet=off", "-timeout=" + l.Time.String()}, o.Flags...)
	if len(o.Planned) > 0 {
		args = append(args, "-overlay="+b.overlayFile())
		r := runner{Root: b.root, Dir: b.dir, Examples: selected.Examples, Limits: l}
		if runtime.GOOS != "windows" { // which restricts symbolic links
			r.Copy = filepath.Join(b.dir, "copy")
			if err := b.mirror(r.Copy, o.Planned, dirs); err != nil {
				return nil, fmt.Errorf("copy the project for tests: %w", err)
			}
		}
		program, err := b.writeRunner(r)
		if err != nil {
			return nil, err
		}
		args = append(args, "-exec="+program)
	}
	if selected.Examples.Test != "" {
		args = append(args, "-race=false", "-cover=false") // in GOFLAGS, they would need more memory, or print
	}
	if selected.Cover {
		args = append(args, "-coverprofile="+b.coverFile())
	}
	args = append(args, selected.Flags...)
	if selected.Run != "" {
		args = append(args, "-run="+selected.Run)
	}
	isFirst := func(dir string) bool { return slices.Contains(selected.First, dir) }
	later := slices.DeleteFunc(slices.Clone(dirs), isFirst)
	for _, dir := range append(slices.DeleteFunc(dirs, func(dir string) bool { return !isFirst(dir) }), later...) {
		args = append(args, "./"+dir)
	}
	return args, nil
}

// test runs go test and summarizes its output. It kills all tests if a package exceeds a limit, or
// if an example fails.
func (b buildDir) test(ctx context.Context, o Options, selected Selection, args []string, l Limits) (*Summary, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &testEvents{
		limits: l, stop: stop, step: o.Step, buildDir: b, selected: selected, packages: map[string]*testedPackage{}, builds: map[string]string{},
	}
	var errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = b.root, append(cmd.Environ(), append(b.options().Env, "GOTMPDIR="+b.dir)...) // removed even if go is killed
	cmd.Stdout, cmd.Stderr = out, &errOut
	process.SetGroup(cmd)
	cmd.Cancel = func() error { process.Kill(cmd); return nil }
	cmd.WaitDelay = drainTimeout
	err := cmd.Run()
	if cmd.Process != nil {
		process.Kill(cmd) // processes that tests have left
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
	return out.summarize(limit), nil
}

// A limitError means that the package in a folder, or all of them together if dir is empty,
// exceeded a limit.
type limitError struct{ dir, message string }

func (e *limitError) Error() string { return e.dir + " " + e.message }

// goTestLine matches the lines of the testing package or the go command, which are not those of a
// test.
var goTestLine = regexp.MustCompile(`^ *(=== (RUN|PAUSE|CONT|NAME) |--- (PASS|FAIL|SKIP): |(FAIL|ok  |\?   )\t|(PASS|FAIL)\n|exit status )`)

// testEvents collects the events that go test -json prints.
type testEvents struct {
	limits Limits
	stop   context.CancelCauseFunc
	step   func(string)
	buildDir
	selected Selection

	mu       sync.Mutex
	later    *time.Timer               // of the packages that are not tested first; nil until the others are tested
	partial  []byte                    // a line that is not complete yet
	packages map[string]*testedPackage // by folder
	builds   map[string]string         // output of failed builds, by import path
}

// A testedPackage is the events of one package. The test "" is the package itself.
type testedPackage struct {
	testLog
	failedBuild bool
	printed     int // bytes
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
	dir := cmp.Or(t.selected.Dirs[event.Package], event.Package)
	pkg := t.packages[dir]
	if pkg == nil {
		pkg = &testedPackage{testLog: testLog{byName: map[string]*record{}}}
		t.packages[dir] = pkg
	}
	test := pkg.start(event.Test)
	switch event.Action {
	case "output":
		if goTestLine.MatchString(event.Output) {
			return
		}
		pkg.add(test, []byte(event.Output))
		if pkg.printed += len(event.Output); pkg.printed > capacityFactor*t.limits.Output {
			t.stop(&limitError{dir, "printed more than " + formatSize(int64(capacityFactor*t.limits.Output))})
		}
	case "pass", "fail", "skip":
		if test.result != "fail" { // in an earlier run of several
			test.result = event.Action
		}
		if event.Test == "" {
			pkg.failedBuild = event.FailedBuild != ""
			t.endPackage(dir)
		}
	}
}

// endPackage kills all tests if a package has ended whose examples failed. Once all packages that
// are tested first have ended, it limits the time of the others.
func (t *testEvents) endPackage(dir string) {
	t.step("tested " + dir)
	if dir == t.selected.Examples.Dir && t.selected.Examples.Test != "" {
		if report, err := t.readReport(); err != nil || report != nil && !report.Passed {
			t.stop(&limitError{"", "have failed examples"})
		}
	}
	if t.later == nil && t.selected.LaterTime > 0 && !slices.ContainsFunc(t.selected.First, t.isOpen) {
		t.later = time.AfterFunc(t.selected.LaterTime, func() {
			t.stop(&limitError{"", "did not end within " + t.selected.LaterTime.String()})
		})
	}
}

// isOpen reports whether the tests of a folder have not ended.
func (t *testEvents) isOpen(dir string) bool {
	pkg := t.packages[dir]
	return pkg == nil || pkg.start("").result == ""
}

// summarize returns the summary. exceeded is the limit for which the tests were killed; nil if
// none.
func (t *testEvents) summarize(exceeded *limitError) *Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.later != nil {
		t.later.Stop()
	}
	s := &Summary{}
	options := t.options()
	for _, name := range slices.Sorted(maps.Keys(t.builds)) {
		s.Diagnostics = append(s.Diagnostics, options.Diagnose(t.builds[name])...)
	}
	inProject := strings.NewReplacer(t.files()+string(filepath.Separator), "", t.root+string(filepath.Separator), "")
	for i := range s.Diagnostics {
		s.Diagnostics[i].Message = inProject.Replace(s.Diagnostics[i].Message) // of other declarations
	}
	s.Diagnostics = typecheck.SortDiagnostics(s.Diagnostics)
	for _, dir := range slices.Sorted(maps.Keys(t.packages)) {
		pkg := t.packages[dir]
		if pkg.failedBuild {
			continue
		}
		itself, before := pkg.start(""), len(s.Failures)
		if len(pkg.records) > 1 || itself.result == "fail" {
			s.Packages++
		}
		for _, test := range pkg.records {
			if test != itself {
				t.count(s, dir, pkg, test)
			}
			for line := range strings.Lines(string(test.printed)) {
				if b, err := parse.ParseLine(line); err == nil && b.Measured&parse.NsPerOp != 0 {
					b.Name = dir + " " + b.Name
					s.Benchmarks = append(s.Benchmarks, b)
				}
			}
		}
		switch {
		case exceeded != nil && exceeded.dir == dir:
			s.Failures = append(s.Failures[:before], TestFailure{Package: dir, Test: pkg.running(), Message: exceeded.message, Exceeded: true})
		case itself.result == "fail" && len(s.Failures) == before:
			failure := itself.failure(t.buildDir, dir, t.limits)
			failure.Test = pkg.running()
			failure.Message = cmp.Or(failure.Message, "the process ended early (os.Exit), or failed outside of a test (TestMain)")
			s.Failures = append(s.Failures, failure)
		}
	}
	if exceeded == nil {
		return s
	}
	s.Killed = cmp.Or(exceeded.dir, "the tests") + " " + exceeded.message
	for _, dir := range slices.Sorted(maps.Values(t.selected.Dirs)) {
		if dir != exceeded.dir && t.isOpen(dir) {
			s.NotRun = append(s.NotRun, dir)
		}
	}
	return s
}

// running returns the test that started last and has not ended.
func (p *testedPackage) running() string {
	for _, r := range slices.Backward(p.records) {
		if r.result == "" {
			return r.name
		}
	}
	return ""
}

// count adds a test to the summary. Of a test whose subtests failed, only messages of its own
// count.
func (t *testEvents) count(s *Summary, dir string, pkg *testedPackage, test *record) {
	switch {
	case test.result == "pass" && !test.hasSubtests:
		s.Passed++
	case test.result == "skip" && !test.hasSubtests:
		s.Skipped++
	case test.result == "fail", test.result == "" && crashLine(string(test.printed)) != "":
		failure := test.failure(t.buildDir, dir, t.limits)
		isFailedSubtest := func(other *record) bool {
			return strings.HasPrefix(other.name, test.name+"/") && other.result == "fail"
		}
		if failure.Message == "" && slices.ContainsFunc(pkg.records, isFailedSubtest) {
			return
		}
		failure.Message = cmp.Or(failure.Message, "failed without a message")
		s.Failures = append(s.Failures, failure)
	}
}

// failure returns a test that failed. The description of a crash replaces its output.
func (r *record) failure(b buildDir, dir string, l Limits) TestFailure {
	f := TestFailure{Package: dir, Test: r.name, Message: strings.Join(r.texts(), "\n"), Line: r.line}
	f.Output = strings.TrimSpace(strings.ToValidUTF8(string(r.printed), "\uFFFD"))
	if r.file != "" {
		f.File = path.Join(dir, r.file)
	}
	if crash := crashLine(f.Output); crash != "" {
		f.TimedOut = crashed(crash, l) == l.timeExceeded()
		f.Exceeded = f.TimedOut
		f.Message = strings.TrimSpace(f.Message + "\n" + crashed(crash, l))
		if file, line := process.PanicPosition(b.root, f.Output); file != "" {
			f.File, f.Line = file, line
		}
		before, _, _ := strings.Cut(f.Output, crash)
		f.Output = strings.TrimSpace(before)
	}
	return f
}

// mirror creates a copy of the project with the planned files, of symbolic links: only the folders
// of planned files and of tested packages are real.
func (b buildDir) mirror(copied string, planned map[string][]byte, tested []string) (err error) {
	real := map[string]bool{".": true} // folders
	add := func(dir string) {
		for ; !real[dir]; dir = path.Dir(dir) {
			real[dir] = true
		}
	}
	for name := range planned {
		add(path.Dir(name))
	}
	for _, dir := range tested {
		add(dir)
	}
	for dir := range real {
		from, to := filepath.Join(b.root, filepath.FromSlash(dir)), filepath.Join(copied, filepath.FromSlash(dir))
		err = errors.Join(err, os.MkdirAll(to, 0o700))
		entries, readErr := os.ReadDir(from)
		if !errors.Is(readErr, fs.ErrNotExist) { // unless the folder is planned
			err = errors.Join(err, readErr)
		}
		for _, entry := range entries {
			name := path.Join(dir, entry.Name())
			if _, ok := planned[name]; !ok && !real[name] {
				err = errors.Join(err, os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())))
			}
		}
	}
	for name, text := range planned {
		name = filepath.FromSlash(name)
		if text != nil {
			err = errors.Join(err, os.Symlink(filepath.Join(b.files(), name), filepath.Join(copied, name)))
		}
	}
	return err
}
