package typecheck

import (
	"context"
	"slices"
	"strings"
)

// Build runs a go command that builds, such as go build or go test -c, and returns compile errors. The
// error is about the go command itself.
func Build(ctx context.Context, o BuildOptions, command ...string) ([]Diagnostic, error) {
	o = o.complete()
	_, errOut, err := o.run(ctx, slices.Concat(command, o.Flags), o.Patterns)
	if err == nil {
		return nil, nil
	}
	result, err := o.refused(err, errOut)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(result.Diagnostics, func(d Diagnostic) bool { return strings.Contains(d.Message, " is not in std") }) {
		if out, _, err := o.run(ctx, []string{"list", "-m"}, nil); err == nil { // of a workspace, it lists many
			result.Module, _, _ = strings.Cut(string(out), "\n")
		}
	}
	for i, d := range result.Diagnostics {
		result.Diagnostics[i] = d.in(result)
	}
	slices.SortFunc(result.Diagnostics, Diagnostic.Compare)
	return slices.Compact(result.Diagnostics), nil
}
