package trial

import (
	"context"
	"path/filepath"

	"github.com/petrock/petrock/generators/typecheck"
)

// RunTest runs a test of a package confined, and returns its report; nil if the package does not
// build.
func RunTest(ctx context.Context, o Options, dir, test string, l Limits) (*Report, []typecheck.Diagnostic, error) {
	s, err := Packages(ctx, o, Selection{Dirs: map[string]string{"weather/" + dir: dir}, Run: "^" + test + "$", Examples: Examples{dir, test}}, l)
	if err != nil || s.Examples == nil {
		return nil, s.diagnostics(), err
	}
	return s.Examples, nil, nil
}

func (s *Summary) diagnostics() []typecheck.Diagnostic {
	if s == nil {
		return nil
	}
	return s.Diagnostics
}

// A Program is the tests of a package, built once to be run many times.
type Program struct{ dir buildDir }

// BuildTests builds the tests of a package.
func BuildTests(ctx context.Context, o Options, dir string) (*Program, []typecheck.Diagnostic, error) {
	b, err := newBuildDir(o, []string{dir})
	if err != nil {
		return nil, nil, err
	}
	p := &Program{b}
	options := b.options()
	options.Patterns, options.Flags = []string{"./" + dir}, []string{"-overlay=" + b.overlayFile()}
	found, err := typecheck.Build(ctx, options, "test", "-c", "-vet=off", "-o", p.file())
	return p, found, err
}

func (p *Program) file() string { return filepath.Join(p.dir.dir, "program.exe") } // Windows needs the extension

// Run runs a test confined.
func (p *Program) Run(ctx context.Context, test string, l Limits) (*Report, error) {
	return p.dir.run(ctx, p.file(), test, l.withDefaults())
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
