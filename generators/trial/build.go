package trial

import (
	"context"
	"fmt"
	"os"

	"github.com/petrock/petrock/generators/typecheck"
)

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
