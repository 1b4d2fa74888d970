package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// Change changes a component in place. It renames references in the Go of the whole project, tests
// included. If stored events of a command would no longer be readable, it also generates a new
// version of the command.
func (e *Engine) Change(ctx context.Context, in Change, o Options) (*Result, error) {
	if in.Name == "" {
		return nil, terminal.Usagef("change: %s is missing; pass the name of a component, such as send_mail or posts/create", e.option("name"))
	}
	if in.Kind != "" && !slices.Contains(Kinds(), in.Kind) {
		return nil, unknownKind(in.Kind, Kinds())
	}
	remedy := fmt.Sprintf("Nothing was changed. Set %s too; if other code uses the fields, edit it and the fields in one operation.", e.option("body"))
	result, err := e.transact(ctx, request{Options: o, action: actionChange, arguments: arguments{Change: &in}}, func(j *journal.Journal, p *plan) error {
		p.checkPure = true
		ch, err := e.newChanger(ctx, p, in)
		if err != nil {
			return err
		}
		p.title = fmt.Sprintf("%s %s %s", actionChange, ch.c.Kind, ch.c.Name)
		if err := ch.run(ctx); err != nil || len(p.conflicts) > 0 {
			return err
		}
		switch {
		case in.Body != "":
			remedy = "Nothing was changed. Correct the body, or edit the code that uses the fields in the same operation."
		case ch.c.Kind == derive.Type:
			remedy = "Nothing was changed. Edit the code that uses the type and the type in one operation."
		case ch.c.Kind == derive.Command:
			remedy = fmt.Sprintf("Nothing was changed. Set %s too; if other code uses the fields, edit it and the fields by hand, then run %s.", e.option("body"), e.versionCall(ch.c.EventType, ""))
		}
		if err := e.planEdits(ctx, j, p, in.Edits); err != nil {
			return err
		}
		return e.derive(ctx, p, e.touched(p, ch.dirs...), true)
	})
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.cause == causeCompile {
		refusal.Remedy = remedy
	}
	return result, err
}

// run plans all edits.
func (ch *changer) run(ctx context.Context) error {
	parseFields := func() error { return ch.parseFields(ctx) }
	for _, step := range []func() error{parseFields, ch.check, ch.planRename, ch.planFields, ch.planValues, ch.planBodies, ch.planDoc, ch.planExamples} {
		if err := step(); err != nil {
			return generatorError(fmt.Sprintf("change %s %s", ch.c.Kind, ch.c.Name), err)
		}
	}
	ch.renameUses()
	ch.renameTexts()
	if err := ch.finish(ctx); err != nil {
		return err
	}
	ch.advise()
	return nil
}

