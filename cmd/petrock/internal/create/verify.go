package create

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/generators/typecheck"
)

// verify compiles the project, tests included, and links its programs, as if it were at its
// destination already. What Go compiles so, it finds in its cache when the project is there in truth.
//
// If that fails because of a module that is not on this machine and could not be fetched, it is
// tried without that one: some are for other systems. If it has come meanwhile, by way of
// another process, it is tried again.
func verify(ctx context.Context, to *destination, files []scaffold.File, result *Result) error {
	without := unused(find(files, "go.sum"))
	var first error
	for again := true; ; {
		err := verifyWithout(ctx, to, files, result, without)
		if err == nil || ctx.Err() != nil {
			return err
		}
		first = cmp.Or(first, err)
		named := slices.DeleteFunc(required(files), func(m module.Version) bool {
			return slices.Contains(without, m) || !strings.Contains(err.Error(), m.Path)
		})
		missing := missingModules(ctx, files)
		more := slices.DeleteFunc(slices.Clone(missing), func(m module.Version) bool { return !slices.Contains(named, m) })
		switch {
		case len(more) > 0:
			without = append(without, more...)
		case len(named) > 0 && again:
			again = false
		default:
			return explain(first, missing)
		}
	}
}

func verifyWithout(ctx context.Context, to *destination, files []scaffold.File, result *Result, without []module.Version) error {
	flags, env, err := pretend(to, files, without)
	if err != nil {
		return err
	}
	checked, err := typecheck.CheckPackages(ctx, typecheck.BuildOptions{
		Dir:      to.Scratch(),
		Roots:    []string{to.Dest(), to.Dir()},
		Patterns: packages(files, result.Module),
		Flags:    flags,
		Env:      env,
	})
	if err == nil && len(checked.Diagnostics) > 0 {
		err = &brokenError{checked.Diagnostics}
	}
	if err == nil {
		err = sawAll(checked, files, result.Module)
	}
	return err
}

// packages are the import paths of the packages in the files.
func packages(files []scaffold.File, module string) []string {
	var all []string
	for _, file := range files {
		if path.Ext(file.Path) == ".go" {
			all = append(all, module+"/"+path.Dir(file.Path))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sawAll makes sure that Go has looked at the project, and at all of it.
func sawAll(checked *typecheck.BuildResult, files []scaffold.File, module string) error {
	for _, pkg := range packages(files, module) {
		if !slices.Contains(checked.Packages, pkg) {
			return fmt.Errorf("the go command has not compiled %s, and does not say why", pkg)
		}
	}
	if len(checked.Programs) < 2 {
		return errors.New("the go command has not built the programs, and does not say why")
	}
	return nil
}

// A brokenError says that what was written does not compile.
type brokenError struct{ found []typecheck.Diagnostic }

func (e *brokenError) Error() string {
	var text strings.Builder
	text.WriteString("the project does not compile, so it was not made:")
	for _, d := range e.found[:min(10, len(e.found))] {
		fmt.Fprintf(&text, "\n%s", d)
	}
	return text.String()
}
