package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// Undo reverts an operation: it restores the operation's files, and derives derived files again. An empty
// id means the last operation that is not undone, so that repeated calls go back step by step.
func (e *Engine) Undo(ctx context.Context, id string, o Options) (*Result, error) {
	return e.revert(ctx, o, func(history []journal.Operation) (int, error) { return findUndo(history, id) })
}

// Redo restores what an undo has reverted. The id is that of the undo or of the undone operation. An empty
// id means the last undo that is not redone; Redo refuses it if another operation followed.
func (e *Engine) Redo(ctx context.Context, id string, o Options) (*Result, error) {
	return e.revert(ctx, o, func(history []journal.Operation) (int, error) { return findRedo(history, id) })
}

// revert reverts the operation that find returns the index of.
func (e *Engine) revert(ctx context.Context, o Options, find func([]journal.Operation) (int, error)) (*Result, error) {
	if o.Force && o.Keep {
		return nil, terminal.Usagef("keep and force cannot be combined; pass one of them")
	}
	o.lenient = true
	action := actionUndo
	var history []journal.Operation
	var target journal.Operation  // the operation to revert
	var later []journal.Operation // later operations that are not undone
	result, err := e.transact(ctx, o, func(j *journal.Journal) (_ *plan, err error) {
		if history, err = j.History(); err != nil {
			return nil, err
		}
		at, err := find(history)
		if err != nil {
			return nil, err
		}
		if target, later, err = checkRevertible(history, at); err != nil {
			return nil, err
		}
		if isUndo(history, target) {
			action = actionRedo
		}
		p, err := e.planRevert(j, action, target, later, o)
		if err != nil {
			return nil, err
		}
		p.operation.Title, p.operation.Undoes = action+" "+baseTitle(target), target.ID
		e.useModules(p)
		if err := e.revertParts(ctx, p, target); err != nil {
			return nil, err
		}
		return p, e.derive(ctx, p, e.touched(p), true)
	})
	if refusal, ok := err.(*Refusal); ok && len(refusal.Diagnostics) > 0 && !refusal.existedBefore && !refusal.aboutEvents {
		refusal.nameOperations(action, target, later)
	}
	if err == nil && !o.DryRun {
		history = append(history, journal.Operation{ID: result.Operation, Undoes: target.ID})
		result.Next = append(e.afterRevert(history), result.Next...)
	}
	return result, err
}

// afterRevert says what the next undo and redo would do. The last operation of the history is the revert.
func (e *Engine) afterRevert(history []journal.Operation) []string {
	undo, redo := e.call("petrock undo", "undo"), e.call("petrock redo", "redo")
	next := undo + " has nothing more to undo."
	if at := lastNotUndone(history); at >= 0 {
		next = fmt.Sprintf("%s would now undo %s, %s.", undo, history[at].ID, history[at].Title)
	}
	if at, err := findRedo(history, ""); err == nil {
		undone, err := findOperation(history, history[at].Undoes)
		if err == nil {
			next += fmt.Sprintf(" %s would redo %s.", redo, history[undone].Title)
		}
	}
	return []string{next}
}

// nameOperations adds the later operations that depend on the one to revert: those whose files would not compile.
func (r *Refusal) nameOperations(action string, target journal.Operation, later []journal.Operation) {
	for _, op := range later {
		if slices.ContainsFunc(op.Files, func(f journal.Record) bool {
			return !f.Derived && slices.ContainsFunc(r.Diagnostics, func(d typecheck.Diagnostic) bool { return d.File == f.Path })
		}) {
			r.Operations = append(r.Operations, op.ID)
		}
	}
	r.Reason = fmt.Sprintf("%s %s (%s): %s", action, target.ID, target.Title, strings.Replace(r.Reason, "the change", "the project", 1))
	if len(r.Operations) > 0 {
		r.Remedy = "Nothing was changed. Undo the operations that depend on it first: " + strings.Join(r.Operations, ", ") + "."
	}
}

// findUndo returns the index of the operation to undo.
func findUndo(history []journal.Operation, id string) (int, error) {
	if id != "" {
		return findOperation(history, id)
	}
	at := lastNotUndone(history)
	if at < 0 {
		return 0, &Refusal{Reason: "nothing to undo in this clone of the project: no operation is left"}
	}
	return at, nil
}

// lastNotUndone returns the index of the operation that an undo without an id reverts, or -1. It passes over
// sync: the contract would follow the source again.
func lastNotUndone(history []journal.Operation) int {
	undone := undoneBy(history)
	at := len(history) - 1
	for at >= 0 && (history[at].Undoes != "" || history[at].Title == actionSync || undone[history[at].ID] != "") {
		at--
	}
	return at
}

// findRedo returns the index of the undo to revert.
func findRedo(history []journal.Operation, id string) (int, error) {
	undone := undoneBy(history)
	if id != "" {
		at, err := findOperation(history, id)
		if err != nil || isUndo(history, history[at]) {
			return at, err
		}
		by := undone[history[at].ID]
		if by == "" {
			return 0, &Refusal{Reason: fmt.Sprintf("redo %s (%s): it is not undone", history[at].ID, history[at].Title)}
		}
		return findOperation(history, by)
	}
	var since *journal.Operation // the first operation after the undo
	for at, op := range slices.Backward(history) {
		switch {
		case op.Undoes == "":
			since = &op
		case !isUndo(history, op) || undone[op.ID] != "":
		case since == nil:
			return at, nil
		default:
			return 0, &Refusal{
				Reason:     fmt.Sprintf("nothing to redo: %s (%s) followed the last undo", since.ID, since.Title),
				Operations: []string{op.ID},
				Remedy:     fmt.Sprintf("Nothing was changed. To redo %s anyway: petrock redo %s (over MCP: redo with this operation).", baseTitle(op), op.ID),
			}
		}
	}
	return 0, &Refusal{Reason: "nothing to redo in this clone of the project: no operation is undone"}
}