// check refuses a change that the component does not support.
func (ch *changer) check() error {
	in := ch.in
	if _, err := gen.ParseDescription(in.Description); err != nil {
		return err
	}
	hasFields, hasOutput := !ch.inputEdit.isEmpty(), !ch.outputEdit.isEmpty()
	isCommand, isType := ch.c.Kind == derive.Command, ch.c.Kind == derive.Type
	isEmpty := in.Description == "" && in.Body == "" && in.Check == "" && in.Directives == (gen.Directives{}) && len(in.Values)+len(in.Examples) == 0
	switch {
	case !hasFields && !hasOutput && in.Rename == "" && isEmpty:
		return fmt.Errorf("nothing to change; set %s, %s, %s or another argument of change", ch.engine.option("rename"), ch.engine.option("fields"), ch.engine.option("body"))
	case ch.c.Kind == derive.Feature && in.Rename != "":
		return fmt.Errorf("events and positions of workers are stored under the name of their feature; rename its commands and queries one by one, or change what clients see with //petrock:name and //petrock:title")
	case ch.c.Kind == derive.Feature && (hasFields || hasOutput || in.Body != ""):
		return fmt.Errorf("a feature has no fields; change one of its commands and queries, or edit %s", ch.c.File)
	case in.Alias && (in.Rename == "" || !ch.c.IsTool()):
		return fmt.Errorf("alias needs rename, and a tool, command or query that clients can call")
	case ch.c.Kind == derive.Resource && hasFields:
		return fmt.Errorf("the fields of a resource are the variables of its URI, %s; edit both in %s", ch.c.URI, ch.c.File)
	case isType && (hasOutput || in.Body != "" || in.Directives != (gen.Directives{}) || len(in.Examples) > 0):
		return fmt.Errorf("a type has a name, a description, and fields or values; remove the other arguments, or edit %s", ch.c.File)
	case isType && in.ReadFirst:
		return fmt.Errorf("read_first needs a command; change the field in a command that contains the type, such as loan.due of desk/lend")
	case isType && hasFields && ch.input == nil:
		return fmt.Errorf("%s is not a struct; set %s", ch.c.Name, ch.engine.option("values"))
	case len(in.Values) > 0 && (!isType || ch.input != nil):
		return fmt.Errorf("only an enum type has values; set %s, such as status:enum(open,done)", ch.engine.option("fields"))
	case hasFields && ch.input == nil:
		return fmt.Errorf("%s has no input struct in the project; edit its signature in %s", ch.c.Func, ch.c.File)
	case hasOutput && ch.output == nil:
		return fmt.Errorf("%s does not return a struct of the project; edit its signature in %s", ch.c.Func, ch.c.File)
	case len(in.Default) > 0 && !isCommand && !isType:
		return fmt.Errorf("default sets values in stored events, which only commands have, and types in them; remove it")
	case in.ReadFirst && (!isCommand || !hasFields):
		return fmt.Errorf("read_first needs a command and a change of its fields")
	case in.Downgrade != "" && !in.ReadFirst:
		return fmt.Errorf("downgrade needs read_first; for a version that exists, use downgrade of generate version")
	case in.Check != "" && !isCommand:
		return fmt.Errorf("only a command has a check; remove it")
	case in.Body != "" && ch.method == nil:
		return fmt.Errorf("%s has several methods; edit them in %s", ch.c.Func, ch.c.File)
	}
	return nil
}

// planBodies plans the new bodies of functions.
func (ch *changer) planBodies() error {
	check, _, _ := types.LookupFieldOrMethod(ch.object.Type(), true, ch.pkg, "Check")
	for _, given := range []struct {
		field, body string
		object      types.Object
	}{{"body", ch.in.Body, ch.method}, {"check", ch.in.Check, check}} {
		if given.body == "" {
			continue
		}
		if err := checkBody(given.field, given.body); err != nil {
			return err
		}
		file := ch.view.FileAt(given.object.Pos())
		if file == nil {
			return fmt.Errorf("%s is not declared in the project", given.object.Name())
		}
		decl := typecheck.Enclosing[*ast.FuncDecl](file, given.object.Pos())
		if decl == nil || decl.Body == nil {
			return fmt.Errorf("%s has no body in %s", given.object.Name(), file.Path)
		}
		ch.replace(file, decl.Body.Lbrace, decl.Body.Rbrace+1, "{\n"+strings.Trim(given.body, "\n")+"\n}")
		ch.plan.bodyFile = file.Path
	}
	return nil
}

// checkBody refuses statements that would not stay inside of one function. field is the field of
// the input.
func checkBody(field, text string) error {
	imports, _, err := gen.ParseBody(field, text)
	if err == nil && len(imports) > 0 {
		err = &gen.SourceError{Field: field, Text: text, Line: 1, Column: 1, Message: "imports are not part of a body; add them to the file"}
	}
	return err
}

