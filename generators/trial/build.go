package trial

import (
	"context"
	"fmt"
	"os"

	"github.com/petrock/petrock/generators/typecheck"
)

// build builds the tests of a package. If the compiler has something to say, that is all there is.
func build(ctx context.Context, o Options, dir string) (l laid, found []typecheck.Diagnostic, err error) {
	if l, err = overlay(o, dir); err != nil {
		return laid{}, nil, err
	}
	// What GOFLAGS may hold would need much more memory, or print. Without what debuggers read it links faster.
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
