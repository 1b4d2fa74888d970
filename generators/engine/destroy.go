package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// Destroy removes a component: its file and its test, or the folder of a feature, and other
// generated tests that use it. It refuses to remove edited files, unless Force is set, and a
// command whose events may be stored, unless o.Removal decides about them. It can be undone.
func (e *Engine) Destroy(ctx context.Context, kind, name string, o Options) (*Result, error) {
	if kind == "" || name == "" {
		return nil, terminal.Usagef("destroy needs %s and %s of a component, such as tool and send_mail", e.option("kind"), e.option("name"))
	}
	result, err := e.transact(ctx, request{Options: o, action: actionDestroy, arguments: arguments{Kind: kind, Name: name}}, func(j *journal.Journal, p *plan) error {
		err := e.planDestroy(ctx, j, p, kind, name)
		name = cmp.Or(p.name, name) // as clients see it
		return err
	})
	if refusal := refusedCode(err); refusal != nil {
		refusal.Reason = fmt.Sprintf("destroy %s %s: other code uses it:", kind, name)
		refusal.Remedy = "Nothing was changed. Change or destroy the code that uses it first."
	}
	return result, err
}

func (e *Engine) planDestroy(ctx context.Context, j *journal.Journal, p *plan, kind, name string) error {
	p.title = actionDestroy + " " + kind + " " + name
	if err := e.checkKind(ctx, kind); err != nil {
		return err
	}
	place, component, err := e.findToDestroy(ctx, derive.Kind(kind), name, p.Removal.Retire)
	if err != nil {
		return err
	}
	if err := p.Removal.check(e, component); err != nil {
		return err
	}
	p.kind, p.name, p.dir = kind, component.Name, place.Dir
	history, err := j.History()
	if err != nil {
		return err
	}
	var files []string
	if !p.Removal.Retire {
		files, err = e.filesOf(ctx, place, component)
	}
	if err == nil && !p.Force {
		err = e.checkUnedited(j, history, files, kind+" "+name)
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		p.texts[file] = nil
	}
	if err := e.planRemoval(ctx, p, place, component, p.Removal); err != nil || len(p.conflicts) > 0 {
		return err
	}
	places := e.touched(p)
	if slices.Contains(Kinds(), kind) && place.Kind != derive.Type && !slices.Contains(places, place) {
		places = append(places, place)
	}
	if err := e.derive(ctx, p, places, true); err != nil {
		return err
	}
	return e.dropTests(ctx, p, component, j, history)
}

// findToDestroy finds the component to destroy, by its client name or Go name, and its place. It
// refuses a component whose file contains others, unless its type stays. A feature is removed with
// all of its components.
func (e *Engine) findToDestroy(ctx context.Context, kind derive.Kind, name string, stays bool) (derive.Place, derive.Component, error) {
	place := derive.FeaturePlace(path.Join(derive.Features, name))
	if kind == derive.Feature && slices.Contains(e.onDisk().existingPlaces(), place) {
		return place, derive.Component{Kind: kind, Name: name, Feature: name}, nil
	}
	c, pkg, err := e.onDisk().lookUp(ctx, kind, name)
	if err != nil {
		return derive.Place{}, c, err
	}
	if !stays {
		err = e.checkAlone(pkg, c)
	}
	return pkg.Place, c, err
}

func (e *Engine) checkAlone(pkg *derive.Package, component derive.Component) error {
	var others []string
	for _, c := range pkg.Components {
		if c.File == component.File && c.Name != component.Name && !isUnlisted(c) {
			others = append(others, string(c.Kind)+" "+c.Name)
		}
	}
	if isUnlisted(component) {
		others = append(others, "other declarations")
	}
	if len(others) == 0 {
		return nil
	}
	return &Refusal{
		Reason: fmt.Sprintf("%s also contains %s", component.File, strings.Join(others, ", ")),
		Remedy: fmt.Sprintf("Nothing was changed. Remove %s, with its methods, from the file with %s; derived files follow.", component.Func, e.Call("edit")),
	}
}

// filesOf returns the files of a component: its file and its test file, or all files of a feature
// except derived and hidden ones.
func (e *Engine) filesOf(ctx context.Context, place derive.Place, c derive.Component) ([]string, error) {
	if c.Kind != derive.Feature {
		files := append([]string{c.File}, c.OlderFiles()...)
		if !slices.Contains(Kinds(), string(c.Kind)) {
			var err error
			if files, err = e.madeFiles(ctx, c); err != nil {
				return nil, err
			}
		}
		for _, file := range slices.Clone(files) {
			if test := e.before.File(testPath(file)); test != nil {
				files = append(files, test.Path)
			}
		}
		return files, nil
	}
	return slices.DeleteFunc(filesBelow(e.root.FS(), []string{place.Dir}), func(file string) bool {
		known := e.before.File(file)
		return known != nil && known.IsDerived()
	}), nil
}

