// Package trial runs the tests of packages with planned files, without writing them to the project.
// Examples, which are tests of code that was just written, run confined: in a process of their own,
// in an empty temporary folder, with limits on time, memory and output.
//
// On Linux a supervisor, which is another process of the calling program, starts the test in user,
// mount, PID and IPC namespaces. Only the temporary folder is writable, and all processes end with
// the supervisor. Without namespaces, Landlock refuses writes, and the supervisor kills orphans,
// but modes, owners and times of files can be changed. On other Unix systems only the processes in
// the test's process group end with it; on Windows only the test ends. [Report] lists the limits
// that were not enforced.
//
// The package protects against mistakes, not against malicious code. The test can read files,
// connect to Unix sockets and, without [Limits].NoNet, use the network. The size of each file is
// limited, but not the total size.
package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/petrock/petrock/generators/typecheck"
)

// Options configure a trial.
type Options struct {
	Root    string            // the project's folder
	Flags   []string          // for the go command
	Planned map[string][]byte // planned files by slash-separated path from the root; nil for a deleted file
	Step    func(string)      // reports progress; may be nil
}

// A Report is the result of a confined test.
type Report struct {
	Passed bool

	// Cases are the started subtests. The test itself is a case if it has messages or no subtests,
	// or failed although its subtests passed.
	Cases []Case

	Printed    string   // standard output and standard error, including crash messages
	Ended      string   // why the process ended early, in one sentence; else empty
	Unenforced []string // limits that the system could not enforce
}

// IsConfined reports whether the system prevented writes outside the test's temporary folder.
func (r *Report) IsConfined() bool { return !slices.Contains(r.Unenforced, limitWrites) }

// A Case is a subtest. Underscores in its name are shown as spaces: the testing package replaces
// spaces.
type Case struct {
	Name     string
	Passed   bool
	Skipped  bool     // neither passed nor failed
	Messages []string // of t.Error and t.Log, without file and line
}

// Limits are the resources of a test. Zero fields mean the defaults.
//
// On Linux a test that uses more memory, or more than 512 processes, is killed. Memory includes the
// resident memory of child processes, and is also the maximum size of a file. On other systems
// Memory is a soft limit (GOMEMLIMIT), and the number of processes is not limited.
type Limits struct {
	Time   time.Duration // default 10 s
	Memory int64         // in bytes; default 1 GiB
	Output int           // bytes of standard output and standard error; default 64 KiB, at most 64 MiB
	NoNet  bool          // disables the network, if the system permits
}

// The defaults and maximum of Limits.
const (
	DefaultTime   = 10 * time.Second
	defaultMemory = 1 << 30
	defaultOutput = 64 << 10
	maxOutput     = 64 << 20
)

func (l Limits) withDefaults() Limits {
	l.Time = cmp.Or(max(l.Time, 0), DefaultTime)
	l.Memory = cmp.Or(max(l.Memory, 0), defaultMemory)
	l.Output = min(cmp.Or(max(l.Output, 0), defaultOutput), maxOutput)
	return l
}

func (l Limits) timeExceeded() string { return "did not end within " + l.Time.String() }
func (l Limits) memoryExceeded() string {
	return "needed more than " + formatSize(l.Memory) + " of memory"
}
func (l Limits) outputExceeded() string { return "printed more than " + formatSize(int64(l.Output)) }

// formatSize formats a size as 64 KiB or 256 MiB.
func formatSize(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// environ returns the environment of a test. It passes on only variables that programs need, to
// withhold credentials. folder is the home and temporary folder.
func environ(folder string, l Limits) []string {
	inherited := []string{
		"PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
	}
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		name = strings.ToUpper(name) // Windows ignores case
		if slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, pair)
		}
	}
	for _, name := range []string{"HOME", "TMPDIR", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "PWD"} {
		env = append(env, name+"="+folder)
	}
	// Below the limit, so that Go collects garbage before the test is killed.
	return append(env, fmt.Sprintf("GOMEMLIMIT=%d", l.Memory/8*7))
}

// A buildDir is a temporary folder with the planned files and the overlay file for the go command.
// Its paths are absolute and without symbolic links, as the go command prints them.
type buildDir struct {
	root string // of the project
	dir  string // the temporary folder
}

