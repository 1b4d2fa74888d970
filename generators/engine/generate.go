package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
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

// generator returns the generator of a kind.
func (e *Engine) generator(kind string) (gen.Generator, error) {
	for _, g := range e.generators {
		if g.Name == kind {
			return g, nil
		}
	}
	return gen.Generator{}, terminal.Usagef("generator %q does not exist; %s", kind,
		terminal.DidYouMean(kind, gen.Names(e.generators), "the generators are "+strings.Join(gen.Names(e.generators), ", ")))
}

// A generatorCall is a call of a generator.
type generatorCall struct {
	gen.Generator
	input      json.RawMessage
	inputNames map[string]string                   // other names of inputs in messages; nil if the user calls the generator
	notes      map[string]map[string]gen.FieldNote // of fields before a change, by type and JSON name
}

// run calls Make of a generator, with the time limit of examples. The generator may be the
// project's own code, so it runs on its own goroutine: a panic becomes an error, and run returns
// after the limit even if Make does not. Until then run answers what Make asks the engine, which is
// not safe for concurrent use. Answers do not count against the limit.
func (s snapshot) run(ctx context.Context, g generatorCall) (gen.Draft, error) {
	limit := cmp.Or(s.engine.Limits.Time, trial.DefaultTime)
	asked := questions{make(chan func()), make(chan struct{})}
	defer close(asked.closed)
	known := s.project(ctx, g, asked)
	type result struct {
		draft gen.Draft
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if value := recover(); value != nil {
				r.err = nonUsageError{fmt.Errorf("run generator %s: panic: %v (%s)", g.Name, value, panicPosition())}
			}
			done <- r
		}()
		r.draft, r.err = g.Make(known, g.input)
	}()
	deadline := time.Now().Add(limit)
	for {
		select {
		case answer := <-asked.open:
			begun := time.Now()
			answer()
			deadline = deadline.Add(time.Since(begun))
		case r := <-done:
			return r.draft, r.err
		case <-ctx.Done():
			return gen.Draft{}, nonUsageError{ctx.Err()}
		case <-time.After(time.Until(deadline)):
			return gen.Draft{}, nonUsageError{fmt.Errorf("run generator %s: timeout after %s; nothing was changed", g.Name, limit)}
		}
	}
}

// questions are what a running generator asks the engine.
type questions struct {
	open   chan func()   // called by the engine
	closed chan struct{} // closed if the engine no longer answers
}

// ask returns the engine's answer.
func ask[T any](q questions, question func() (T, error)) (answer T, err error) {
	answered := make(chan struct{})
	select {
	case q.open <- func() { defer close(answered); answer, err = question() }:
		<-answered
		return answer, err
	case <-q.closed:
		return answer, nonUsageError{context.Canceled}
	}
}

// project returns the project as a generator sees it.
func (s snapshot) project(ctx context.Context, g generatorCall, asked questions) gen.Project {
	e := s.engine
	p := gen.Project{
		Name: e.project.Name, Module: e.checker.Module().Path, Packages: map[string]string{},
		Initialisms: e.project.Initialisms, FormatCall: e.FormatCall, InputNames: g.inputNames,
	}
	for _, dir := range s.view.Dirs() {
		if pkg := s.view.Package(dir, nil); pkg != nil {
			p.Packages[dir] = pkg.Name
		}
	}
	p.Function = func(ref string) (*gen.Function, error) {
		return ask(asked, func() (*gen.Function, error) { return s.function(ctx, ref) })
	}
	p.Feature = func(name string) *gen.Feature {
		feature, _ := ask(asked, func() (*gen.Feature, error) { return s.feature(ctx, name), nil })
		return feature
	}
	p.Type = func(dir, name string) (*gen.GoType, error) {
		return ask(asked, func() (*gen.GoType, error) { return s.goType(ctx, dir, name) })
	}
	p.Uses = func(dir string) []string {
		features, _ := ask(asked, func() ([]string, error) { return e.deriver.UsedFeatures(s.view, dir), nil })
		return features
	}
	p.Migrate = func(command string, edit gen.Edit) (*gen.Migration, error) {
		m, err := ask(asked, func() (*gen.Migration, error) { return s.migrate(ctx, command, edit) })
		if err != nil {
			return nil, err
		}
		m.Notes = g.notes
		changes := m.Changes
		m.Changes = func() ([]gen.File, error) { return ask(asked, changes) }
		return m, nil
	}
	p.OldVersion = func(command string) (*gen.OldVersion, error) {
		return ask(asked, func() (*gen.OldVersion, error) { return s.oldVersion(ctx, command) })
	}
	return p
}

