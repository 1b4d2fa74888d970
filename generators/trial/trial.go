// Package trial builds and runs a test of a project with planned files, without writing to the project.
// The test runs as a separate process with limits on time, memory and output, in an empty folder that
// is removed afterwards.
//
// It protects against mistakes, not against malicious code: the test can read files and use the
// network.
package trial

import (
	"context"
	"fmt"
	"go/token"
	"os"
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
	Confined    bool                   // the system prevented writes outside its temporary folder
	Took        time.Duration          // how long it ran
}

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
