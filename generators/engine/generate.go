package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/trial"
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
		p.saved, p.applying = &savedPlan{Kind: g.Name, Input: string(input)}, applying
	}
	draft, err := e.runGenerator(ctx, g, input)
	if err != nil {
		return nil, generatorError(g.Name, err)
	}
	draft.Kind, draft.Name = cmp.Or(draft.Kind, g.Name), cmp.Or(draft.Name, inputName(input))
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
	for i, file := range slices.Concat(draft.Files, draft.Changes) {
		if i == 0 {
			p.dir = path.Dir(file.Path)
		}
		if file.AddImports {
			var err error
			if file.Text, err = e.addImports(ctx, p, file); err != nil {
				return err
			}
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
		}
	}
}

// runGenerator calls Make of a generator, with the time limit of examples. The generator may be the project's
// own code: a panic becomes an error, and runGenerator returns after the limit even if Make does not. The
// engine is not safe for concurrent use, so runGenerator itself makes the calls of Make to the engine. Their
// time does not count.
func (e *Engine) runGenerator(ctx context.Context, g gen.Generator, input json.RawMessage) (gen.Draft, error) {
	calls, done, ended := make(chan func()), make(chan func() (gen.Draft, error), 1), make(chan struct{})
	defer close(ended)
	known := e.generatorProject(ctx, func(call func()) error {
		finished := make(chan struct{})
		select {
		case calls <- func() { defer close(finished); call() }:
			<-finished
			return nil
		case <-ended:
			return nonUsageError{context.Canceled}
		}
	})
	go func() {
		var draft gen.Draft
		var err error
		defer func() {
			if value := recover(); value != nil {
				err = nonUsageError{fmt.Errorf("run generator %s: panic: %v (%s)", g.Name, value, panicPlace())}
			}
			done <- func() (gen.Draft, error) { return draft, err }
		}()
		draft, err = g.Make(known, input)
	}()
	limit := cmp.Or(e.Limits.Time, trial.DefaultTime)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case result := <-done:
			return result()
		case call := <-calls:
			call()
			timer.Reset(limit)
		case <-ctx.Done():
			return gen.Draft{}, nonUsageError{ctx.Err()}
		case <-timer.C:
			return gen.Draft{}, nonUsageError{fmt.Errorf("run generator %s: timeout after %s; nothing was changed", g.Name, limit)}
		}
	}
}

// generatorProject returns the project as a generator sees it. Its functions call the engine with do.
func (e *Engine) generatorProject(ctx context.Context, do func(func()) error) gen.Project {
	p := gen.Project{Name: e.project.Name, Module: e.checker.Module().Path, Packages: map[string]string{}}
	for _, dir := range e.before.Dirs() {
		if pkg := e.before.Package(dir, nil); pkg != nil {
			p.Packages[dir] = pkg.Name
		}
	}
	p.Function = func(ref string) (function *gen.Function, err error) {
		ended := do(func() { function, err = e.function(ctx, ref) })
		return function, cmp.Or(ended, err)
	}
	p.Feature = func(name string) (feature *gen.Feature) {
		do(func() { feature = e.feature(ctx, name) }) // fails only after runGenerator has returned
		return feature
	}
	p.Uses = func(dir string) (features []string) {
		do(func() { features = e.deriver.UsedFeatures(e.before, dir) })
		return features
	}
	p.Option = func(input string) string { return e.option(cmp.Or(e.inputNames[input], input)) }
	p.VersionCall = func(command string) string { return e.versionCall(command, "") }
	p.Migrate = func(command string, edit gen.Edit) (migration *gen.Migration, err error) {
		ended := do(func() { migration, err = e.migrate(ctx, command, edit) })
		if err = cmp.Or(ended, err); err != nil {
			return nil, err
		}
		changes := migration.Changes
		migration.Changes = func() (files []gen.File, err error) {
			ended := do(func() { files, err = changes() })
			return files, cmp.Or(ended, err)
		}
		return migration, nil
	}
	p.OldVersion = func(command string) (found *gen.OldVersion, err error) {
		ended := do(func() { found, err = e.oldVersion(ctx, command) })
		return found, cmp.Or(ended, err)
	}
	return p
}

