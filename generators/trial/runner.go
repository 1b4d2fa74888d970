package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

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
