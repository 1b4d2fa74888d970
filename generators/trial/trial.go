// Package trial runs one test of a project over planned files, of which nothing is written to
// the project, and reports what came of it. The test runs as a process of its own, under limits
// of time, memory and output, in an empty folder that is removed afterwards.
//
// That is a net, not a wall: it catches what code does by mistake. Reading and the network stay
// open to it.
package trial

import (
	"context"
	"fmt"
	"go/token"
	"os"
	"time"

	"github.com/petrock/petrock/generators/typecheck"
)

// Options say what is tried.
type Options struct {
	Root    string            // the project's folder
	Flags   []string          // that the go command has to be given
	Planned map[string][]byte // planned files by path from the root, with slashes; nil for a file that is to go
	Step    func(string)      // is told what is being done; may be nil
}

// A Report is what came of a test.
type Report struct {
	Passed      bool
	Diagnostics []typecheck.Diagnostic // what the compiler or the linker says; if they say something, nothing was run
	Cases       []Case                 // the subtests that began, in that order; the test itself if it has none, or something to say
	Printed     string                 // what was printed to standard output and standard error, the words of a crash included
	Ended       string                 // if the process ended before its test did, why, in one sentence; empty if not
	Confined    bool                   // the system kept it from writing outside its own temporary folder
	Took        time.Duration          // how long it ran
}

// A Case is one subtest. The testing package writes underscores for the spaces of a name; here
// are spaces for both.
type Case struct {
	Name     string
	Passed   bool
	Skipped  bool     // which is neither passed nor failed
	Messages []string // what it said with t.Error and the like, without the place
}

// Test builds the tests of the package in a folder, named from the root with slashes, and runs
// one of them with its subtests. What is wrong with the code is in the report; the error is
// about Go, about the system, about a test that is not there, or that of ctx.
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

// Build builds the program in a folder, named from the root with slashes, and keeps nothing of
// it. It returns what the compiler or the linker says.
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