// checkUnedited refuses files of a component that have been edited since they were generated or the
// project was created.
func (e *Engine) checkUnedited(opened *journal.Journal, history []journal.Operation, files []string, component string) error {
	refusal := &Refusal{
		Reason: fmt.Sprintf("you have edited files of %s:", component),
		Remedy: "Nothing was changed. With " + e.option("force") + " they are removed anyway; undo restores them.",
	}
	for _, file := range files {
		edit, err := e.findEdit(opened, history, file)
		if err != nil {
			return err
		}
		if edit != nil {
			refusal.Files = append(refusal.Files, newFileChange(*edit))
		}
	}
	return refusal.orNil()
}

// findEdit returns the change to a file since it was generated or the project was created; nil if
// it has not changed. A file that petrock did not write counts as edited.
func (e *Engine) findEdit(opened *journal.Journal, history []journal.Operation, file string) (*journal.Change, error) {
	now, err := e.root.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sum, err := ReadSum(e.root.FS())
	if err != nil && !isMissing(err) || sum.Matches(file, now) {
		return nil, err
	}
	edit := &journal.Change{Path: file, After: now}
	for _, op := range slices.Backward(history) {
		at := slices.IndexFunc(op.Files, func(r journal.Record) bool { return r.Path == file })
		if at < 0 {
			continue
		}
		if op.Files[at].After == journal.Hash(now) {
			return nil, nil
		}
		edit.Before, _ = opened.Contents(op.Files[at].After) // if it is lost, the diff shows the whole file
		break
	}
	return edit, nil
}

// dropTests removes the test files that use a component: they name its tool or no longer compile.
// It refuses to remove edited files.
func (e *Engine) dropTests(ctx context.Context, p *plan, c derive.Component, opened *journal.Journal, history []journal.Operation) error {
	for {
		uses, err := e.testsUsing(ctx, e.before.With(p.texts), c)
		if err != nil || len(uses) == 0 {
			return err
		}
		refusal := &Refusal{} // Destroy adds the reason
		for _, use := range uses {
			edit, err := e.findEdit(opened, history, use.File)
			switch {
			case err != nil:
				return err
			case edit != nil:
				refusal.Diagnostics = append(refusal.Diagnostics, use)
			case !p.plans(use.File):
				p.texts[use.File] = nil
				p.warnings = append(p.warnings, typecheck.Diagnostic{File: use.File, Message: "removed this file, because it used " + cmp.Or(c.Func, c.Name)})
			}
		}
		if len(refusal.Diagnostics) > 0 {
			refusal.Diagnostics = withSource(refusal.Diagnostics, e.before)
			return refusal
		}
	}
}

// testsUsing finds the places in test files that do not compile without a component, or that name
// its tool. If other files do not compile either, it returns nil, because verify refuses the plan.
func (e *Engine) testsUsing(ctx context.Context, view *typecheck.View, c derive.Component) ([]typecheck.Diagnostic, error) {
	verdict, err := e.checker.Verify(ctx, e.before, view)
	if err != nil {
		return nil, err
	}
	for _, d := range verdict.New {
		if file := view.File(d.File); file == nil || !file.IsTest() {
			return nil, nil
		}
	}
	uses := verdict.New
	if c.Kind != derive.Command && c.Kind != derive.Query {
		return uses, nil
	}
	for _, file := range view.All() {
		if !file.IsTest() || !bytes.Contains(file.Text, []byte(c.Name)) {
			continue
		}
		for text := range nodesOf[*ast.BasicLit](file.Syntax) {
			if text.Value == strconv.Quote(c.Name) || text.Value == "`"+c.Name+"`" {
				line := view.Fset().PositionFor(text.Pos(), false).Line
				uses = append(uses, typecheck.Diagnostic{File: file.Path, Line: line, Message: "uses " + c.Name})
			}
		}
	}
	return uses, nil
}

// check refuses a decision that does not fit the component.
func (r Removal) check(e *Engine, c derive.Component) error {
	hasMap, isDecided := r.Map != "", r.Retire || r.Skip || r.Map != ""
	switch {
	case r.Retire && r.Skip || r.Retire && hasMap || r.Skip && hasMap:
		return terminal.Usagef("%s, %s and %s cannot be combined; pass one of them", e.option("retire"), e.option("skip"), e.option("map"))
	case r.Retire && c.Retired:
		return terminal.Usagef("command %s is already retired; to remove its type, pass %s or %s", c.EventType, e.option("skip"), e.option("map"))
	case r.Body != "" && !hasMap:
		return terminal.Usagef("%s needs %s, the command that it returns", e.option("body"), e.option("map"))
	case isDecided && c.Kind != derive.Command && (c.Kind != derive.Feature || !r.Skip):
		return terminal.Usagef("%s %s: only commands have stored events; for a feature, pass %s, or remove its commands first", c.Kind, c.Name, e.option("skip"))
	}
	return nil
}

