package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
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

// Generate runs a generator and writes its files. A dry run saves the plan for [Engine.Apply].
func (e *Engine) Generate(ctx context.Context, kind string, input json.RawMessage, o Options) (*Result, error) {
	g, err := e.generator(kind)
	if err != nil {
		return nil, err
	}
	return e.generate(ctx, g, input, o, nil)
}

// generate runs a generator. If applying is not nil, it writes exactly that saved plan or fails.
func (e *Engine) generate(ctx context.Context, g gen.Generator, input json.RawMessage, o Options, applying *savedPlan) (*Result, error) {
	s, err := schema.Compile(string(g.InputSchema))
	if err != nil {
		return nil, fmt.Errorf("generator %s: %w", g.Name, err)
	}
	if err := s.Validate(input); err != nil {
		return nil, terminal.Usagef("%s: %w", g.Name, err)
	}
	return e.transact(ctx, o, func(*journal.Journal) (*plan, error) { return e.planGenerate(ctx, g, input, o.DryRun, applying) })
}

func (e *Engine) planGenerate(ctx context.Context, g gen.Generator, input json.RawMessage, dryRun bool, applying *savedPlan) (*plan, error) {
	p := newPlan(actionGenerate)
	p.checkPure = true
	if dryRun || applying != nil {
		p.saved, p.applying = &savedPlan{Kind: g.Name, Input: string(input), ProjectHashes: e.projectHashes()}, applying
		if err := p.verifyUnchanged(); err != nil {
			return nil, err
		}
	}
	draft, err := e.runGenerator(ctx, g, input)
	if err != nil {
		return nil, generatorError(g.Name, err)
	}
	draft.Kind, draft.Name = cmp.Or(draft.Kind, g.Name), cmp.Or(draft.Name, inputName(input))
	if err := e.noteUnlisted(ctx, g, &draft); err != nil {
		return nil, err
	}
	p.operation.Title = strings.TrimSpace(actionGenerate + " " + g.Name + " " + cmp.Or(inputName(input), draft.Name))
	p.generator = g.Name
	p.kind, p.name, p.next, p.notices = draft.Kind, draft.Name, draft.Next, draft.Notices
	if err := e.planDraft(ctx, p, draft); err != nil {
		return nil, err
	}
	e.findConflicts(p, draft)
	if len(p.conflicts) > 0 {
		return p, nil
	}
	if err := e.checkSample(ctx, draft); err != nil {
		return nil, err
	}
	return p, e.derive(ctx, p, e.touched(p), true)
}

func (e *Engine) planDraft(ctx context.Context, p *plan, draft gen.Draft) error {
	p.trial = draft.Trial
	for i, file := range draft.Files {
		if i == 0 {
			p.dir = path.Dir(file.Path)
		}
		if file.AddImports {
			var err error
			if file.Text, err = e.addImports(ctx, p, file); err != nil {
				return err
			}
			if i == 0 {
				p.bodyFile = file.Path
			}
		}
		p.texts[file.Path] = formatted(file.Path, file.Text)
	}
	for _, file := range draft.Changes {
		p.texts[file.Path] = formatted(file.Path, file.Text)
	}
	p.newVersionOf = draft.NewVersionOf
	return nil
}

// formatted returns the text of a file, formatted if it is Go that parses.
func formatted(file string, text []byte) []byte {
	if path.Ext(file) == ".go" {
		if formatted, err := format.Source(text); err == nil {
			return formatted
		}
	}
	return text
}

func (e *Engine) addImports(ctx context.Context, p *plan, file gen.File) ([]byte, error) {
	view := e.before.With(p.texts)
	var given []imports.Import
	for _, i := range file.Imports {
		given = append(given, imports.Import{Name: i.Name, Path: i.Path})
	}
	text, err := e.resolver.Insert(ctx, view, file.Path, file.Text, given)
	if err != nil {
		return nil, err
	}
	text, missing, err := e.resolver.Add(ctx, view, file.Path, text)
	p.missing = append(p.missing, missing...)
	return text, err
}

// generatorError classifies the error of a generator: Go that does not parse is a refusal, refusals and
// system errors stay as they are, and all others are usage errors.
func generatorError(kind string, err error) error {
	if other, ok := errors.AsType[nonUsageError](err); ok {
		return other.error
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal
	}
	if source, ok := errors.AsType[*gen.SourceError](err); ok {
		return &Refusal{
			Reason: "invalid " + source.Field + ":",
			Diagnostics: []typecheck.Diagnostic{{
				File: source.Field, Line: source.Line, Column: source.Column, Message: source.Message,
				Lines: typecheck.LinesAround(source.Text, source.Line),
			}},
			Remedy: "Nothing was changed. Correct the " + source.Field + " and retry.",
		}
	}
	return terminal.Usagef("%s: %w", kind, err)
}