// oldVersion returns the newest old version of a command whose next version has no method
// Downgrade.
func (s snapshot) oldVersion(ctx context.Context, command string) (*gen.OldVersion, error) {
	c, home, err := s.lookUp(ctx, derive.Command, command)
	if err != nil {
		return nil, err
	}
	old, next, file := c.NotDowngraded()
	if old == "" {
		return nil, fmt.Errorf("%s has no older version without a Downgrade; its version is %d", c.EventType, c.Version())
	}
	r, err := s.newRewrite(ctx, home.Dir)
	if err != nil {
		return nil, err
	}
	pkg, _ := r.pass.Package(home.Dir)
	named := func(name string) *types.Named { return pkg.Scope().Lookup(name).Type().(*types.Named) }
	return &gen.OldVersion{EventType: c.EventType, Type: named(old), Next: named(next), File: gen.File{Path: file, Text: s.view.File(file).Text}}, nil
}

func (s snapshot) feature(ctx context.Context, name string) *gen.Feature {
	place := derive.FeaturePlace(path.Join(derive.Features, name))
	if name == "" || !slices.Contains(derive.Places(s.view), place) {
		return nil
	}
	feature := &gen.Feature{Name: name, Dir: place.Dir, Strings: map[string][]string{}}
	for _, file := range s.view.Files(place.Dir) {
		if !file.IsTest() && !file.IsDerived() {
			feature.Declared = append(feature.Declared, file.Names()...)
		}
	}
	slices.Sort(feature.Declared)
	packages, err := s.engine.deriver.Packages(ctx, s.view, []derive.Place{place})
	pass, passErr := s.engine.checker.NewPass(ctx, s.view, []string{place.Dir}, typecheck.PassOptions{Skip: (*typecheck.File).IsTest})
	if err != nil || passErr != nil || len(packages[0].Problems) > 0 {
		return feature // derive reports the errors
	}
	pkg, _ := pass.Package(place.Dir)
	for _, name := range pkg.Scope().Names() {
		if named, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && types.Identical(named.Type().Underlying(), types.Typ[types.String]) {
			feature.Strings[name] = valuesOf(named)
		}
	}
	for _, c := range packages[0].Components {
		part := gen.FeatureTool{Type: c.Func, Name: c.Name, EventType: c.EventType, Fields: structFields(pkg, c.Func)}
		switch c.Kind {
		case derive.Command:
			feature.Commands = append(feature.Commands, part)
		case derive.Query:
			feature.Queries = append(feature.Queries, part)
		}
	}
	return feature
}

// goType returns the type of the project that a field of a component in a folder names.
func (s snapshot) goType(ctx context.Context, dir, text string) (*gen.GoType, error) {
	at := strings.LastIndexByte(text, '.')
	folder, name := text[:max(0, at)], text[at+1:]
	if at >= 0 {
		known, named := map[string]string{}, []string{}
		for _, other := range s.view.Dirs() {
			pkg := s.view.Package(other, nil)
			if pkg == nil || pkg.Name == "main" || strings.HasPrefix(other+"/", "generators/") || other != path.Clean(folder) && strings.HasPrefix(other+"/", "core/") && other != "core/civil" {
				continue // servers do not link it, or petrock's own
			}
			if known[pkg.Name] = other; pkg.Name == folder || other == path.Clean(folder) {
				named = append(named, asFolder(other))
			}
		}
		switch {
		case len(named) == 0:
			names := slices.Sorted(maps.Keys(known))
			return nil, fmt.Errorf("the project has no package %s; its packages are %s%s", folder, joinFew(names), terminal.Suggest(folder, names))
		case len(named) > 1:
			return nil, fmt.Errorf("%s are packages named %s; write one of the folders: %s.%s", strings.Join(named, " and "), folder, named[0], name)
		}
		dir = path.Clean(named[0])
	}
	pass, err := s.engine.checker.NewPass(ctx, s.view, []string{dir}, typecheck.PassOptions{Skip: (*typecheck.File).IsTest})
	if err != nil {
		return nil, nonUsageError{err}
	}
	pkg, _ := pass.Package(dir)
	if pkg == nil {
		pkg = types.NewPackage(s.engine.checker.ImportPath(dir), path.Base(dir)) // it is new
	}
	var declared []string
	for _, other := range pkg.Scope().Names() {
		if _, isType := pkg.Scope().Lookup(other).(*types.TypeName); isType && token.IsExported(other) {
			declared = append(declared, other)
		}
	}
	if !slices.Contains(declared, name) {
		return nil, fmt.Errorf("%s is not a type; %s declares %s%s", text, asFolder(dir), cmp.Or(joinFew(declared), "none"), terminal.Suggest(name, declared))
	}
	object := pkg.Scope().Lookup(name).(*types.TypeName)
	found := &gen.GoType{Path: pkg.Path(), Package: pkg.Name(), Name: name}
	if named, ok := types.Unalias(object.Type()).(*types.Named); ok && derive.IsOpaque(named) {
		return found, nil
	}
	if basic, ok := object.Type().Underlying().(*types.Basic); ok {
		if found.Basic = basic.Name(); basic.Kind() == types.String {
			found.Values = valuesOf(object)
		}
	}
	return found, nil
}

