package devserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// by does something that takes a generator of the project: with this process, if it has the one that the
// project has, and else with the project's own petrock, built anew. Where that cannot be asked, this
// process does what it can, and says so.
func (t *Tools) by(ctx context.Context, p *opened, kind string, own func(*engine.Engine) (*engine.Result, error), other func() (*engine.Result, error)) (*engine.Result, error) {
	known := has(t.options.Generators, kind)
	mine, err := p.mine(ctx, t.carried)
	switch {
	case err != nil:
		return nil, err
	case known && mine:
		return own(p.engine)
	case !known:
		now, err := p.engine.Carried(ctx)
		if err != nil {
			return nil, err
		}
		if !has(now, kind) {
			return nil, terminal.Usagef("there is no generator %q; there are %s", kind, strings.Join(names(now), ", "))
		}
	}
	result, err := other()
	if absent := (*absentError)(nil); known && errors.As(err, &absent) {
		if result, err = own(p.engine); err == nil {
			result.Warnings = append(result.Warnings, typecheck.Diagnostic{Message: "the project has changed its generators, and this was done without those changes: " + absent.Error()})
		}
	}
	return result, err
}

// has reports whether there is a generator of a kind.
func has(all []gen.Generator, kind string) bool { return slices.Contains(names(all), kind) }

// names are the kinds that generators are of.
func names(all []gen.Generator) []string {
	var names []string
	for _, g := range all {
		names = append(names, g.Name)
	}
	return names
}

// mine reports whether the generators of this process are those that the project has. What was added to
// the project since is another matter.
func (o *opened) mine(ctx context.Context, from *carried) (bool, error) {
	now, pristine, err := o.engine.Sources(ctx, generators.Version)
	if err != nil {
		return false, err
	}
	if o.source == nil {
		o.source = now
		if from != nil && !from.has(o.engine.Root(), now) || from == nil && !pristine {
			o.source = map[string]string{"": "never"}
		}
	}
	for file, hash := range o.source {
		if now[file] != hash {
			return false, nil
		}
	}
	return true, nil
}

// An absentError says why a project's own petrock cannot be asked.
type absentError struct{ why string }

// Error is the reason.
func (e *absentError) Error() string { return e.why }

// delegate has the project's own petrock do something, and reads what it printed. What it is to read
// is its standard input.
func (t *Tools) delegate(ctx context.Context, p *opened, input []byte, args ...string) (*engine.Result, error) {
	if t.options.NoExec {
		return nil, &absentError{"the project's own generators are not run, as running code is turned off here (--no-exec)"}
	}
	p.engine.Step("building the project's own petrock")
	program, err := typecheck.BuildProjectPetrock(ctx, p.engine.Root())
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &absentError{"the project's own petrock does not build: " + err.Error()}
	}
	p.engine.Step("asking the project's own petrock")
	out, errOut, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: p.engine.Root(), Stdin: bytes.NewReader(input)}, program, append(args, "--json")...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		result := &engine.Result{}
		if err := json.Unmarshal(out, result); err != nil {
			return nil, fmt.Errorf("reading what the project's own petrock printed: %w", err)
		}
		return result, nil
	}
	fault := &engine.Fault{}
	if json.Unmarshal(out, fault) != nil || fault.Message == "" {
		return nil, fmt.Errorf("the project's own petrock: %w\n%s", err, strings.TrimSpace(string(errOut)))
	}
	return nil, fault
}

// after tells clients what an operation has changed: what can be read of the project, and, if it has changed
// those, the generators that are tools.
func (t *Tools) after(ctx context.Context, p *opened, result *engine.Result, err error) (*engine.Result, error) {
	if err == nil && !result.DryRun {
		t.server.ResourceUpdated(projectURI)
		t.server.ResourceUpdated(historyURI)
	}
	if err == nil && !result.DryRun && slices.ContainsFunc(result.Files, func(f engine.FileChange) bool { return strings.HasPrefix(f.Path, "generators/") }) {
		t.refresh(ctx, p)
	}
	return result, err
}

// refresh makes the tools of this server those of the generators that the project has now, if the project is the one
// that is meant when none is named. Others have generate_component.
func (t *Tools) refresh(ctx context.Context, p *opened) {
	if meant, err := t.find(""); err != nil || meant.Root != p.engine.Root() {
		return
	}
	now, err := p.engine.Carried(ctx)
	if err != nil || len(now) == 0 {
		return // what cannot be read is as it was
	}
	t.projects.mu.Lock()
	defer t.projects.mu.Unlock()
	for _, g := range now {
		was, offered := t.projects.offered[g.Name]
		if offered && was.Description == g.Description && bytes.Equal(was.InputSchema, g.InputSchema) {
			continue
		}
		if offered {
			t.server.RemoveTool("generate_" + g.Name)
			delete(t.projects.offered, g.Name)
		}
		t.offer(ctx, t.server, g)
	}
	for name := range t.projects.offered {
		if !has(now, name) {
			t.server.RemoveTool("generate_" + name)
			delete(t.projects.offered, name)
		}
	}
}