func newBuildDir(o Options, folders []string) (b buildDir, err error) {
	for _, name := range append(slices.Collect(maps.Keys(o.Planned)), folders...) {
		if !fs.ValidPath(name) {
			return buildDir{}, fmt.Errorf("%q is not a path from the root of the project", name)
		}
	}
	if b.root, err = realPath(o.Root); err != nil {
		return buildDir{}, fmt.Errorf("find the project: %w", err)
	}
	temp, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "petrock-trial-")
	if err == nil {
		b.dir, err = realPath(temp)
	}
	if err == nil {
		_, err = typecheck.WriteOverlay(b.dir, b.root, o.Planned)
	}
	if err != nil {
		remove(temp)
		err = fmt.Errorf("write the planned files: %w", err)
	}
	return b, err
}

func realPath(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}

func (b buildDir) files() string       { return filepath.Join(b.dir, "files") }
func (b buildDir) coverFile() string   { return filepath.Join(b.dir, "cover") }
func (b buildDir) overlayFile() string { return filepath.Join(b.dir, "overlay.json") }

// options returns the options of the go command. Diagnostics name planned files by their path in
// the project.
func (b buildDir) options() typecheck.BuildOptions {
	return typecheck.BuildOptions{
		Dir:   b.root,
		Roots: []string{b.root, b.files()},
		Env:   []string{"PWD=" + b.root}, // otherwise the go command uses a path with symbolic links
	}
}

// remove removes a temporary folder that tests have written to. If that fails, it makes folders
// writable and retries. Windows keeps a program open for a moment after it ends.
func remove(dir string) {
	err := os.RemoveAll(dir)
	for pause := time.Millisecond; err != nil && pause < time.Second; pause *= 2 {
		filepath.WalkDir(dir, func(name string, entry fs.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				os.Chmod(name, 0o700)
			}
			return nil
		})
		if err = os.RemoveAll(dir); err != nil {
			time.Sleep(pause)
		}
	}
}

// Limits and timeouts that are not configurable.
const (
	drainTimeout  = time.Second           // to read the rest of the output after the process has ended
	checkInterval = 10 * time.Millisecond // between checks of memory and processes
	maxProcesses  = 512
)

// Names, in a report, of limits that a system may be unable to enforce.
const (
	limitChildren   = "killing all child processes"
	limitMemory     = "limits on memory and processes"
	limitWrites     = "no writes outside the temporary folder"
	limitAttributes = "no changes of modes, owners or times outside the temporary folder"
	limitNetwork    = "no network"
)

// run runs a test of a program, confined.
func (b buildDir) run(ctx context.Context, program, test string, limits Limits) (*Report, error) {
	outer, err := os.MkdirTemp(b.dir, "run-")
	defer remove(outer)
	// It is several levels deep, so that files which the test writes to parent folders are removed
	// too.
	scratch := filepath.Join(outer, "x", "x", "x", "x")
	if err == nil {
		err = os.MkdirAll(scratch, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("create a folder for %s: %w", test, err)
	}

	output := newOutput(limits.Output)
	cmd := exec.Command(program, "-test.run=^"+test+"$", "-test.v=test2json", "-test.paniconexit0", "-test.timeout="+ownTimeout(limits.Time).String())
	cmd.Dir, cmd.Env = scratch, environ(scratch, limits)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = drainTimeout // a detached child holds the output open
	running, err := start(cmd, scratch, limits)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("run %s: %w; set GOTMPDIR to a folder in which programs may run", test, err)
	case err != nil:
		return nil, fmt.Errorf("run %s: %w", test, err)
	}
	exit := running.watch(ctx, output.overflow, limits)
	report := &Report{Unenforced: running.unenforced(limits)}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	printed := output.end(test)
	printed.fill(report, exit, limits)
	if len(printed.records) == 0 && report.Ended == "" {
		return nil, fmt.Errorf("the package has no test %s", test)
	}
	return report, nil
}

// watch waits for the test to end, and kills it if it exceeds a limit.
func (p *testProcess) watch(ctx context.Context, overflow <-chan struct{}, l Limits) (e exitState) {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		e.status, e.description = p.wait()
	}()
	timer, ticker := time.NewTimer(l.Time), time.NewTicker(checkInterval)
	defer timer.Stop()
	defer ticker.Stop()
	for running := true; running && e.stopped == ""; {
		select {
		case <-exited:
			running = false
		case <-timer.C:
			e.stopped = l.timeExceeded()
		case <-overflow:
			e.stopped = l.outputExceeded()
		case <-ctx.Done():
			e.stopped = "was cancelled"
		case <-ticker.C:
			e.stopped = p.exceeds(l)
		}
	}
	if e.stopped != "" {
		p.kill()
		<-exited
	}
	return e
}