// valuesOf returns the values of an enum, in the order of their declarations.
func valuesOf(name *types.TypeName) []string {
	known := constantsOf(name)
	return slices.SortedFunc(maps.Keys(known), func(a, b string) int { return int(known[a].Pos() - known[b].Pos()) })
}

// constantsOf returns the constants of a type by their values.
func constantsOf(name *types.TypeName) map[string]*types.Const {
	found := map[string]*types.Const{}
	if named, ok := name.Type().(*types.Named); ok {
		for _, c := range derive.Constants(named) {
			found[constant.StringVal(c.Val())] = c
		}
	}
	return found
}

// structFields returns the fields of a type, or nil if it is not a struct.
func structFields(pkg *types.Package, name string) (fields []gen.StructField) {
	inFile := func(other *types.Package) string {
		if other == pkg {
			return ""
		}
		return other.Name()
	}
	object := pkg.Scope().Lookup(name)
	if object == nil {
		return nil
	}
	if structure, ok := object.Type().Underlying().(*types.Struct); ok {
		for i := range structure.NumFields() {
			field := structure.Field(i)
			f := gen.StructField{Type: types.TypeString(field.Type(), inFile), Tag: structure.Tag(i)}
			if !field.Embedded() {
				f.Name = field.Name()
			}
			fields = append(fields, f)
		}
	}
	return fields
}

// panicPosition returns the file and line of a panic: of the innermost call in the project's own
// generators, or else of the innermost call outside of the runtime. The deferred function that
// recovers calls it.
func panicPosition() (innermost string) {
	callers := make([]uintptr, 100)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)]) // without those of recovering
	for frame, more := frames.Next(); more; frame, more = frames.Next() {
		position := fmt.Sprintf("%s:%d", frame.File, frame.Line)
		if strings.Contains(frame.File, "/"+derive.OwnGenerators+"/") {
			return position
		}
		if innermost == "" && !strings.HasPrefix(frame.Function, "runtime.") {
			innermost = position
		}
	}
	return innermost
}