// planRemoval plans the decision about the stored events of a component that is removed.
func (e *Engine) planRemoval(ctx context.Context, p *plan, place derive.Place, c derive.Component, r Removal) error {
	switch {
	case r.Skip:
		packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
		if err != nil {
			return err
		}
		for _, other := range packages[0].Components {
			if other.Kind == derive.Command && (c.Kind == derive.Feature || other.EventType == c.EventType) {
				p.skips = append(p.skips, other.EventType)
			}
		}
	case r.Retire:
		return e.planRetired(ctx, p, c)
	case r.Map != "":
		return e.planMapped(ctx, p, c, r)
	}
	return nil
}

// planRetired keeps the type of a command, with //petrock:retired and without Check. It removes the
// other directives that are about calls.
func (e *Engine) planRetired(ctx context.Context, p *plan, c derive.Component) error {
	dir := path.Dir(c.File)
	edit, err := e.onDisk().newRewrite(ctx, dir)
	if err != nil {
		return err
	}
	file := e.before.File(c.File)
	for _, decl := range file.Syntax.Decls {
		if declarationName(decl) == c.Func+".Check" {
			edit.replace(file, startOf(decl), decl.End(), "")
		}
	}
	pkg, _ := edit.pass.Package(dir) // the caller has found the type
	edit.editDoc(pkg.Scope().Lookup(c.Func).Pos(), func(text, directives []string) ([]string, []string) {
		directives = slices.DeleteFunc(directives, func(d string) bool {
			name, _, _ := strings.Cut(d, " ")
			return strings.HasPrefix(name, "//petrock:") && name != "//petrock:version" && name != "//petrock:event"
		})
		return text, append(directives, "//petrock:retired")
	})
	maps.Copy(p.texts, edit.texts())
	p.missing, err = e.onDisk().completeGo(ctx, p.texts)
	return err
}

// planMapped writes a function that reads the events of a removed command as another command.
func (e *Engine) planMapped(ctx context.Context, p *plan, c derive.Component, r Removal) error {
	target, home, err := e.onDisk().lookUp(ctx, derive.Command, r.Map)
	switch {
	case err != nil:
		return err
	case target.EventType == c.EventType:
		return terminal.Usagef("map %s to %s: it is the command that is removed; name another one", c.EventType, r.Map)
	}
	body := r.Body
	if body == "" {
		record, err := e.readContract(p.texts)
		if err != nil {
			return err
		}
		versions := map[int]contract.Shape{}
		maps.Copy(versions, record.Commands[c.EventType].Versions)
		versions[c.Version()] = c.Stored()
		for _, version := range slices.Sorted(maps.Keys(versions)) {
			if changes := versions[version].Changes(target.Stored()); versions[version].Breaks(target.Stored()) {
				return terminal.Usagef("map %s to %s: the fields of version %d differ (%s); pass %s, Go statements that return %s and an error from old, an eventlog.Record: old.Version is its version, old.Decode(&fields) reads its data, and app.ErrDrop ignores the event",
					c.EventType, target.EventType, version, contract.Describe(changes), e.option("body"), target.Func)
			}
		}
		body = fmt.Sprintf("var command %s\nerr := old.Decode(&command)\nreturn command, err", target.Func)
	}
	if err := checkBody("body", body); err != nil {
		return generatorError("map", err)
	}
	name, err := gen.ParseName("map_" + strings.ReplaceAll(c.EventType, "/", "_"))
	if err != nil {
		return err
	}
	dir := home.Dir
	text := fmt.Sprintf(`package %s

// %s reads stored events of %s, which was removed, as %s commands.
//
//petrock:map %[3]s
func %[2]s(old eventlog.Record) (%[4]s, error) {
%[5]s
}
`, path.Base(dir), name.Go(), c.EventType, target.Func, strings.Trim(body, "\n"))
	file := path.Join(dir, name.File("command"))
	if e.before.File(file) != nil {
		p.conflicts = append(p.conflicts, file+" already exists")
		return nil
	}
	completed, missing, err := e.onDisk().with(p.texts).addImports(ctx, gen.File{Path: file, Text: []byte(text)})
	p.texts[file], p.bodyFile, p.missing = formatted(file, completed), file, missing
	return err
}