// finish applies the edits to the plan: texts with imports, moved files, and a new version of a
// command.
func (ch *changer) finish(ctx context.Context) error {
	p := ch.plan
	texts := ch.texts()
	for old, target := range ch.moves {
		if _, err := ch.engine.root.Lstat(target); err == nil {
			p.conflict("%s already exists", target)
		}
		p.texts[old] = nil
		if texts[old] == nil {
			texts[old] = ch.view.File(old).Text
		}
	}
	for name, text := range texts {
		text, err := ch.engine.resolver.Insert(ctx, ch.view, name, text, ch.imports[name])
		if err != nil {
			return err
		}
		p.texts[cmp.Or(ch.moves[name], name)] = slices.Concat(text, []byte(ch.appends[name]))
	}
	p.bodyFile = cmp.Or(ch.moves[p.bodyFile], p.bodyFile)
	missing, err := ch.completeGo(ctx, p.texts)
	if err != nil {
		return err
	}
	p.missing = missing
	p.dir, p.oldNames = path.Dir(ch.c.File), map[string]string{}
	for old, name := range ch.newNames {
		p.oldNames[name] = old
	}
	if (ch.c.Kind == derive.Command || ch.c.Kind == derive.Type) && !ch.inputEdit.isEmpty() {
		if err := ch.addVersion(ctx); err != nil {
			return err
		}
	}
	for name, text := range p.texts {
		if was := ch.view.File(name); was == nil || !bytes.Equal(was.Text, text) {
			return nil
		}
	}
	return terminal.Usagef("change %s %s: nothing to change; the source already has these values", ch.c.Kind, ch.c.Name)
}

// advise adds next steps and notices.
func (ch *changer) advise() {
	p := ch.plan
	p.warn(ch.unbuilt...)
	if ch.newGo != ch.oldGo && ch.c.IsTool() && !ch.in.Alias {
		p.next = append(p.next, fmt.Sprintf("Clients that call %s now fail. To keep the name as a deprecated alias, undo this and set alias.", ch.c.Name))
	}
	if ch.newGo != ch.oldGo && ch.c.Kind == derive.Command && ch.c.EventType != ch.c.Feature+"/"+gen.WireName(ch.newGo) {
		p.notices = append(p.notices, fmt.Sprintf("The event log keeps the name %s, so that stored events stay readable (//petrock:event).", ch.c.EventType))
	}
	if ch.newGo != ch.oldGo && ch.c.Kind == derive.Worker && ch.c.Name != ch.c.Feature+"/"+gen.WireName(ch.newGo) {
		p.notices = append(p.notices, fmt.Sprintf("The worker keeps the name %s, under which its position in the event log is stored (//petrock:name).", ch.c.Name))
	}
	var added []string
	for _, edit := range ch.fieldEdits() {
		added = append(added, edit.added...)
	}
	if len(added) > 0 && ch.in.Body == "" && ch.c.Kind != derive.Type {
		p.next = append(p.next, fmt.Sprintf("Use %s in %s.", strings.Join(added, ", "), cmp.Or(ch.moves[ch.c.File], ch.c.File)))
	}
	if ch.c.Kind == derive.Worker && !ch.inputEdit.isEmpty() {
		p.next = append(p.next, fmt.Sprintf("If the worker has run and does not start, discard its saved fields: %s workers reset %s. Its position stays.", ch.engine.project.Name, ch.c.Name))
	}
	p.name = ch.newWire
}

// addVersion adds a new version of a command, or of a command with the changed type, if its stored
// events would no longer be readable. Other commands with the type get one too.
func (ch *changer) addVersion(ctx context.Context) error {
	record, err := ch.engine.readContract(nil)
	if err != nil {
		return err
	}
	edited := ch.with(ch.plan.texts)
	packages, err := ch.engine.deriver.Packages(ctx, edited.view, edited.existingPlaces())
	if err != nil {
		return err
	}
	isNeeded := func(c contract.Change) bool { return needsVersion(c, ch.in.ReadFirst) }
	for _, home := range packages {
		for _, c := range home.Components {
			recorded, known := record.Commands[c.EventType]
			if !known || c.Kind != derive.Command || ch.c.Kind == derive.Command && c.EventType != ch.c.EventType {
				continue
			}
			switch changes := recorded.Versions[recorded.Version].Changes(c.Stored()); {
			case !slices.ContainsFunc(changes, isNeeded):
			case c.Version() > recorded.Version:
				return nil // the user is writing a new version
			case ch.c.Kind == derive.Command:
				return ch.writeVersion(ctx, edited, c.EventType, "")
			default:
				return ch.writeVersion(ctx, edited, c.EventType, ch.inputEdit.pathIn(changes))
			}
		}
	}
	if ch.in.ReadFirst {
		return terminal.Usagef("change %s %s: older builds can read the new events, so read_first has no effect; remove it", ch.c.Kind, ch.c.Name)
	}
	if len(ch.in.Default) > 0 {
		return terminal.Usagef("change %s %s: stored events stay readable, so default has no effect; remove it", ch.c.Kind, ch.c.Name)
	}
	return nil
}

