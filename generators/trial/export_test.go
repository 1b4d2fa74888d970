package trial

import (
	"context"

	"github.com/petrock/petrock/generators/typecheck"
)

// A Program is the tests of a package, built once to be run many times.
type Program struct{ laid laid }

// BuildTests is the first half of Test.
func BuildTests(ctx context.Context, o Options, dir string) (*Program, []typecheck.Diagnostic, error) {
	l, found, err := build(ctx, o, dir)
	return &Program{l}, found, err
}

// Run is the second half of Test.
func (p *Program) Run(ctx context.Context, test string, l Limits) (*Report, error) {
	return p.laid.run(ctx, test, l.complete())
}

// ProgramIn is one that was built in a temporary folder.
func ProgramIn(dir string) *Program { return &Program{laid{dir: dir}} }

// Dir is the temporary folder.
func (p *Program) Dir() string { return p.laid.dir }

// Remove removes all there is of it.
func (p *Program) Remove() error { return p.laid.remove() }

// Parse makes a report of what a process printed that ended with a status.
func Parse(test, printed string, status int, l Limits) *Report {
	l = l.complete()
	out := newOutput(l.Output)
	for rest := []byte(printed); len(rest) > 0; { // in pieces, as through a pipe
		n := min(7, len(rest))
		out.Write(rest[:n])
		rest = rest[n:]
	}
	report := &Report{}
	out.end(test).fill(report, exit{status: status, words: "signal: killed"}, l)
	return report
}
