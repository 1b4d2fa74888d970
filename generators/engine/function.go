package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A mishap is an error that is not the fault of whoever asked.
type mishap struct{ error }

// function finds a function of the project that a tool is to be made of, and says why none can be.
func (e *Engine) function(ctx context.Context, text string) (*gen.Function, error) {
	ref, err := e.reference(text)
	if err != nil {
		return nil, err
	}
	place, _ := derive.PlaceOf(derive.Tool)
	if ref.dir == place.Dir {
		return nil, fmt.Errorf("%q is in the package of the tools, where exported functions of the right shape are tools already: go doc ./generators/derive", ref)
	}
	pkg, err := e.compiled(ctx, ref.dir)
	if err != nil {
		return nil, err
	}
	if err := e.importable(ref, pkg); err != nil {
		return nil, err
	}
	object, err := find(ref, pkg)
	if err != nil {
		return nil, err
	}
	f := &gen.Function{
		Ref:       ref.String(),
		Path:      pkg.Path(),
		Package:   pkg.Name(),
		Call:      ref.call,
		Signature: object.Type().Underlying().(*types.Signature),
		Doc:       e.doc(object),
		Input:     func(t types.Type) (json.RawMessage, error) { return e.deriver.Schema(e.before, place, t, false) },
		Output:    func(t types.Type) (json.RawMessage, error) { return e.deriver.Schema(e.before, place, t, true) },
	}
	for _, file := range e.before.Files(place.Dir) {
		if !strings.HasSuffix(file.Syntax.Name.Name, "_test") {
			f.Taken = append(f.Taken, file.Names()...)
		}
	}
	if f.Signature.TypeParams() != nil {
		return nil, f.Errorf("it is generic, and a tool has to say for which types")
	}
	return f, writable(f, e.toolsPath())
}

// toolsPath is the import path of the package that tools are in.
func (e *Engine) toolsPath() string {
	place, _ := derive.PlaceOf(derive.Tool)
	return e.checker.ImportPath(place.Dir)
}

// compiled is the package in a folder, which has to compile: a server with a tool that calls it
// would not, otherwise.
func (e *Engine) compiled(ctx context.Context, dir string) (*types.Package, error) {
	pass, err := e.checker.NewPass(ctx, e.before, []string{dir}, typecheck.PassOptions{
		Skip:   (*typecheck.File).IsTest,
		Bodies: func(file *typecheck.File) bool { return file.Dir() == dir },
	})
	if err != nil {
		return nil, mishap{err}
	}
	pkg, wrong := pass.Package(dir)
	switch {
	case pass.Err() != nil:
		return nil, mishap{pass.Err()}
	case pkg == nil:
		return nil, fmt.Errorf("in %s there is no Go that a build takes, apart from tests", asFolder(dir))
	case len(wrong) > 0:
		return nil, &Refusal{
			Reason:      fmt.Sprintf("%s does not compile, and neither would a server with a tool of it:", asFolder(dir)),
			Diagnostics: wrong,
			WayOut:      "Mend that first. Nothing was changed.",
			before:      true,
		}
	}
	return pkg, nil
}

// importable says why the tools cannot import a package.
func (e *Engine) importable(ref reference, pkg *types.Package) error {
	tools := e.toolsPath()
	switch {
	case pkg.Name() == "main":
		return fmt.Errorf("%q is in a program, which no package can import; move the function to a package of its own", ref)
	case strings.HasPrefix(ref.dir+"/", "generators/"):
		return fmt.Errorf("%q is part of petrock, which servers do not link; copy what you need to a package of yours", ref)
	case !typecheck.MayImport(tools, pkg.Path()):
		return fmt.Errorf("%q is in a package that is internal to others, which the tools may not import; move the function, or write one beside that folder that calls it", ref)
	}
	if way := e.way(pkg, tools, map[string]bool{}); way != nil {
		return fmt.Errorf("%q is in a package that imports the tools itself (%s), so they cannot import it; move the function to another package", ref, strings.Join(way, " → "))
	}
	return nil
}

// way is how a package imports another, through packages of the project; nil if it does not.
func (e *Engine) way(pkg *types.Package, other string, seen map[string]bool) []string {
	seen[pkg.Path()] = true
	if pkg.Path() == other {
		return []string{other}
	}
	for _, next := range pkg.Imports() {
		if seen[next.Path()] || !strings.HasPrefix(next.Path()+"/", e.checker.Module().Path+"/") {
			continue
		}
		if way := e.way(next, other, seen); way != nil {
			return append([]string{pkg.Path()}, way...)
		}
	}
	return nil
}

// nonUsageError returns the mishap or the refusal in an error, or nil if the error is wrong usage.
func nonUsageError(err error) error {
	if f, ok := errors.AsType[mishap](err); ok {
		return f.error
	}
	if refused, ok := errors.AsType[*Refusal](err); ok {
		return refused
	}
	return nil
}