// findOperation returns the index of the operation with an id or number.
func findOperation(history []journal.Operation, id string) (int, error) {
	at := slices.IndexFunc(history, func(op journal.Operation) bool { return op.ID == id || strings.HasPrefix(op.ID, id+"-") })
	if at < 0 {
		return 0, terminal.Usagef("operation %q does not exist; run petrock history (over MCP: history)", id)
	}
	return at, nil
}

// checkRevertible refuses an operation that is already reverted. It returns the operation, and the later
// operations that are not undone.
func checkRevertible(history []journal.Operation, at int) (target journal.Operation, later []journal.Operation, err error) {
	undone := undoneBy(history)
	target = history[at]
	switch by := undone[target.ID]; {
	case by != "" && isUndo(history, target):
		return target, nil, &Refusal{Reason: fmt.Sprintf("%s (%s) was already redone by %s; undo %[3]s to revert that", target.ID, target.Title, by)}
	case by != "":
		return target, nil, &Refusal{Reason: fmt.Sprintf("%s (%s) was already undone by %s; redo %[3]s to restore it", target.ID, target.Title, by)}
	}
	for _, op := range history[at+1:] {
		if undone[op.ID] == "" && op.Undoes == "" {
			later = append(later, op)
		}
	}
	return target, later, nil
}

// isUndo reports whether op is an undo, and not a redo, which undoes an undo.
func isUndo(history []journal.Operation, op journal.Operation) bool {
	at := slices.IndexFunc(history, func(other journal.Operation) bool { return other.ID == op.Undoes })
	return op.Undoes != "" && (at < 0 || !isUndo(history, history[at]))
}

// baseTitle returns the title of an operation, or of the one that it undoes or redoes.
func baseTitle(op journal.Operation) string {
	title := op.Title
	for op.Undoes != "" && (strings.HasPrefix(title, actionUndo+" ") || strings.HasPrefix(title, actionRedo+" ")) {
		title = title[len(actionUndo)+1:] // both have four letters
	}
	return title
}

// undoneBy maps each undone operation to the operation that undid it, unless that was itself undone.
func undoneBy(history []journal.Operation) map[string]string {
	undone := map[string]string{}
	for _, op := range slices.Backward(history) {
		if op.Undoes != "" && undone[op.ID] == "" && undone[op.Undoes] == "" {
			undone[op.Undoes] = op.ID
		}
	}
	return undone
}

// planRevert plans to restore the files of an operation. It refuses files that were edited, or changed by a
// later operation.
func (e *Engine) planRevert(opened *journal.Journal, action string, target journal.Operation, later []journal.Operation, o Options) (*plan, error) {
	p := newPlan(action)
	edited := &Refusal{
		Reason: fmt.Sprintf("files of %s (%s) have been edited since:", target.ID, target.Title),
		Remedy: fmt.Sprintf("Nothing was changed. With %[2]s these files stay and the rest is %[1]sne; with %[3]s they are %[1]sne too.", action, e.option("keep"), e.option("force")), // undone or redone
	}
	restores := len(target.Added)+len(target.Removed) > 0
	for _, record := range target.Files {
		if record.Derived {
			continue
		}
		if record.Path == contract.File {
			if err := e.revertContract(opened, p, record); err != nil {
				return nil, err
			}
			continue
		}
		for _, op := range later {
			if slices.ContainsFunc(op.Files, func(f journal.Record) bool { return f.Path == record.Path }) && !slices.Contains(edited.Operations, op.ID) {
				edited.Operations = append(edited.Operations, op.ID)
			}
		}
		now, err := e.root.ReadFile(record.Path)
		if err != nil && !isMissing(err) {
			return nil, err
		}
		if journal.Hash(now) != record.After && !o.Force {
			if o.Keep {
				continue
			}
			wrote, err := opened.Contents(record.After)
			if err != nil {
				return nil, err
			}
			edited.Files = append(edited.Files, newFileChange(journal.Change{Path: record.Path, Before: wrote, After: now}))
			continue
		}
		if p.texts[record.Path], err = opened.Contents(record.Before); err != nil {
			return nil, err
		}
		p.modes[record.Path] = record.Mode
		restores = true
	}
	switch {
	case len(edited.Operations) > 0:
		edited.Reason = fmt.Sprintf("later operations have changed the same files as %s (%s): %s", target.ID, target.Title, strings.Join(edited.Operations, ", "))
		edited.Files = nil
		edited.Remedy = "Nothing was changed. Undo those first."
		return nil, edited
	case len(edited.Files) > 0:
		return nil, edited
	case !restores && slices.ContainsFunc(target.Files, func(r journal.Record) bool { return !r.Derived && r.Path != contract.File }):
		return nil, &Refusal{Reason: fmt.Sprintf("all files of %s (%s) have been edited since; there is nothing to undo", target.ID, target.Title)}
	}
	return p, nil
}
