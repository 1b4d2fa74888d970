package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/journal"
)

// Generate runs a generator and writes its files.
func (e *Engine) Generate(ctx context.Context, kind string, input json.RawMessage, o Options) (*Result, error) {
	g, err := e.generator(kind)
	if err != nil {
		return nil, err
	}
	s, err := schema.Compile(g.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("generator %s: %w", g.Name, err)
	}
	if err := s.Validate(input); err != nil {
		return nil, terminal.Usagef("%s: %w", g.Name, err)
	}
	asked := request{Options: o, action: actionGenerate, generator: kind, arguments: arguments{Name: kind, Input: input}}
	return e.transact(ctx, asked, func(_ *journal.Journal, p *plan) error { return e.planGenerate(ctx, p, g, input) })
}

func (e *Engine) planGenerate(ctx context.Context, p *plan, g gen.Generator, input json.RawMessage) error {
	p.checkPure = true
	draft, err := e.onDisk().run(ctx, generatorCall{Generator: g, input: input})
	if err != nil {
		return generatorError(g.Name, err)
	}
	name, _ := strictjson.Unquote(strictjson.Member(input, "name"))
	p.title = strings.TrimSpace(actionGenerate + " " + g.Name + " " + cmp.Or(name, draft.Name))
	p.kind, p.name = cmp.Or(draft.Kind, g.Name), cmp.Or(draft.Name, name)
	p.next, p.notices = draft.Next, draft.Notices
	if err := e.planDraft(ctx, p, draft); err != nil {
		return err
	}
	e.findConflicts(p, draft)
	if len(p.conflicts) > 0 {
		return nil
	}
	if err := e.checkSample(ctx, draft); err != nil {
		return err
	}
	return e.derive(ctx, p, e.touched(p), true)
}

func (e *Engine) planDraft(ctx context.Context, p *plan, draft gen.Draft) error {
	p.trial = draft.Trial
	for i, file := range slices.Concat(draft.Files, draft.Changes) {
		if i == 0 {
			p.dir = path.Dir(file.Path)
		}
		if file.AddImports {
			text, missing, err := e.onDisk().with(p.texts).addImports(ctx, file)
			if err != nil {
				return err
			}
			file.Text, p.missing = text, append(p.missing, missing...)
			if i == 0 || len(draft.NewVersionsOf) > 0 {
				p.bodyFile = file.Path
			}
		}
		p.texts[file.Path] = formatted(file.Path, file.Text)
	}
	p.newVersionsOf = draft.NewVersionsOf
	p.warn(draft.Warnings...)
	return nil
}

func (e *Engine) findConflicts(p *plan, draft gen.Draft) {
	for _, file := range draft.Files {
		_, err := e.root.Lstat(file.Path)
		switch reason := e.whyNotEditable(file.Path, nil); {
		case err == nil:
			p.conflict("%s already exists", file.Path)
		case !isMissing(err):
			p.conflict("%v", err)
		case reason != "":
			p.conflict("%s %s", file.Path, reason)
		}
	}
	for _, file := range draft.Changes {
		if reason := e.whyNotEditable(file.Path, nil); reason != "" {
			p.conflict("%s %s", file.Path, reason)
		}
	}
}

// checkSample refuses a draft whose sample, which is not written, does not compile in the project.
func (e *Engine) checkSample(ctx context.Context, draft gen.Draft) error {
	if len(draft.Sample) == 0 {
		return nil
	}
	p := newPlan(request{action: actionGenerate})
	if err := e.planDraft(ctx, p, gen.Draft{Files: draft.Sample}); err != nil {
		return err
	}
	view := e.before.With(p.texts)
	verdict, err := e.checker.Verify(ctx, e.before, view)
	if err != nil || len(verdict.New) == 0 {
		return err
	}
	p.explainMissing(verdict.New)
	return &Refusal{
		Reason:      fmt.Sprintf("a component of generator %s would not compile:", draft.Name),
		Diagnostics: withSource(verdict.New, view),
		Remedy:      "Nothing was changed. Correct the template and retry.",
	}
}
