package devserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/handover"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// dispatch runs an operation that uses a generator: it calls here in this process, or runs the
// program that [handover.Operation] chooses with args. If that program is unavailable, dispatch
// calls here and adds a warning; for a project generator it fails.
func (t *Tools) dispatch(ctx context.Context, p *openProject, kind string, here func() (*engine.Result, error), input []byte, args ...string) (*engine.Result, error) {
	known := hasKind(t.options.Generators, kind)
	if !known {
		if err := t.checkOwn(ctx, p, kind); err != nil {
			return nil, err
		}
	}
	operation := handover.Operation{Root: p.engine.Root(), IsCurrent: t.hasGeneratorsOf(p), NeedsOwn: !known, NoExec: t.options.NoExec}
	program, err := operation.Program()
	if program == "" && err == nil {
		return here()
	}
	var result *engine.Result
	if err == nil {
		result, err = t.runProgram(ctx, p, program, input, args...)
	}
	if unavailable, ok := errors.AsType[*handover.UnavailableError](err); ok && known {
		if result, err = here(); err == nil {
			result.Warnings = append(result.Warnings, typecheck.Diagnostic{Message: "ran without the project's version of the generators: " + unavailable.Error()})
		}
	}
	return result, err
}

// checkOwn returns an error if the project has no generator of its own named kind.
func (t *Tools) checkOwn(ctx context.Context, p *openProject, kind string) error {
	own, problems, err := p.engine.OwnGenerators(ctx)
	switch {
	case err != nil:
		return err
	case hasKind(own, kind):
		return nil
	case len(problems) > 0:
		return &engine.Refusal{
			Reason:      derive.OwnGenerators + " does not compile, so the project's own generators are left out:",
			Diagnostics: problems,
			Remedy:      "Nothing was changed. Petrock's generators still work.",
		}
	}
	return terminal.Usagef("generator %q does not exist; the generators are %s", kind, strings.Join(append(gen.Names(t.options.Generators), gen.Names(own)...), ", "))
}

func hasKind(all []gen.Generator, kind string) bool { return slices.Contains(gen.Names(all), kind) }

// A homeProject is the project that this process was built from.
type homeProject struct {
	root       string
	generators engine.Sum // when the process started
}

// findHomeProject returns the project that encloses a directory, or nil.
func findHomeProject(dir string) *homeProject {
	found, err := project.Find(dir)
	if err != nil {
		return nil
	}
	return &homeProject{root: found.Root, generators: sumGenerators(found.Root)}
}

// sumGenerators returns hashes of the folder generators, without the archives of parts, which are not
// compiled.
func sumGenerators(root string) engine.Sum {
	sum := engine.SumOf(os.DirFS(root), "generators")
	for _, part := range parts.All() {
		delete(sum, part.Archive())
	}
	return sum
}

// hasGeneratorsOf reports whether this process was built from the generators of the project: it is the
// home project and unchanged since the start, or has unmodified code of the same version.
func (t *Tools) hasGeneratorsOf(p *openProject) bool {
	files := os.DirFS(p.engine.Root())
	if t.home != nil && t.home.root == p.engine.Root() {
		return maps.Equal(t.home.generators, sumGenerators(p.engine.Root()))
	}
	sum, err := engine.ReadSum(files)
	return err == nil && p.engine.PetrockVersion() == generators.Version && sum.Compare(files, "generators").IsEmpty()
}

// runProgram runs a program of the project and returns the result that it prints.
func (t *Tools) runProgram(ctx context.Context, p *openProject, program string, input []byte, args ...string) (*engine.Result, error) {
	p.engine.Step("building " + program)
	executable, err := handover.Build(ctx, p.engine.Root(), program)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	p.engine.Step("running " + program)
	if args = append(args, "--json"); wantsDetail(ctx) && p.engine.CodeVersion() != "0.1.0" { // which always prints everything
		args = append(args, "--detail")
	}
	out, errOut, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: p.engine.Root(), Stdin: bytes.NewReader(input), Group: true}, executable, args...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		result := &engine.Result{}
		if err := json.Unmarshal(out, result); err != nil {
			return nil, fmt.Errorf("read the output of %s: %w", program, err)
		}
		return result, nil
	}
	fault := &engine.Fault{}
	if json.Unmarshal(out, fault) != nil || fault.Message == "" {
		return nil, fmt.Errorf("run %s: %w\n%s", program, err, strings.TrimSpace(string(errOut)))
	}
	return nil, fault
}

// notify notifies clients of resources that an operation changed, and updates the tools of the
// project's own generators. It returns result and err.
func (t *Tools) notify(ctx context.Context, p *openProject, result *engine.Result, err error) (*engine.Result, error) {
	if err != nil || result.DryRun {
		return result, err
	}
	t.server.ResourceUpdated(projectURI)
	t.server.ResourceUpdated(historyURI)
	if slices.ContainsFunc(result.Files, func(f engine.FileChange) bool { return strings.HasPrefix(f.Path, derive.OwnGenerators+"/") }) {
		t.refreshOwnGenerators(ctx, p)
	}
	return result, nil
}

// offerOwnGenerators registers the current project's own generators as tools.
func (t *Tools) offerOwnGenerators(ctx context.Context) {
	found, err := t.findProject("")
	if err != nil {
		return
	}
	if _, err := os.Stat(filepath.Join(found.Root, filepath.FromSlash(derive.OwnGenerators))); err != nil {
		return
	}
	p, done, err := t.acquire(ctx, "")
	if err != nil {
		return // the first call that needs the project reports it
	}
	defer done()
	t.refreshOwnGenerators(ctx, p)
}

// refreshOwnGenerators updates the tools of the project's own generators. Only the current project has
// such tools; for other projects, clients use generate_component.
func (t *Tools) refreshOwnGenerators(ctx context.Context, p *openProject) {
	if current, err := t.findProject(""); err != nil || current.Root != p.engine.Root() {
		return
	}
	own, problems, err := p.engine.OwnGenerators(ctx)
	if err != nil || len(problems) > 0 {
		mcp.Logger(ctx).Warn("the project's own generators are left out", "folder", derive.OwnGenerators, "problems", problems, "error", err)
		return
	}
	t.projects.mu.Lock()
	defer t.projects.mu.Unlock()
	now := append(slices.Clone(t.options.Generators), own...)
	for _, g := range own {
		was, offered := t.projects.offered[g.Name]
		if hasKind(t.options.Generators, g.Name) || offered && was.Description == g.Description && bytes.Equal(was.InputSchema, g.InputSchema) {
			continue
		}
		if offered {
			t.server.RemoveTool("generate_" + g.Name)
			delete(t.projects.offered, g.Name)
		}
		t.offerGenerator(ctx, t.server, g)
	}
	for name := range t.projects.offered {
		if !hasKind(now, name) {
			t.server.RemoveTool("generate_" + name)
			delete(t.projects.offered, name)
		}
	}
}