// oldVersion returns the newest old version of a command whose next version has no method Downgrade.
func (e *Engine) oldVersion(ctx context.Context, command string) (*gen.OldVersion, error) {
	c, home, err := e.lookUp(ctx, derive.Command, command)
	if err != nil {
		return nil, err
	}
	old, next, file := c.NotDowngraded()
	if old == "" {
		return nil, fmt.Errorf("%s has no older version without a Downgrade; its version is %d", c.EventType, c.Version())
	}
	r, err := e.newRewrite(ctx, home.Dir)
	if err != nil {
		return nil, err
	}
	pkg, _ := r.pass.Package(home.Dir)
	named := func(name string) *types.Named { return pkg.Scope().Lookup(name).Type().(*types.Named) }
	return &gen.OldVersion{EventType: c.EventType, Type: named(old), Next: named(next), File: gen.File{Path: file, Text: e.before.File(file).Text}}, nil
}

func (e *Engine) feature(ctx context.Context, name string) *gen.Feature {
	place := derive.FeaturePlace(path.Join(derive.Features, name))
	if name == "" || !slices.Contains(derive.Places(e.before), place) {
		return nil
	}
	feature := &gen.Feature{Name: name, Dir: place.Dir, Strings: map[string][]string{}}
	for _, file := range e.before.Files(place.Dir) {
		if !file.IsTest() && !file.IsDerived() {
			feature.Declared = append(feature.Declared, file.Names()...)
			addStringTypes(feature.Strings, file.Syntax)
		}
	}
	slices.Sort(feature.Declared)
	packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
	if err != nil || len(packages[0].Problems) > 0 {
		return feature // derive reports the errors
	}
	for _, c := range packages[0].Components {
		part := gen.FeatureTool{Type: c.Func, Name: c.Name, EventType: c.EventType, Fields: e.fields(c)}
		switch c.Kind {
		case derive.Command:
			feature.Commands = append(feature.Commands, part)
		case derive.Query:
			feature.Queries = append(feature.Queries, part)
		}
	}
	return feature
}

// addStringTypes adds the types of a file that are declared as string, and the values of constants, by type.
func addStringTypes(all map[string][]string, file *ast.File) {
	for group := range nodesOf[*ast.GenDecl](file) {
		for _, spec := range group.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.TypeParams == nil && types.ExprString(spec.Type) == "string" {
					all[spec.Name.Name] = append([]string{}, all[spec.Name.Name]...)
				}
			case *ast.ValueSpec:
				if t, ok := spec.Type.(*ast.Ident); ok && group.Tok == token.CONST && len(spec.Values) == 1 {
					if value, err := strconv.Unquote(types.ExprString(spec.Values[0])); err == nil {
						all[t.Name] = append(all[t.Name], value)
					}
				}
			}
		}
	}
}

func (e *Engine) fields(c derive.Component) []gen.StructField {
	var fields []gen.StructField
	for spec := range nodesOf[*ast.TypeSpec](e.before.File(c.File).Syntax) {
		list, ok := spec.Type.(*ast.StructType)
		if !ok || spec.Name.Name != c.Func {
			continue
		}
		for _, field := range list.Fields.List {
			f := gen.StructField{Type: types.ExprString(field.Type)}
			f.Tag, _ = unquote(field.Tag)
			if len(field.Names) == 0 {
				fields = append(fields, f)
			}
			for _, name := range field.Names {
				f.Name = name.Name
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// A nonUsageError marks an error that is not the caller's fault: a panic, a timeout, a
// cancellation or a system error.
type nonUsageError struct{ error }

// panicPlace returns the file and line of the panic that is being recovered: the innermost call in the
// project's own generators, or else the innermost call outside the runtime.
func panicPlace() string {
	calls := make([]uintptr, 64)
	frames := runtime.CallersFrames(calls[:runtime.Callers(3, calls)])
	place := ""
	for {
		frame, more := frames.Next()
		if _, name, ok := strings.Cut(frame.File, "/"+derive.OwnGenerators+"/"); ok {
			return fmt.Sprintf("%s/%s:%d", derive.OwnGenerators, name, frame.Line)
		}
		if place == "" && !strings.HasPrefix(frame.Function, "runtime.") {
			place = fmt.Sprintf("%s:%d", path.Base(frame.File), frame.Line)
		}
		if !more {
			return place
		}
	}
}
