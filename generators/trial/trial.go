// Package trial builds and runs a test of a project with planned files, without writing to the project.
// The test runs as a separate process with limits on time, memory and output, in an empty folder that
// is removed afterwards.
//
// On Linux a supervisor, which is the calling program once more, starts the test in user, mount,
// PID and IPC namespaces: all file systems but the folder are read-only, and all processes end with
// the supervisor. If the system permits no namespaces, Landlock refuses writes, the supervisor
// adopts and kills orphans, and modes, owners and times of files can be changed. On other Unix
// systems only processes in the test's process group end with it, on Windows only the test.
// [Report] lists what was not enforced.
//
// It protects against mistakes, not against malicious code: the test can read files, connect to
// Unix sockets and, without [Limits.NoNet], use the network. The size of each file is limited, not
// that of all files together.
package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/generators/typecheck"
)

// Options configure a trial.
type Options struct {
	Root    string            // the project's folder
	Flags   []string          // for the go command
	Planned map[string][]byte // planned files by path from the root, with slashes; nil for a deleted file
	Step    func(string)      // reports progress; may be nil
}

// A Report is the result of a test.
type Report struct {
	Passed      bool
	Diagnostics []typecheck.Diagnostic // compile and link errors; if there are any, the test was not run
	Cases       []Case                 // started subtests, in order; also the test if it has no subtests, or messages
	Printed     string                 // standard output and standard error, crash messages included
	Ended       string                 // why the process ended before its test, in one sentence; empty if it did not
	Unenforced  []string               // limits that the system could not enforce
	Took        time.Duration          // how long it ran
}

// IsConfined reports whether the system prevented writes outside the test's temporary folder.
func (r *Report) IsConfined() bool { return !slices.Contains(r.Unenforced, limitWrites) }

// A Case is a subtest. Underscores in names are spaces, because the testing package replaces spaces.
type Case struct {
	Name     string
	Passed   bool
	Skipped  bool     // neither passed nor failed
	Messages []string // of t.Error and t.Log, without positions
}

// Test builds the tests of the package in a folder, named from the root with slashes, and runs one of
// them with its subtests. Failures of the code are in the report; the error is about the go command,
// the system, a missing test, or that of ctx.
func Test(ctx context.Context, o Options, dir, test string, l Limits) (report *Report, err error) {
	if !token.IsIdentifier(test) {
		return nil, fmt.Errorf("%q is no name of a test; give one such as TestAdd", test)
	}
	o.step("building the tests of " + dir)
	program, found, err := build(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = also(err, program.remove()) }()
	if len(found) > 0 {
		return &Report{Diagnostics: found}, nil
	}
	o.step("running " + test)
	return program.run(ctx, test, l.complete())
}

// Build builds the program in a folder, named from the root with slashes, and discards it. It returns
// compile and link errors.
func Build(ctx context.Context, o Options, dir string) (found []typecheck.Diagnostic, err error) {
	o.step("building " + dir)
	laid, err := overlay(o, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = also(err, laid.remove()) }()
	return typecheck.Build(ctx, laid.options(o.Flags), "build", "-buildvcs=false", "-o", os.DevNull)
}

func (o Options) step(what string) {
	if o.Step != nil {
		o.Step(what)
	}
}

// Limits are the resources of a test. Zero fields mean the defaults.
//
// Memory is enforced on Linux only: a test that uses more is killed, where resident memory and open
// memfds of its children count too, and no file may be larger. On other systems it is a soft limit
// (GOMEMLIMIT). A test with more than 512 processes is killed, on Linux only.
type Limits struct {
	Time   time.Duration // default 10 s
	Memory int64         // in bytes; default 1 GiB
	Output int           // bytes of standard output and standard error; default 64 KiB, at most 64 MiB
	NoNet  bool          // without network, if the system permits that
}

// The defaults and maximum of Limits.
const (
	DefaultTime   = 10 * time.Second
	defaultMemory = 1 << 30
	defaultOutput = 64 << 10
	mostOutput    = 64 << 20
)

// complete returns l with defaults for zero fields.
func (l Limits) complete() Limits {
	if l.Time <= 0 {
		l.Time = DefaultTime
	}
	if l.Memory <= 0 {
		l.Memory = defaultMemory
	}
	if l.Output <= 0 {
		l.Output = defaultOutput
	}
	l.Output = min(l.Output, mostOutput)
	return l
}

// inWords formats a duration: 10 s, 500 ms.
func inWords(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// inBytes formats a size: 64 KiB, 1 GiB.
func inBytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB"}
	unit := 0
	for unit < len(units)-1 && n >= 1<<10 && n%(1<<10) == 0 {
		n >>= 10
		unit++
	}
	return fmt.Sprintf("%d %s", n, units[unit])
}