// function returns the function of the project that text names, for a tool that calls it:
// ./folder.Function or ./folder.Variable.Method.
func (s snapshot) function(ctx context.Context, text string) (*gen.Function, error) {
	folder, last := path.Split(strings.TrimSpace(text))
	words := strings.Split(last, ".")
	dir, call := path.Clean(folder+words[0]), words[1:]
	if n := len(call); n != 1 && n != 2 || len(s.view.Files(dir)) == 0 {
		return nil, fmt.Errorf("%q is not a function of the project; write ./folder.Function or ./folder.Variable.Method, with the folder of a package of this module, relative to the project's root", gen.Shorten(text))
	}
	ref := asFolder(dir) + "." + strings.Join(call, ".")
	place, _ := derive.PlaceOf(derive.Tool)
	if dir == place.Dir {
		return nil, fmt.Errorf("%q is in the tools package, where exported functions with a tool signature are already tools; see generators/docs/tools.md", ref)
	}
	pkg, err := s.compilePackage(ctx, dir)
	if err != nil {
		return nil, err
	}
	isPetrock := strings.HasPrefix(dir+"/", "generators/") // servers do not link it
	if isPetrock || pkg.Name() == "main" || !typecheck.MayImport(s.engine.checker.ImportPath(place.Dir), pkg.Path()) {
		return nil, fmt.Errorf("%q: package tools may not import %s; move the function to another package", ref, pkg.Path())
	}
	object, err := findFunction(ref, call, pkg)
	if err != nil {
		return nil, err
	}
	f := &gen.Function{
		Ref:       ref,
		Path:      pkg.Path(),
		Package:   pkg.Name(),
		Call:      call,
		Signature: object.Type().Underlying().(*types.Signature),
		Input:     func(t types.Type) (json.RawMessage, error) { return s.engine.deriver.Schema(s.view, place, t, false) },
		Output:    func(t types.Type) (json.RawMessage, error) { return s.engine.deriver.Schema(s.view, place, t, true) },
	}
	if file := s.view.FileAt(object.Pos()); file != nil {
		doc, _ := docAt(file, object.Pos())
		f.Doc = doc.Text()
	}
	for _, file := range s.view.Files(place.Dir) {
		if !strings.HasSuffix(file.Syntax.Name.Name, "_test") {
			f.Taken = append(f.Taken, file.Names()...)
		}
	}
	if f.Signature.TypeParams() != nil {
		return nil, f.Errorf("generic functions are not supported")
	}
	return f, nil
}

// findFunction returns the exported function or method that a reference names in a package.
func findFunction(ref string, call []string, pkg *types.Package) (types.Object, error) {
	isFunction := func(object types.Object) bool {
		_, isSignature := object.Type().Underlying().(*types.Signature)
		_, isType := object.(*types.TypeName)
		return isSignature && !isType && object.Exported()
	}
	object := pkg.Scope().Lookup(call[0])
	_, isType := object.(*types.TypeName)
	why := "neither an exported function nor a method of an exported variable"
	if isType && len(call) == 2 {
		why = fmt.Sprintf("a method of a type; declare a variable of it, such as var Default%s, or write a tool as a method of Tools, and create a %[1]s in its New", call[0])
	} else if object != nil && !object.Exported() {
		why = fmt.Sprintf("not exported; export %s, or write an exported function that uses it", call[0])
	}
	if object != nil && object.Exported() && !isType && len(call) == 2 {
		_, addressable := object.(*types.Var)
		object, _, _ = types.LookupFieldOrMethod(object.Type(), addressable, pkg, call[1])
	}
	if object != nil && isFunction(object) {
		return object, nil
	}
	var functions []string
	for _, name := range pkg.Scope().Names() {
		known := pkg.Scope().Lookup(name)
		if isFunction(known) {
			functions = append(functions, name)
		} else if _, isVar := known.(*types.Var); isVar && known.Exported() && len(typeutil.IntuitiveMethodSet(known.Type(), nil)) > 0 {
			functions = append(functions, name+".METHOD")
		}
	}
	return nil, fmt.Errorf("%q is %s; the functions of the package are %s", ref, why, cmp.Or(joinFew(functions), "none"))
}

// compilePackage type-checks the package in a folder, without tests. It refuses a package with
// errors.
func (s snapshot) compilePackage(ctx context.Context, dir string) (*types.Package, error) {
	pass, err := s.engine.checker.NewPass(ctx, s.view, []string{dir}, typecheck.PassOptions{Skip: (*typecheck.File).IsTest, Bodies: true})
	if err != nil {
		return nil, nonUsageError{err}
	}
	pkg, errs := pass.Package(dir)
	switch {
	case pass.Err() != nil:
		return nil, nonUsageError{pass.Err()}
	case pkg == nil:
		return nil, fmt.Errorf("%s has no Go files to build, except tests", asFolder(dir))
	case len(errs) > 0:
		return nil, &Refusal{
			Reason:      fmt.Sprintf("%s does not compile:", asFolder(dir)),
			Diagnostics: errs,
			Remedy:      "Nothing was changed. Fix these errors first.",
			cause:       causeBefore,
		}
	}
	return pkg, nil
}

func asFolder(dir string) string { return "./" + strings.TrimPrefix(dir, ".") }
