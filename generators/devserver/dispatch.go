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

// dispatch does something with a generator: in this process, or by the command line of the program
// that [handover.Operation] names. If that is unavailable, petrock's generators run here, with a
// warning.
func (t *Tools) dispatch(ctx context.Context, p *opened, kind string, here func() (*engine.Result, error), input []byte, args ...string) (*engine.Result, error) {
	known := hasKind(t.options.Generators, kind)
	if !known {
		if err := t.findOwn(ctx, p, kind); err != nil {
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
		result, err = t.ask(ctx, p, program, input, args...)
	}
	if unavailable, ok := errors.AsType[*handover.UnavailableError](err); ok && known {
		if result, err = here(); err == nil {
			result.Warnings = append(result.Warnings, typecheck.Diagnostic{Message: "the project's petrock has other generators, and this was done without them: " + unavailable.Error()})
		}
	}
	return result, err
}

// findOwn refuses a kind that is none of the project's own generators.
func (t *Tools) findOwn(ctx context.Context, p *opened, kind string) error {
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
			WayOut:      "Nothing was changed. Petrock's generators still work.",
		}
	}
	return terminal.Usagef("there is no generator %q; there are %s", kind, strings.Join(append(gen.Kinds(t.options.Generators), gen.Kinds(own)...), ", "))
}

func hasKind(all []gen.Generator, kind string) bool { return slices.Contains(gen.Kinds(all), kind) }

// startedIn is the project whose petrock this process is.
type startedIn struct {
	root       string
	generators engine.Sum // as they were when the process started
}

// newStartedIn looks for the project around a directory; nil if there is none.
func newStartedIn(dir string) *startedIn {
	found, err := project.Find(dir)
	if err != nil {
		return nil
	}
	return &startedIn{root: found.Root, generators: sumGenerators(found.Root)}
}

// sumGenerators returns hashes of the folder generators, without the archives of parts, which no
// program is built from.
func sumGenerators(root string) engine.Sum {
	sum := engine.SumOf(os.DirFS(root), "generators")
	for _, part := range parts.All() {
		delete(sum, part.Archive())
	}
	return sum
}

// hasGeneratorsOf reports whether the project's folder generators holds what this process was built
// from: what it held at the start, if this is the project's petrock, or else petrock's own code of
// the same version.
func (t *Tools) hasGeneratorsOf(p *opened) bool {
	files := os.DirFS(p.engine.Root())
	if t.startedIn != nil && t.startedIn.root == p.engine.Root() {
		return maps.Equal(t.startedIn.generators, sumGenerators(p.engine.Root()))
	}
	sum, err := engine.ReadSum(files)
	return err == nil && p.engine.Petrock() == generators.Version && sum.Compare(files, "generators").IsEmpty()
}

// ask runs a command of a program of the project, and reads the result that it prints.
func (t *Tools) ask(ctx context.Context, p *opened, program string, input []byte, args ...string) (*engine.Result, error) {
	p.engine.Step("building " + program)
	executable, err := handover.Build(ctx, p.engine.Root(), program)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	p.engine.Step("running " + program)
	out, errOut, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: p.engine.Root(), Stdin: bytes.NewReader(input), Group: true}, executable, append(args, "--json")...)
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

// after tells clients what an operation has changed: what can be read of the project, and the tools
// of its own generators.
func (t *Tools) after(ctx context.Context, p *opened, result *engine.Result, err error) (*engine.Result, error) {
	if err != nil || result.DryRun {
		return result, err
	}
	t.server.ResourceUpdated(projectURI)
	t.server.ResourceUpdated(historyURI)
	if slices.ContainsFunc(result.Files, func(f engine.FileChange) bool { return strings.HasPrefix(f.Path, derive.OwnGenerators+"/") }) {
		t.refresh(ctx, p)
	}
	return result, nil
}

// offerOwn offers the generators of the project that this process was started in as tools.
func (t *Tools) offerOwn(ctx context.Context) {
	found, err := t.find("")
	if err != nil {
		return
	}
	if _, err := os.Stat(filepath.Join(found.Root, filepath.FromSlash(derive.OwnGenerators))); err != nil {
		return
	}
	p, done, err := t.take(ctx, "")
	if err != nil {
		return // the first call that needs the project reports it
	}
	defer done()
	t.refresh(ctx, p)
}

// refresh offers the project's own generators as tools, as their source is now. It does so for the
// default project; for others there is generate_component.
func (t *Tools) refresh(ctx context.Context, p *opened) {
	if meant, err := t.find(""); err != nil || meant.Root != p.engine.Root() {
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
		t.offer(ctx, t.server, g)
	}
	for name := range t.projects.offered {
		if !hasKind(now, name) {
			t.server.RemoveTool("generate_" + name)
			delete(t.projects.offered, name)
		}
	}
}
