package engine

import (
	"context"
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// addVersion adds a new version of a command if its stored events would no longer be readable.
func (ch *changer) addVersion(ctx context.Context) error {
	record, err := ch.engine.readContract(nil)
	if err != nil {
		return err
	}
	recorded, known := record.Commands[ch.c.EventType]
	edited := ch.engine.onDisk().with(ch.plan.texts)
	now, _, err := edited.lookUp(ctx, derive.Command, ch.c.EventType)
	if err != nil {
		return err
	}
	isNeeded := func(c contract.Change) bool { return needsVersion(c, ch.in.ReadFirst) }
	switch {
	case !known || !slices.ContainsFunc(recorded.Versions[recorded.Version].Changes(now.Stored()), isNeeded):
		if ch.in.ReadFirst {
			return terminal.Usagef("change command %s: older builds can read the new events, so read_first has no effect; remove it", ch.c.Name)
		}
		if len(ch.in.Default) > 0 {
			return terminal.Usagef("change command %s: stored events stay readable, so default has no effect; remove it", ch.c.Name)
		}
		return nil
	case now.Version() > recorded.Version:
		return nil // the user is writing a new version
	}
	input, err := strictjson.Marshal(map[string]any{
		"name": ch.c.EventType, "rename": ch.inputEdit.renames, "drop": ch.inputEdit.remove,
		"default": ch.in.Default, "body": ch.in.Upgrade, "read_first": ch.in.ReadFirst,
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
		return generatorError("change command "+ch.c.Name, err)
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
		draft, err := ch.engine.onDisk().with(ch.plan.texts).run(ctx, call)
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