func (e *Engine) generator(kind string) (gen.Generator, error) {
	for _, g := range e.generators {
		if g.Name == kind {
			return g, nil
		}
	}
	return gen.Generator{}, terminal.Usagef("generator %q does not exist; the generators are %s", kind, strings.Join(gen.Names(e.generators), ", "))
}

// OwnGenerators returns the project's own generators, without Make, which is known only to the compiled
// program. The diagnostics are the errors of their package.
func (e *Engine) OwnGenerators(ctx context.Context) ([]gen.Generator, []typecheck.Diagnostic, error) {
	if err := e.read(ctx); err != nil {
		return nil, nil, err
	}
	own, err := e.ownGenerators(ctx)
	var all []gen.Generator
	for _, c := range own.Components {
		all = append(all, gen.Generator{Name: c.Name, Description: c.Description, InputSchema: c.Input})
	}
	return all, own.Problems, err
}

// inputName returns the name in the input of a generator, or an empty string.
func inputName(input json.RawMessage) string {
	var in struct{ Name string }
	json.Unmarshal(input, &in) // the generator has checked it
	return in.Name
}

func (e *Engine) touched(p *plan) []derive.Place {
	dirs := p.dirs()
	return slices.DeleteFunc(derive.Places(e.before.With(p.texts)), func(place derive.Place) bool { return !slices.Contains(dirs, place.Dir) })
}

func (e *Engine) findConflicts(p *plan, draft gen.Draft) {
	for _, file := range draft.Files {
		_, err := e.root.Lstat(file.Path)
		mod := e.otherModule(file.Path)
		switch {
		case err == nil:
			p.conflicts = append(p.conflicts, file.Path+" already exists")
		case !isMissing(err):
			p.conflicts = append(p.conflicts, err.Error())
		case mod != "":
			p.conflicts = append(p.conflicts, fmt.Sprintf("%s is in another module (%s)", file.Path, mod))
		default:
			e.findDeclared(p, file)
		}
	}
}

// findDeclared finds names that a new Go file declares and that another file of its package already declares.
func (e *Engine) findDeclared(p *plan, file gen.File) {
	added := e.before.With(p.texts).File(file.Path)
	if added == nil {
		return
	}
	for _, other := range e.before.Files(path.Dir(file.Path)) {
		if other.IsDerived() || other.Syntax.Name.Name != added.Syntax.Name.Name {
			continue
		}
		for _, name := range other.Names() {
			if slices.Contains(added.Names(), name) {
				p.conflicts = append(p.conflicts, fmt.Sprintf("%s declares %s, which %s already declares", file.Path, name, other.Path))
				p.declared = append(p.declared, declaredName{name, other})
			}
		}
	}
}

// A declaredName is a name that a new file declares although a file of its package already does.
type declaredName struct {
	name string
	file *typecheck.File
}

// conflictRemedy returns the alternative to another name: to rename the existing declarations if these are the
// only conflicts and no component, and otherwise to destroy the component.
func (e *Engine) conflictRemedy(ctx context.Context, p *plan) string {
	const destroy = "remove the existing component first with petrock destroy (over MCP: destroy_component)"
	if len(p.declared) < len(slices.Compact(slices.Clone(p.conflicts))) {
		return destroy
	}
	packages, err := e.deriver.Packages(ctx, e.before, e.existingPlaces())
	if err != nil {
		return destroy
	}
	var renames []string
	for _, d := range p.declared {
		for _, pkg := range packages {
			isComponent := func(c derive.Component) bool { return c.File == d.file.Path && c.Kind != derive.Feature }
			if slices.ContainsFunc(pkg.Components, isComponent) {
				return destroy
			}
		}
		renames = append(renames, fmt.Sprintf("the %s %s in %s", declarationKind(d.file.Syntax, d.name), d.name, d.file.Path))
	}
	return "rename " + strings.Join(renames, " and ")
}

// declarationKind returns func, type, const or var.
func declarationKind(file *ast.File, name string) string {
	for _, decl := range file.Decls {
		if group, ok := decl.(*ast.GenDecl); ok && slices.Contains(typecheck.DeclaredNames(&ast.File{Decls: []ast.Decl{group}}), name) {
			return group.Tok.String()
		}
	}
	return "func"
}
