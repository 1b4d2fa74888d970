package trial

import (
	"context"

	"github.com/petrock/petrock/generators/typecheck"
)

// RunTest is Tests for one test.
func RunTest(ctx context.Context, o Options, dir, test string, l Limits) (*Report, error) {
	reports, err := Tests(ctx, o, dir, []string{test}, l)
	if err != nil {
		return nil, err
	}
	return reports[0], nil
}

// A Program is the tests of a package, built once to be run many times.
type Program struct{ dir buildDir }

// BuildTests is the first half of Test.
func BuildTests(ctx context.Context, o Options, dir string) (*Program, []typecheck.Diagnostic, error) {
	l, found, err := build(ctx, o, dir)
	return &Program{l}, found, err
}

// Run is the second half of Test.
func (p *Program) Run(ctx context.Context, test string, l Limits) (*Report, error) {
	return p.dir.run(ctx, test, l.withDefaults())
}

// ProgramIn returns a program that was built in a temporary folder.
func ProgramIn(dir string) *Program { return &Program{buildDir{dir: dir}} }

// Dir returns the temporary folder.
func (p *Program) Dir() string { return p.dir.dir }

// Remove removes the temporary folder.
func (p *Program) Remove() { remove(p.dir.dir) }

// Parse returns the report for the output and exit code of a process.
func Parse(test, printed string, status int, l Limits) *Report {
	l = l.withDefaults()
	out := newOutput(l.Output)
	for rest := []byte(printed); len(rest) > 0; { // in pieces, as through a pipe
		n := min(7, len(rest))
		out.Write(rest[:n])
		rest = rest[n:]
	}
	report := &Report{}
	out.end(test).fill(report, exitState{status: status, description: "signal: killed"}, l)
	return report
}
