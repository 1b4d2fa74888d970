package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/kit"
)

// Generate runs a generator and puts what it makes into the project.
func (e *Engine) Generate(ctx context.Context, kind string, input json.RawMessage, o Options) (*Result, error) {
	g, err := e.generator(kind)
	if err != nil {
		return nil, err
	}
	s, err := schema.Compile(string(g.InputSchema))
	if err != nil {
		return nil, fmt.Errorf("the generator %s: %w", kind, err)
	}
	if err := s.Validate(input); err != nil {
		return nil, terminal.Usagef("%s: %w", kind, err)
	}
	op := journal.Operation{Action: actionGenerate, Title: title(kind, input)}
	return e.transact(ctx, &op, o, func(_ *journal.Journal, result *Result) (*plan, error) {
		draft, err := g.Make(e.facts(), input)
		if err != nil {
			return nil, terminal.Usagef("%s: %w", kind, err)
		}
		result.Kind, result.Name, result.Next = draft.Kind, draft.Name, draft.Next
		p := newPlan()
		for _, file := range draft.Files {
			p.texts[file.Path] = file.Text
		}
		e.conflicts(p, draft)
		if len(p.conflicts) > 0 {
			return p, nil
		}
		return p, e.derive(ctx, p, e.touched(p), true)
	})
}

// generator is the one of a name.
func (e *Engine) generator(kind string) (kit.Generator, error) {
	var names []string
	for _, g := range e.generators {
		if g.Name == kind {
			return g, nil
		}
		names = append(names, g.Name)
	}
	return kit.Generator{}, terminal.Usagef("there is no generator %q; there are %s", kind, strings.Join(names, ", "))
}

// title says in one line what was asked for.
func title(kind string, input json.RawMessage) string {
	var in struct{ Name string }
	if json.Unmarshal(input, &in) != nil || in.Name == "" {
		return actionGenerate + " " + kind
	}
	return actionGenerate + " " + kind + " " + in.Name
}

// touched are the places that a plan has files in.
func (e *Engine) touched(p *plan) []derive.Place {
	dirs := p.dirs()
	return slices.DeleteFunc(derive.Places(), func(place derive.Place) bool { return !slices.Contains(dirs, place.Dir) })
}

// conflicts finds what is in the way of new files: files, and names that are taken.
func (e *Engine) conflicts(p *plan, draft kit.Draft) {
	for _, file := range draft.Files {
		if _, err := e.root.Lstat(file.Path); err == nil {
			p.conflicts = append(p.conflicts, file.Path+" is there already")
			continue
		} else if !isMissing(err) {
			p.conflicts = append(p.conflicts, err.Error())
			continue
		}
		if mod := e.otherModule(file.Path); mod != "" {
			p.conflicts = append(p.conflicts, fmt.Sprintf("%s is in another module, that of %s", file.Path, mod))
			continue
		}
		e.taken(p, file)
	}
}

// taken finds names that a new file declares and that another file of its package has.
func (e *Engine) taken(p *plan, file kit.File) {
	made := e.before.With(p.texts).File(file.Path)
	for _, other := range e.before.Files(path.Dir(file.Path)) {
		if other.IsDerived() || other.Syntax.Name.Name != made.Syntax.Name.Name {
			continue
		}
		for _, name := range other.Names() {
			if slices.Contains(made.Names(), name) {
				p.conflicts = append(p.conflicts, fmt.Sprintf("%s, which %s would declare, is declared in %s already", name, file.Path, other.Path))
			}
		}
	}
}