// writeVersion writes a new version of a command that contains the changed struct at a JSON path.
func (ch *changer) writeVersion(ctx context.Context, edited snapshot, command, at string) error {
	input, err := strictjson.Marshal(map[string]any{
		"name": command, "rename": below(at, ch.inputEdit.renames, true), "drop": below(at, ch.inputEdit.remove, false),
		"default": below(at, ch.in.Default, false), "body": ch.in.Upgrade, "read_first": ch.in.ReadFirst,
	})
	if err != nil {
		return err
	}
	g, err := ch.engine.generator("version")
	if err != nil {
		return err
	}
	call := generatorCall{Generator: g, input: input, inputNames: map[string]string{"body": "upgrade", "rename": "rename_fields", "drop": "remove_fields"}}
	if ch.in.ReadFirst {
		call.notes = ch.fieldNotes()
	}
	draft, err := edited.run(ctx, call)
	if err != nil {
		return generatorError(fmt.Sprintf("change %s %s", ch.c.Kind, ch.c.Name), err)
	}
	if err := ch.engine.planDraft(ctx, ch.plan, draft); err != nil {
		return err
	}
	ch.engine.findConflicts(ch.plan, draft)
	ch.plan.trial = gen.Trial{} // its test runs with those of the package
	ch.plan.next = append(ch.plan.next, draft.Next...)
	if ch.in.ReadFirst {
		return ch.addDowngrades(ctx, g)
	}
	return nil
}

// addDowngrades adds a Downgrade to each command that has a new version. Without it, Go code cannot
// execute a command that writes an older version.
func (ch *changer) addDowngrades(ctx context.Context, g gen.Generator) error {
	versions := ch.plan.newVersionsOf
	for _, command := range versions {
		given := map[string]any{"name": command, "downgrade": true}
		if command == ch.c.EventType {
			given["rename"], given["downgrade_body"] = ch.inputEdit.renames, ch.in.Downgrade
		}
		input, err := strictjson.Marshal(given)
		if err != nil {
			return err
		}
		call := generatorCall{Generator: g, input: input, inputNames: map[string]string{"downgrade_body": "downgrade"}}
		draft, err := ch.with(ch.plan.texts).run(ctx, call)
		switch {
		case err != nil && (ch.in.Downgrade != "" || ctx.Err() != nil):
			return generatorError("change command "+ch.c.Name, err)
		case err != nil:
			ch.plan.next = append(ch.plan.next, fmt.Sprintf("Before Go code executes %s, write its Downgrade: %v", command, err))
			continue
		}
		draft.NewVersionsOf = versions
		if err := ch.engine.planDraft(ctx, ch.plan, draft); err != nil {
			return err
		}
	}
	return nil
}

// fieldNotes returns the notes of the fields that the command and its structs have before the
// change, by the names of the types after it.
func (ch *changer) fieldNotes() map[string]map[string]gen.FieldNote {
	structs, all := map[*types.Named]bool{}, map[string]map[string]gen.FieldNote{}
	ch.addStructs(structs, ch.input)
	for t := range structs {
		notes := map[string]gen.FieldNote{}
		for _, f := range derive.JSONFields(t.Underlying().(*types.Struct), false) {
			note := gen.FieldNote{Schema: f.Tag.Get("schema")}
			if file := ch.view.FileAt(f.Var.Pos()); file != nil {
				note.Comment = derive.FieldText(typecheck.Enclosing[*ast.Field](file, f.Var.Pos()))
			}
			notes[f.Key] = note
		}
		all[t.Obj().Pkg().Path()+"."+ch.nameOf(t.Obj())] = notes
	}
	return all
}