// Supervise returns true after it has done the work of a process that a trial started. A program
// that runs trials must call it first, and exit if it returns true.
func Supervise() bool {
	if !isRunner() {
		return supervisesTest()
	}
	status, err := runProgram(os.Args[2], os.Args[3:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "run tests: %v\n", err)
		status = 1
	}
	os.Exit(status)
	return true
}

// runnerName is the first argument of this program if go test -exec starts it to run the tests of a
// package.
const runnerName = "petrock-run-tests"

func isRunner() bool { return len(os.Args) > 3 && os.Args[1] == runnerName }

// A runner runs the tests of one package for go test -exec: examples first, confined, then the
// others.
type runner struct {
	Root     string // of the project
	Dir      string // the temporary folder
	Copy     string // of the project, in which tests run; empty if they run in the project
	Examples Examples
	Limits   Limits
}

func (b buildDir) configFile() string { return filepath.Join(b.dir, "runner.json") }
func (b buildDir) reportFile() string { return filepath.Join(b.dir, "report.json") }

// writeRunner writes the configuration of a runner, and returns the program for go test -exec.
func (b buildDir) writeRunner(r runner) (string, error) {
	if isRunner() {
		return "", errors.New("the program that runs trials does not call trial.Supervise first")
	}
	program, err := fmt.Sprintf("/proc/%d/exe", os.Getpid()), error(nil) // even if the file was replaced
	if runtime.GOOS != "linux" {
		program, err = os.Executable()
	}
	text, encodeErr := json.Marshal(r)
	if err = errors.Join(err, encodeErr); err == nil {
		err = os.WriteFile(b.configFile(), text, 0o600)
	}
	quotedProgram, programErr := quote(program)
	quotedFile, fileErr := quote(b.configFile())
	return quotedProgram + " " + runnerName + " " + quotedFile, errors.Join(err, programErr, fileErr)
}

// quote quotes a path for go test -exec, which has two kinds of quotes and no escapes.
func quote(path string) (string, error) {
	for _, mark := range []string{"'", `"`} {
		if !strings.Contains(path, mark) {
			return mark + path + mark, nil
		}
	}
	return "", fmt.Errorf("go test -exec does not support %s, which contains both kinds of quotes; set GOTMPDIR to another folder", path)
}

// An exampleResult is the report of examples that a runner has run, or why it could not run them.
type exampleResult struct {
	Report *Report
	Error  string
}

// readReport returns the report of examples; nil if they were not run.
func (b buildDir) readReport() (*Report, error) {
	text, err := os.ReadFile(b.reportFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var result exampleResult
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	if err == nil && result.Error != "" {
		err = errors.New(result.Error)
	}
	return result.Report, err
}

// runProgram runs the tests of a program, a command line of the go command, in the package's
// folder. It returns the exit code. If the examples fail, other tests do not run.
func runProgram(config string, program []string) (status int, err error) {
	var r runner
	text, err := os.ReadFile(config)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	dir, dirErr := os.Getwd()
	inside, insideErr := filepath.Rel(r.Root, dir)
	if err := errors.Join(err, dirErr, insideErr); err != nil {
		return 0, err
	}
	if filepath.ToSlash(inside) == r.Examples.Dir {
		passed, err := r.runExamples(program[0])
		if !passed {
			return 1, err
		}
		program = append(program, "-test.skip=^"+r.Examples.Test+"$")
	}
	if r.Copy != "" {
		dir = filepath.Join(r.Copy, inside)
		if err := errors.Join(os.Chdir(dir), os.Setenv("PWD", dir)); err != nil {
			return 0, err
		}
	}
	if runtime.GOOS != "windows" {
		return 0, syscall.Exec(program[0], program, os.Environ())
	}
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err = cmd.Run(); cmd.ProcessState != nil {
		return cmd.ProcessState.ExitCode(), nil
	}
	return 0, err
}

// runExamples runs the examples, and writes their report.
func (r runner) runExamples(program string) (passed bool, err error) {
	b := buildDir{root: r.Root, dir: r.Dir}
	var result exampleResult
	if result.Report, err = b.run(context.Background(), program, r.Examples.Test, r.Limits); err != nil {
		result.Error = err.Error()
	}
	text, err := json.Marshal(result)
	if err == nil {
		err = os.WriteFile(b.reportFile(), text, 0o600)
	}
	return err == nil && result.Error == "" && result.Report.Passed, err
}
