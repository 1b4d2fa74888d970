package trial

import (
	"context"
	"regexp"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// vetMark starts the message of a finding of go vet. Compile errors do not have it.
const vetMark = "vet: "

// IsVet reports whether a diagnostic is a finding of go vet.
func IsVet(d typecheck.Diagnostic) bool { return strings.HasPrefix(d.Message, vetMark) }

// Vet runs the checks of go vet that go test runs, on the packages in dirs with the planned files. It runs no
// code of the packages, except C compilers for cgo, and without noToolexec the program of -toolexec in
// GOFLAGS. The error is about the go command itself. If the packages do not compile, the result contains
// compile errors too.
func Vet(ctx context.Context, o Options, dirs []string, noToolexec bool) (found []typecheck.Diagnostic, err error) {
	b, err := newBuildDir(o, ".")
	if err != nil {
		return nil, err
	}
	defer func() { err = joinErrors(err, b.remove()) }()
	options := b.packages(o.Flags, dirs)
	if noToolexec {
		options.Flags = append(options.Flags, "-toolexec=")
	}
	// The flags of go test, in its order, so that both share the build cache.
	found, err = typecheck.Build(ctx, options, "vet", "-atomic", "-bool", "-buildtags", "-directive", "-errorsas", "-ifaceassert", "-nilfunc", "-printf", "-stringintconv", "-tests")
	if err != nil {
		return nil, err
	}
	return b.markVet(ctx, o.Flags, dirs, found)
}

// markVet marks the diagnostics of packages that are not compile errors: the go command prints both in the
// same way.
func (b buildDir) markVet(ctx context.Context, flags, dirs []string, found []typecheck.Diagnostic) ([]typecheck.Diagnostic, error) {
	if len(found) == 0 {
		return nil, nil
	}
	compiled, err := typecheck.CheckPackages(ctx, b.packages(flags, dirs))
	if err != nil {
		return nil, err
	}
	// The go command caches findings with the path that the file had in an earlier temporary folder.
	planned := regexp.MustCompile(`^.*/` + regexp.QuoteMeta(tempPrefix) + `[^/]*/files/`)
	isCompileError := map[typecheck.Diagnostic]bool{}
	for _, d := range compiled.Diagnostics {
		d.Package = "" // may be a test variant
		isCompileError[d] = true
	}
	for i, d := range found {
		d.File = planned.ReplaceAllString(d.File, "")
		found[i].File = d.File
		if d.Package = ""; d.File != "" && !isCompileError[d] {
			found[i].Message = vetMark + d.Message
		}
	}
	return found, nil
}

// packages returns the options to build the packages in dirs.
func (b buildDir) packages(flags, dirs []string) typecheck.BuildOptions {
	options := b.options(flags)
	options.Patterns = nil
	for _, dir := range dirs {
		options.Patterns = append(options.Patterns, "./"+dir)
	}
	return options
}
