package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// Generate runs a generator and puts what it makes into the project. A dry run is kept as a plan,
// which [Engine.Apply] puts into the project later.
func (e *Engine) Generate(ctx context.Context, kind string, input json.RawMessage, o Options) (*Result, error) {
	g, err := e.generator(kind)
	if err != nil {
		return nil, err
	}
	return e.generate(ctx, g, input, o, nil)
}

// generate runs a generator. If it is for a plan, only what is in the plan may come of it.
func (e *Engine) generate(ctx context.Context, g gen.Generator, input json.RawMessage, o Options, wanted *saved) (*Result, error) {
	s, err := schema.Compile(string(g.InputSchema))
	if err != nil {
		return nil, fmt.Errorf("the generator %s: %w", g.Name, err)
	}
	if err := s.Validate(input); err != nil {
		return nil, terminal.Usagef("%s: %w", g.Name, err)
	}
	op := journal.Operation{Action: actionGenerate}
	return e.transact(ctx, &op, o, func(_ *journal.Journal, result *Result) (*plan, error) {
		p := newPlan()
		p.strict = true
		if o.DryRun || wanted != nil {
			p.from = &saved{Kind: g.Name, Input: string(input), Made: e.made(), wanted: wanted}
			if err := p.from.changed(); err != nil {
				return nil, err
			}
		}
		draft, err := g.Make(e.facts(ctx), input)
		if other := blameless(err); other != nil {
			return nil, other
		}
		if err != nil {
			return nil, unmade(g.Name, err)
		}
		op.Title = title(g.Name, input, draft.Name)
		result.Kind, result.Name, result.Next = draft.Kind, draft.Name, draft.Next
		if err := e.write(ctx, p, draft); err != nil {
			return nil, err
		}
		e.conflicts(p, draft)
		if len(p.conflicts) > 0 {
			return p, nil
		}
		return p, e.derive(ctx, p, e.touched(p), true)
	})
}

// write plans the files of a draft, with the imports that they lack.
func (e *Engine) write(ctx context.Context, p *plan, draft gen.Draft) error {
	p.trial = draft.Trial
	for i, file := range draft.Files {
		if i == 0 {
			p.dir = path.Dir(file.Path)
		}
		if file.Seek {
			var err error
			if file.Text, err = e.seek(ctx, p, file); err != nil {
				return err
			}
			p.sent = file.Path
		}
		p.texts[file.Path] = formatted(file)
	}
	for _, file := range draft.Changes {
		p.texts[file.Path] = formatted(file)
	}
	p.settles = draft.Settles
	return nil
}

// formatted is a file as gofmt writes it, if it is Go.
func formatted(file gen.File) []byte {
	if path.Ext(file.Path) != ".go" {
		return file.Text
	}
	text, err := format.Source(file.Text)
	if err != nil {
		return file.Text // the compiler says what is wrong with it
	}
	return text
}

// seek adds the imports that a file lacks, and notes those that are not to be found.
func (e *Engine) seek(ctx context.Context, p *plan, file gen.File) ([]byte, error) {
	view := e.before.With(p.texts)
	var given []imports.Import
	for _, i := range file.Imports {
		given = append(given, imports.Import{Name: i.Name, Path: i.Path})
	}
	text, err := e.seeker.Insert(ctx, view, file.Path, file.Text, given)
	if err != nil {
		return nil, err
	}
	text, missing, err := e.seeker.Add(ctx, view, file.Path, text)
	for _, m := range missing {
		p.missing = append(p.missing, m.Why)
	}
	return text, err
}

// unmade says why a generator made nothing.
func unmade(kind string, err error) error {
	if wrong := (*gen.SourceError)(nil); errors.As(err, &wrong) {
		return &Refusal{
			Reason: "the " + wrong.What + " is no Go that can stand in a function:",
			Diagnostics: []typecheck.Diagnostic{{
				File: wrong.What, Line: wrong.Line, Column: wrong.Column, Message: wrong.Message,
				Lines: typecheck.LinesAround(wrong.Text, wrong.Line),
			}},
			WayOut: "Nothing was changed.",
		}
	}
	return terminal.Usagef("%s: %w", kind, err)
}

// generator is the one of a name.
func (e *Engine) generator(kind string) (gen.Generator, error) {
	var names []string
	for _, g := range e.generators {
		if g.Name == kind {
			return g, nil
		}
		names = append(names, g.Name)
	}
	return gen.Generator{}, terminal.Usagef("there is no generator %q; there are %s", kind, strings.Join(names, ", "))
}

// title says in one line what was asked for. If no name was, made is the one that it got.
func title(kind string, input json.RawMessage, made string) string {
	var in struct{ Name string }
	if json.Unmarshal(input, &in) != nil || in.Name == "" {
		in.Name = made
	}
	return strings.TrimSpace(actionGenerate + " " + kind + " " + in.Name)
}

// touched are the places that a plan has files in.
func (e *Engine) touched(p *plan) []derive.Place {
	dirs := p.dirs()
	return slices.DeleteFunc(derive.Places(e.before.With(p.texts)), func(place derive.Place) bool { return !slices.Contains(dirs, place.Dir) })
}

// conflicts finds what is in the way of new files: files, and names that are taken.
func (e *Engine) conflicts(p *plan, draft gen.Draft) {
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

// taken finds names that a new file of Go declares and that another file of its package has.
func (e *Engine) taken(p *plan, file gen.File) {
	made := e.before.With(p.texts).File(file.Path)
	if made == nil {
		return
	}
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
