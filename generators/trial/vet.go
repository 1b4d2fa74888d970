package trial

import (
	"context"
	"regexp"

	"github.com/petrock/petrock/generators/typecheck"
)

// markVet marks the diagnostics of go test that are findings of go vet. The go command prints compile errors
// in the same way.
func (b buildDir) markVet(ctx context.Context, flags, dirs []string, found []typecheck.Diagnostic) ([]typecheck.Diagnostic, error) {
	if len(found) == 0 {
		return nil, nil
	}
	options := b.options(flags)
	options.Patterns = nil
	for _, dir := range dirs {
		options.Patterns = append(options.Patterns, "./"+dir)
	}
	compiled, err := typecheck.CheckPackages(ctx, options)
	if err != nil {
		return nil, err
	}
	isCompileError := map[typecheck.Diagnostic]bool{}
	for _, d := range compiled.Diagnostics {
		d.Package = "" // may be a test variant
		isCompileError[d] = true
	}
	// The go command caches findings with the path that the file had in an earlier temporary folder.
	planned := regexp.MustCompile(`^.*/` + regexp.QuoteMeta(tempPrefix) + `[^/]*/files/`)
	for i, d := range found {
		d.Package, d.File = "", planned.ReplaceAllString(d.File, "")
		found[i].File = d.File
		if d.File != "" && !isCompileError[d] {
			found[i].Message = typecheck.VetMark + d.Message
		}
	}
	return found, nil
}