// environ returns the environment of a test: the few variables that programs need, with home and
// temporary folders in one folder. Other variables, such as credentials, are not passed on.
func environ(folder string, l Limits) []string {
	along := []string{
		"PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
	}
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		name = strings.ToUpper(name) // Windows ignores case
		if slices.Contains(along, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, pair)
		}
	}
	for _, name := range []string{"HOME", "TMPDIR", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "PWD"} {
		env = append(env, name+"="+folder)
	}
	// Go collects garbage before it reaches the limit.
	return append(env, fmt.Sprintf("GOMEMLIMIT=%d", l.Memory/8*7))
}

// build builds the tests of a package. It returns compile errors as diagnostics.
func build(ctx context.Context, o Options, dir string) (l laid, found []typecheck.Diagnostic, err error) {
	if l, err = overlay(o, dir); err != nil {
		return laid{}, nil, err
	}
	// Flags from GOFLAGS such as -race need more memory or print. Without debug information it links faster.
	found, err = typecheck.Build(ctx, l.options(o.Flags), "test", "-c", "-vet=off", "-race=false", "-cover=false", "-ldflags=-w", "-o", l.program())
	if err == nil && len(found) == 0 {
		if _, missing := os.Stat(l.program()); missing != nil {
			err = fmt.Errorf("package %s has no tests", dir)
		}
	}
	if err != nil {
		return laid{}, nil, also(err, l.remove())
	}
	return l, found, nil
}

// laid is a temporary folder with the planned files and the overlay file for the go command. Both paths
// are absolute and without symbolic links, like those that the go command prints.
type laid struct {
	root string // of the project
	dir  string // the temporary folder
	pkg  string // folder of the package, from the root with slashes
}

func overlay(o Options, pkg string) (l laid, err error) {
	l.pkg = pkg
	if err := there(o, pkg); err != nil {
		return laid{}, err
	}
	if l.root, err = real(o.Root); err != nil {
		return laid{}, fmt.Errorf("looking for the project: %w", err)
	}
	made, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "petrock-trial-")
	if err == nil {
		l.dir, err = real(made)
	}
	if err == nil {
		err = l.write(o.Planned)
	}
	if err != nil {
		err = fmt.Errorf("laying out the planned files: %w", errors.Join(err, remove(made)))
	}
	return l, err
}

// there returns an error if a folder neither exists nor is planned.
func there(o Options, dir string) error {
	if !fs.ValidPath(dir) {
		return fmt.Errorf("%q is no path from the root of the project", dir)
	}
	planned := false
	for name, text := range o.Planned {
		if !fs.ValidPath(name) {
			return fmt.Errorf("%q is no path from the root of the project", name)
		}
		planned = planned || text != nil && path.Dir(name) == dir
	}
	if planned {
		return nil
	}
	if _, err := os.Stat(filepath.Join(o.Root, filepath.FromSlash(dir))); err != nil {
		return fmt.Errorf("looking for package %s: %w", dir, err)
	}
	return nil
}

func real(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}

func (l laid) write(planned map[string][]byte) error {
	replace := map[string]string{}
	for name, text := range planned {
		name = filepath.FromSlash(name)
		inProject, file := filepath.Join(l.root, name), filepath.Join(l.files(), name)
		if text == nil {
			replace[inProject] = "" // deleted
			continue
		}
		replace[inProject] = file
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
	}
	text, err := json.Marshal(struct{ Replace map[string]string }{replace})
	if err != nil {
		return err
	}
	return os.WriteFile(l.config(), text, 0o600)
}

func (l laid) files() string   { return filepath.Join(l.dir, "files") }
func (l laid) config() string  { return filepath.Join(l.dir, "overlay.json") }
func (l laid) program() string { return filepath.Join(l.dir, "program.exe") } // Windows needs the extension

// options returns the options to build the package with the overlay. Diagnostics name planned files by
// their paths in the project.
func (l laid) options(flags []string) typecheck.BuildOptions {
	return typecheck.BuildOptions{
		Dir:      l.root,
		Roots:    []string{l.root, l.files()},
		Patterns: []string{"./" + l.pkg},
		Flags:    append(flags[:len(flags):len(flags)], "-overlay="+l.config()),
		Env:      []string{"PWD=" + l.root}, // or the go command would use a path with links
	}
}

func (l laid) remove() error { return remove(l.dir) }

// remove removes a folder that tests have written to. It changes modes of unreadable folders, and
// retries: Windows keeps programs open for a moment after they end.
func remove(dir string) error {
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
	return err
}
