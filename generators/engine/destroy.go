package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// Destroy removes a component: its file and its test, or the folder of a feature, and declarations in other
// tests that use it. It refuses to remove edited files, unless Force is set. It can be undone.
func (e *Engine) Destroy(ctx context.Context, kind, name string, o Options) (*Result, error) {
	var component derive.Component // to remove
	result, err := e.transact(ctx, o, func(j *journal.Journal) (*plan, error) {
		p := newPlan(actionDestroy)
		p.operation.Title = actionDestroy + " " + kind + " " + name
		p.ignoreBroken = true
		if err := e.checkKind(ctx, kind); err != nil {
			return nil, err
		}
		place, found, err := e.findToDestroy(ctx, derive.Kind(kind), name)
		if err != nil {
			return nil, err
		}
		component = found
		p.kind, p.name = kind, component.Name
		if err := e.noteOrphans(ctx, p); err != nil {
			return nil, err
		}
		history, err := j.History()
		if err != nil {
			return nil, err
		}
		files, err := e.filesOf(ctx, place, component)
		if err != nil {
			return nil, err
		}
		if err := e.checkUnedited(j, history, files, kind+" "+name, o); err != nil {
			return nil, err
		}
		for _, file := range files {
			p.texts[file] = nil
		}
		places := []derive.Place{place}
		if !slices.Contains(Kinds(), kind) { // of an own generator
			places = e.touched(p)
		}
		if err := e.derive(ctx, p, places, true); err != nil {
			return nil, err
		}
		return p, e.dropTests(ctx, p, component, j, history, o)
	})
	if refusal, ok := err.(*Refusal); ok && len(refusal.Diagnostics) > 0 && !refusal.existedBefore {
		e.nameUsers(refusal, component)
	}
	return result, err
}

// Kinds returns petrock's kinds of components. Own generators add others.
func Kinds() []string {
	return []string{"command", "feature", "generator", "prompt", "query", "resource", "tool", "worker"}
}

// findToDestroy finds the component to destroy, by its client name or Go name, and its place. It refuses a
// component whose file contains others. A feature is removed with all of its components.
func (e *Engine) findToDestroy(ctx context.Context, kind derive.Kind, name string) (derive.Place, derive.Component, error) {
	place := derive.FeaturePlace(path.Join(derive.Features, name))
	if kind == derive.Feature && slices.Contains(e.existingPlaces(), place) {
		return place, derive.Component{Kind: kind, Name: name, Feature: name}, nil
	}
	c, pkg, err := e.lookUp(ctx, kind, name)
	if err != nil {
		return derive.Place{}, c, err
	}
	return pkg.Place, c, checkAlone(pkg, c)
}