// planExamples plans examples in the component's test function. An example with the name of another
// replaces it, and the first replaces the call of a function that is not written. Others are added
// to the table of examples or, if they call another tool or there is no table, as subtests.
func (ch *changer) planExamples() error {
	var function *ast.FuncDecl
	file := ch.view.File(testPath(ch.c.File))
	if len(ch.in.Examples) > 0 && file != nil && ch.c.Kind.IsTool() {
		for decl := range nodesOf[*ast.FuncDecl](file.Syntax) {
			if decl.Name.Name == "Test"+ch.oldGo {
				function = decl
			}
		}
	}
	switch {
	case len(ch.in.Examples) == 0:
		return nil
	case function == nil:
		return fmt.Errorf("examples need the test of a tool, command or query, func Test%s in %s; edit the test", ch.oldGo, testPath(ch.c.File))
	}
	known := map[string]*ast.CompositeLit{}
	var unwritten, table *ast.CompositeLit
	for literal := range nodesOf[*ast.CompositeLit](function) {
		expected, _ := unquote(member(literal, "Error"))
		list, isList := literal.Type.(*ast.ArrayType)
		switch name, isNamed := unquote(member(literal, "Name")); {
		case isNamed:
			known[name] = literal
		case expected == "not written yet":
			unwritten = literal
		case isList && types.ExprString(list.Elt) == "mcptest.Example":
			table = literal
		}
	}
	for _, comment := range file.Syntax.Comments {
		if unwritten != nil && comment.Pos() > function.Pos() && comment.End() < unwritten.Pos() && strings.Contains(comment.Text(), "replace Error") {
			ch.removeDeclaration(file, comment, nil, nil)
		}
	}
	if slices.ContainsFunc(ch.in.Examples, func(s gen.Step) bool { return s.Tool != "" || s.Later != "" }) {
		table = nil // a table has no other calls, and the order counts
	}
	for _, step := range ch.in.Examples {
		e, later, err := step.Parse(0)
		old, isOwn := known[step.Name], step.Tool == "" && later == 0
		switch {
		case err != nil:
			return err
		case step.Name == "":
			return terminal.Usagef("an example for change needs a name; one with the name of another replaces it")
		case old != nil && !isOwn:
			return terminal.Usagef("example %q exists, and keeps its tool and its advance of the clock; omit tool and later, or use another name", e.Name)
		case old == nil && isOwn && unwritten != nil:
			old, unwritten = unwritten, nil
		}
		literal, tool := exampleCode(e), step.Tool
		switch {
		case old != nil:
			ch.replace(file, old.Lbrace, old.Rbrace+1, literal)
			continue
		case table != nil && isOwn:
			ch.replace(file, table.Rbrace, table.Rbrace, literal+",\n")
			continue
		case tool == "":
			tool = ch.newWire
		}
		advance := ""
		if later > 0 {
			advance = "client.Advance(" + gen.Duration(later).GoString() + ")\n"
		}
		ch.replace(file, function.Body.Rbrace, function.Body.Rbrace,
			fmt.Sprintf("t.Run(%q, func(t *testing.T) {\n%sclient.CheckTool(t, %q, mcptest.Example%s)\n})\n", e.Name, advance, tool, literal))
	}
	return nil
}

// exampleCode returns an example of a tool as a literal of mcptest.Example without its type.
func exampleCode(e gen.Example) string {
	result := "Output: mcptest.AnyOutput{}"
	switch {
	case e.Error != "":
		result = fmt.Sprintf("Error: %q", e.Error)
	case e.Output != nil:
		result = "Output: " + gen.RawString(string(e.Output))
	}
	return fmt.Sprintf("{Name: %q, Input: %s, %s}", e.Name, gen.RawString(string(e.Input)), result)
}
