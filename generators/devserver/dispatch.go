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
	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/handover"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// dispatch runs an operation that uses a generator, or that may use those of parts if kind is
// empty: it calls here in this process, or runs the program that [handover.Operation] chooses with
// args. If that program is unavailable, dispatch calls here and adds a warning; for a project
// generator it fails.
func (t *Tools) dispatch(ctx context.Context, p *openProject, kind string, here func() (*engine.Result, error), input []byte, args ...string) (*engine.Result, error) {
	lacks := t.lacksPart(p, kind)
	if kind == "" && !lacks {
		return here()
	}
	known := kind == "" || hasKind(t.options.Generators, kind)
	operation := handover.Operation{Root: p.engine.Root(), IsCurrent: t.hasGeneratorsOf(p) && !lacks, NeedsOwn: !known, NoExec: t.options.NoExec}
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

func hasKind(all []gen.Generator, kind string) bool { return slices.Contains(gen.Names(all), kind) }

// lacksPart reports whether this process was built without the code for features, and a generator
// of that kind needs it, or the project has features by now.
func (t *Tools) lacksPart(p *openProject, kind string) bool {
	return !hasKind(t.options.Generators, "version") && (engine.NeedsFeatures(kind) || hasFeatures(p.engine.Root()))
}

// sumGenerators returns hashes of the folder generators, without the code of parts.
func sumGenerators(root string) engine.Sum {
	sum := engine.SumOf(os.DirFS(root), "generators")
	maps.DeleteFunc(sum, func(file, _ string) bool {
		return file == parts.Linked || slices.ContainsFunc(parts.All(), func(part parts.Part) bool { return file == part.Archive() || part.Holds(file) })
	})
	return sum
}

// hasGeneratorsOf reports whether this process was built from the generators of the project: they
// are unchanged since the start or, in the installed petrock, unmodified code of the same version.
func (t *Tools) hasGeneratorsOf(p *openProject) bool {
	if t.builtFrom != nil {
		return maps.Equal(t.builtFrom, sumGenerators(p.engine.Root()))
	}
	files := os.DirFS(p.engine.Root())
	sum, err := engine.ReadSum(files)
	return err == nil && p.engine.PetrockVersion() == generators.Version && sum.Compare(files, "generators").IsEmpty()
}

// PrefixVariable makes a program name other calls as tools with this prefix.
const PrefixVariable = "PETROCK_TOOL_PREFIX"

// runProgram runs a program of the project and returns the result that it prints.
func (t *Tools) runProgram(ctx context.Context, p *openProject, program string, input []byte, args ...string) (*engine.Result, error) {
	p.engine.Step("building " + program)
	executable, err := engine.BuildPetrock(ctx, p.engine.Root(), program)
	if err != nil {
		return nil, err
	}
	p.engine.Step("running " + program)
	if args = append(args, "--json"); wantsDetail(ctx) {
		args = append(args, "--detail")
	}
	environ := append(os.Environ(), PrefixVariable+"="+t.options.Prefix)
	out, errOut, err := process.Run(ctx, process.RunOptions{Dir: p.engine.Root(), Env: environ, Stdin: bytes.NewReader(input), Group: true}, executable, args...)
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

// offerOwnGenerators registers the current project's own generators as tools.
func (t *Tools) offerOwnGenerators(ctx context.Context) {
	found, err := t.options.Find("")
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

// refreshOwnGenerators updates the tools of the project's own generators. Only the current project
// has such tools; for other projects, clients use generate_component.
func (t *Tools) refreshOwnGenerators(ctx context.Context, p *openProject) {
	if current, err := t.options.Find(""); err != nil || current.Root != p.engine.Root() {
		return
	}
	own, problems, err := p.engine.OwnGenerators(ctx)
	if err != nil || len(problems) > 0 {
		mcp.Logger(ctx).Warn("the project's own generators are left out", "folder", derive.OwnGenerators, "problems", problems, "error", err)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.EqualFunc(own, t.own, func(a, b gen.Generator) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
	}) {
		return
	}
	for _, tool := range t.offered {
		t.Server.RemoveTool(tool)
	}
	t.own, t.offered = own, nil
	for _, g := range own {
		if !hasKind(t.options.Generators, g.Name) && t.offerGenerator(ctx, g) {
			t.offered = append(t.offered, "generate_"+g.Name)
		}
	}
}

// An openProject serves one call at a time.
type openProject struct {
	busy   chan struct{} // holds a value during a call
	engine *engine.Engine
	noExec bool // of [Options]
}

// findProject returns the project that encloses the working directory. If dir is not empty, it must
// be the same project. [Options].Find replaces it.
func (t *Tools) findProject(dir string) (*project.Project, error) {
	found, err := project.Find(t.options.Dir)
	if errors.Is(err, project.ErrNone) {
		return nil, fmt.Errorf("%w; start this server in a project's folder, or run petrock new", err)
	}
	if err != nil || dir == "" {
		return found, err
	}
	path := filepath.FromSlash(dir)
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.options.Dir, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if other, err := project.Find(path); err != nil || other.Root != found.Root {
		return nil, terminal.Usagef("dir %q: this server works only on the project in %s; start one in the other project", dir, found.Root)
	}
	return found, nil
}

// acquire returns a project for exclusive use until done is called. The client gets the steps of
// the engine as progress.
func (t *Tools) acquire(ctx context.Context, dir string) (o *openProject, done func(), err error) {
	if o, err = t.project(dir); err != nil {
		return nil, nil, err
	}
	select {
	case o.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	step := 0.0
	o.engine.Step = func(name string) {
		step++
		mcp.Progress(ctx, step, 0, name)
	}
	return o, func() { o.engine.Step = nil; <-o.busy }, nil
}

// project returns a project that other calls may use too.
func (t *Tools) project(dir string) (*openProject, error) {
	found, err := t.options.Find(dir)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.open[found.Root]; o != nil && o.engine.IsSameFolder() {
		return o, nil
	}
	e, err := engine.OpenProject(found, t.options.Generators)
	if err != nil {
		return nil, err
	}
	e.Limits, e.FormatCall = t.options.Limits, FormatCall(t.options.Prefix)
	o := &openProject{busy: make(chan struct{}, 1), engine: e, noExec: t.options.NoExec}
	t.open[found.Root] = o
	return o, nil
}

// toolNames are the tools that do the same as commands of the command line.
var toolNames = map[string]string{
	"apply": "apply", "change": "change", "destroy": "destroy_component", "edit": "edit", "generate": "generate_component",
	"history": "history", "list": "list_components", "redo": "undo", "sync": "build", "test": "test", "undo": "undo",
}

// FormatCall returns a function that writes a call as the call of a tool, for tools whose names
// start with a prefix: destroy_component {"kind":"command","name":"posts/create","retire":true}. A
// call without a tool stays a command line.
//
//petrock:ignore
func FormatCall(prefix string) func(gen.Call) string {
	return func(c gen.Call) string {
		tool, ok := toolNames[c.Command]
		if !ok && c.Command != "" {
			return c.String()
		}
		var members []string
		for _, a := range c.Arguments {
			value, err := strictjson.Marshal(a.Value)
			if err != nil || a.Value == nil {
				members = append(members, a.Name)
			} else {
				members = append(members, fmt.Sprintf("%q:%s", a.Name, value))
			}
		}
		if c.Command == "redo" {
			members = append(members, `"redo":true`)
		}
		arguments := strings.Join(members, ",")
		switch {
		case c.Command == "":
			return arguments
		case arguments == "":
			return prefix + tool
		}
		return fmt.Sprintf("%s%s {%s}", prefix, tool, arguments)
	}
}