func checkAlone(pkg *derive.Package, component derive.Component) error {
	var others []string
	for _, c := range pkg.Components {
		switch {
		case c.File != component.File || c.Name == component.Name:
		case c.Kind == derive.Feature:
			others = append(others, "the state of "+c.Name)
		default:
			others = append(others, c.Name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return &Refusal{
		Reason: fmt.Sprintf("%s also contains %s", component.File, strings.Join(others, ", ")),
		Remedy: fmt.Sprintf("Remove %s from it by hand, then run petrock sync (over MCP: build).", component.Func),
	}
}

// filesOf returns the files of a component: its file and its test file, or all files of a feature except
// derived ones.
func (e *Engine) filesOf(ctx context.Context, place derive.Place, c derive.Component) ([]string, error) {
	if c.Kind != derive.Feature {
		files := []string{c.File}
		if !slices.Contains(Kinds(), string(c.Kind)) {
			var err error
			if files, err = e.madeFiles(ctx, c); err != nil {
				return nil, err
			}
		}
		if test := e.before.File(testPath(c.File)); test != nil {
			files = append(files, test.Path)
		}
		return files, nil
	}
	var files []string
	err := fs.WalkDir(e.root.FS(), place.Dir, func(file string, entry fs.DirEntry, err error) error {
		switch known := e.before.File(file); {
		case err != nil:
			return err
		case !entry.Type().IsRegular(), known != nil && known.IsDerived():
			return nil
		}
		files = append(files, file)
		return nil
	})
	return files, err
}

// checkUnedited refuses files of a component that have been edited since they were generated or the project
// was created.
func (e *Engine) checkUnedited(opened *journal.Journal, history []journal.Operation, files []string, component string, o Options) error {
	if o.Force {
		return nil
	}
	refusal := &Refusal{
		Reason: fmt.Sprintf("you have edited files of %s:", component),
		Remedy: "Nothing was changed. With " + e.OptionPrefix + "force they are removed anyway; undo restores them.",
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

// findEdit returns the change to a file since it was generated or the project was created; nil if it has
// not changed. A file that petrock did not write counts as edited.
func (e *Engine) findEdit(opened *journal.Journal, history []journal.Operation, file string) (*journal.Change, error) {
	now, err := e.root.ReadFile(file)
	if err != nil {
		return nil, err
	}
	hash := journal.Hash(now)
	var last *journal.Record
	for _, op := range history {
		for _, record := range op.Files {
			if record.Path == file {
				last = &record
			}
		}
	}
	sum, err := ReadSum(e.root.FS())
	if err != nil && !isMissing(err) {
		return nil, err
	}
	if sum.Matches(file, now) || last != nil && last.After == hash {
		return nil, nil
	}
	edit := &journal.Change{Path: file, After: now}
	if last != nil {
		edit.Before, _ = opened.Contents(last.After) // if it is lost, the diff shows the whole file
	}
	return edit, nil
}

// dropTests removes declarations from test files: those that name the tool or no longer compile,
// then those that used them, then unused imports. It removes files that have no declarations left.
// It refuses to change edited files, unless Force is set.
func (e *Engine) dropTests(ctx context.Context, p *plan, c derive.Component, opened *journal.Journal, history []journal.Operation, o Options) error {
	uses := map[string]int{} // by file, the line of the first use
	dropped := map[string][]string{}
	for {
		view := e.before.With(p.texts)
		found, err := e.testsUsing(ctx, view, c)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			break
		}
		for file, lines := range found {
			if _, known := uses[file]; !known {
				uses[file] = slices.Min(lines)
			}
			text, names := withoutDeclarations(view, view.File(file), lines)
			p.texts[file], dropped[file] = text, append(dropped[file], names...)
		}
	}
	return e.reportTests(p, c, uses, dropped, opened, history, o)
}

// reportTests refuses changes to edited tests, and warns of all other changes.
func (e *Engine) reportTests(p *plan, c derive.Component, uses map[string]int, dropped map[string][]string, opened *journal.Journal, history []journal.Operation, o Options) error {
	used := cmp.Or(c.Func, c.Name)
	refusal := &Refusal{
		Reason: fmt.Sprintf("destroy %s %s: edited tests use it:", c.Kind, c.Name),
		Remedy: "Nothing was changed. Change these tests first. With " + e.OptionPrefix + "force the tests that use it are removed; undo restores them.",
	}
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		edit, err := e.findEdit(opened, history, file)
		if err != nil {
			return err
		}
		if edit != nil && !o.Force {
			refusal.Diagnostics = append(refusal.Diagnostics, typecheck.Diagnostic{
				File: file, Line: uses[file], Message: "uses " + used, Lines: typecheck.LinesAround(string(e.before.File(file).Text), uses[file]),
			})
			continue
		}
		removed := strings.Join(dropped[file], ", ")
		if p.texts[file] == nil {
			removed = "this file"
		}
		p.warnings = append(p.warnings, typecheck.Diagnostic{File: file, Message: fmt.Sprintf("removed %s, because it used %s", removed, used)})
	}
	return refusal.orNil()
}

// testsUsing finds the lines of test files that do not compile without a component, or that name its tool.
// If other files do not compile either, it returns nil, because verify refuses the plan.
func (e *Engine) testsUsing(ctx context.Context, view *typecheck.View, c derive.Component) (map[string][]int, error) {
	verdict, err := e.checker.Verify(ctx, e.before, view)
	if err != nil {
		return nil, err
	}
	found := map[string][]int{}
	for _, d := range verdict.New {
		file := view.File(d.File)
		if file == nil || !file.IsTest() {
			return nil, nil
		}
		found[d.File] = append(found[d.File], d.Line)
	}
	if c.Kind != derive.Command && c.Kind != derive.Query {
		return found, nil
	}
	for _, file := range view.All() {
		if !file.IsTest() || !bytes.Contains(file.Text, []byte(c.Name)) {
			continue
		}
		for text := range nodesOf[*ast.BasicLit](file.Syntax) {
			if text.Value == strconv.Quote(c.Name) || text.Value == "`"+c.Name+"`" {
				found[file.Path] = append(found[file.Path], view.Fset().PositionFor(text.Pos(), false).Line)
			}
		}
	}
	return found, nil
}

// withoutDeclarations removes the declarations on some lines from a file, and returns their names. The text
// is nil if only imports remain, or if no declaration is on these lines.
func withoutDeclarations(view *typecheck.View, file *typecheck.File, lines []int) (text []byte, names []string) {
	fset := view.Fset()
	var cuts []ast.Node
	remaining := 0
	for _, decl := range file.Syntax.Decls {
		imports, isImport := decl.(*ast.GenDecl)
		isImport = isImport && imports.Tok == token.IMPORT
		switch {
		case isImport && len(imports.Specs) > 1:
			for _, spec := range imports.Specs {
				if covers(fset, spec, lines) {
					cuts = append(cuts, spec)
				}
			}
		case covers(fset, decl, lines):
			cuts = append(cuts, decl)
			if !isImport {
				names = append(names, declarationName(decl))
			}
		case !isImport:
			remaining++
		}
	}
	if remaining == 0 || len(cuts) == 0 {
		return nil, names
	}
	text = slices.Clone(file.Text)
	for _, node := range slices.Backward(cuts) {
		from, to := extent(fset, node, text)
		text = slices.Delete(text, from, to)
	}
	return formatted(file.Path, text), names
}

func covers(fset *token.FileSet, node ast.Node, lines []int) bool {
	first, last := fset.PositionFor(node.Pos(), false).Line, fset.PositionFor(node.End(), false).Line
	return slices.ContainsFunc(lines, func(line int) bool { return first <= line && line <= last })
}

// extent returns the range of a node in its file, including its doc comment and the rest of its last line.
func extent(fset *token.FileSet, node ast.Node, text []byte) (from, to int) {
	from, to = fset.PositionFor(startOf(node), false).Offset, fset.PositionFor(node.End(), false).Offset
	if end := bytes.IndexByte(text[to:], '\n'); end >= 0 {
		return from, to + end + 1
	}
	return from, len(text)
}

// docOf returns the doc comment of a declaration, or nil.
func docOf(node ast.Node) *ast.CommentGroup {
	switch node := node.(type) {
	case *ast.FuncDecl:
		return node.Doc
	case *ast.GenDecl:
		return node.Doc
	}
	return nil
}

// startOf returns the position of a declaration with its doc comment.
func startOf(node ast.Node) token.Pos {
	if doc := docOf(node); doc != nil {
		return doc.Pos()
	}
	return node.Pos()
}

// declarationName returns the name of a declaration: a function, a method with its type, or the first of
// several names.
func declarationName(decl ast.Decl) string {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return strings.TrimPrefix(receiverName(decl)+"."+decl.Name.Name, ".")
	case *ast.GenDecl:
		if names := typecheck.DeclaredNames(&ast.File{Decls: []ast.Decl{decl}}); len(names) > 0 {
			return names[0]
		}
	}
	return "_"
}

// nameUsers lists in a refusal the declarations outside tests that use a component.
func (e *Engine) nameUsers(r *Refusal, c derive.Component) {
	var users []string
	for _, d := range r.Diagnostics {
		file := e.before.File(d.File)
		if file == nil || file.IsTest() || file.IsDerived() {
			continue
		}
		for _, decl := range file.Syntax.Decls {
			if covers(e.before.Fset(), decl, []int{d.Line}) {
				user := fmt.Sprintf("%s (%s:%d)", declarationName(decl), d.File, d.Line)
				if !slices.ContainsFunc(users, func(other string) bool { return strings.HasPrefix(other, declarationName(decl)+" (") }) {
					users = append(users, user)
				}
			}
		}
	}
	if len(users) > 0 {
		r.Reason = fmt.Sprintf("destroy %s %s: still used by %s:", c.Kind, c.Name, joinFew(users))
		r.Remedy = "Nothing was changed. Change or destroy the code that uses it first."
	}
}

// eventLogAdvice advises on stored events of commands that a plan removes, and on renamed workers.
func (e *Engine) eventLogAdvice(p *plan) []string {
	var advice []string
	hasFeatures := slices.ContainsFunc(p.after.Dirs(), func(dir string) bool { return path.Dir(dir) == derive.Features })
	for _, file := range slices.Sorted(maps.Keys(p.recomputed)) {
		before, after := e.before.File(file), p.after.File(file)
		if removed := subtract(derive.EventTypes(before), derive.EventTypes(after)); len(removed) > 0 {
			next := e.removedEventsAdvice(removed, path.Dir(file), after != nil)
			if !hasFeatures { // the server does not open the event log
				next = fmt.Sprintf("Stored events of %s stay in the event log, but nothing reads them.", path.Base(path.Dir(file)))
			}
			advice = append(advice, next)
		}
		if after != nil {
			advice = append(advice, renamedWorkersAdvice(derive.Workers(before), derive.Workers(after))...)
		}
	}
	return append(advice, undoneVersionsAdvice(p.files)...)
}

// undoneVersionsAdvice advises on stored events of versions that an undo removes from the contract.
func undoneVersionsAdvice(files []journal.Change) []string {
	at := slices.IndexFunc(files, func(f journal.Change) bool { return f.Path == contract.File })
	if at < 0 {
		return nil
	}
	before, err := contract.Parse(files[at].Before)
	after, afterErr := contract.Parse(files[at].After)
	if err != nil || afterErr != nil {
		return nil
	}
	var advice []string
	for _, name := range slices.Sorted(maps.Keys(after.Commands)) {
		if was := before.Commands[name].Version; was > after.Commands[name].Version && !after.Commands[name].Removed {
			advice = append(advice, fmt.Sprintf(`If the event log contains %s events of version %d, the server will not start (over MCP: log {"type":%q} lists them). Then redo this, or skip each event.`, name, was, name))
		}
	}
	return advice
}

// removedEventsAdvice advises on stored events of removed commands. If the feature remains, it includes a
// func Map.
func (e *Engine) removedEventsAdvice(removed []string, dir string, remains bool) string {
	problem := fmt.Sprintf("If the event log contains %s events, the server will not start.", strings.Join(removed, " or "))
	events := path.Base(dir) // all of the feature
	if len(removed) == 1 {
		events = removed[0]
	}
	skip := fmt.Sprintf(`%s log skip SEQ --reason WHY (over MCP: log {"type":%q} lists them)`, e.project.Name, events)
	if !remains {
		return fmt.Sprintf("%s Skip each: %s.", problem, skip)
	}
	var quoted []string
	for _, name := range removed {
		quoted = append(quoted, strconv.Quote(name))
	}
	return fmt.Sprintf(`%s To keep applying them, keep the type with //petrock:internal in its doc comment. To drop them, skip each with %s, or write in %s:
    // Map drops the events of removed commands.
    func Map(p app.Payload) (app.Payload, error) {
        switch p.Type {
        case %s:
            return p, app.ErrDrop // or return the event that replaces it
        }
        return p, nil
    }`, problem, skip, dir, strings.Join(quoted, ", "))
}

func renamedWorkersAdvice(before, after []string) []string {
	removed, added := subtract(before, after), subtract(after, before)
	if len(removed) == 0 {
		return nil
	}
	which, old := "another name", path.Base(removed[0])
	if len(added) > 0 {
		which = strings.Join(added, " or ")
	}
	if len(removed) > 1 {
		old = "OLD"
	}
	return []string{fmt.Sprintf("Worker %s no longer exists. The position in the event log is stored under the worker's name; under %s it starts at the end of the log. To keep the position, add //petrock:name %s to the doc comment of its type.", strings.Join(removed, ", "), which, old)}
}

func subtract(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(others, name) })
}
