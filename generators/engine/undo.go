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
// id means the last operation that is neither undone nor an undo. An undo can be undone by its own id.
func (e *Engine) Undo(ctx context.Context, id string, o Options) (*Result, error) {
	if o.Force && o.Keep {
		return nil, terminal.Usagef("keep and force cannot be combined; pass one of them")
	}
	var target journal.Operation  // the operation to undo
	var later []journal.Operation // later operations that are not undone
	result, err := e.transact(ctx, o, func(j *journal.Journal) (*plan, error) {
		history, err := j.History()
		if err != nil {
			return nil, err
		}
		if target, later, err = findOperation(history, id); err != nil {
			return nil, err
		}
		p, err := e.planUndo(j, target, later, o)
		if err != nil {
			return nil, err
		}
		p.operation.Title, p.operation.Undoes = "undo "+target.Title, target.ID
		p.ignoreBroken = true
		if err := e.useModules(p); err != nil {
			return nil, err
		}
		if err := e.revertParts(ctx, j, p, target); err != nil {
			return nil, err
		}
		return p, e.derive(ctx, p, e.touched(p), true)
	})
	if refusal, ok := err.(*Refusal); ok && len(refusal.Diagnostics) > 0 && !refusal.existedBefore {
		refusal.nameOperations(target, later)
	}
	return result, err
}

// nameOperations adds the later operations that depend on the one to undo: those whose files would not compile.
func (r *Refusal) nameOperations(target journal.Operation, later []journal.Operation) {
	for _, op := range later {
		if slices.ContainsFunc(op.Files, func(f journal.Record) bool {
			return !f.Derived && slices.ContainsFunc(r.Diagnostics, func(d typecheck.Diagnostic) bool { return d.File == f.Path })
		}) {
			r.Operations = append(r.Operations, op.ID)
		}
	}
	r.Reason = fmt.Sprintf("undo %s (%s): the project would not compile:", target.ID, target.Title)
	if len(r.Operations) > 0 {
		r.Remedy = "Nothing was changed. Undo the operations that depend on it first: " + strings.Join(r.Operations, ", ") + "."
	}
}

// findOperation finds the operation to undo, and the later operations that are not undone.
func findOperation(history []journal.Operation, id string) (target journal.Operation, later []journal.Operation, err error) {
	undone := undoneBy(history)
	at := -1
	for i, op := range history {
		if id == "" && op.Action != actionUndo && undone[op.ID] == "" || id != "" && (op.ID == id || strings.HasPrefix(op.ID, id+"-")) {
			at = i
		}
	}
	switch {
	case at < 0 && id == "":
		return target, nil, &Refusal{Reason: "nothing to undo in this clone of the project; run petrock history (over MCP: petrock://history)"}
	case at < 0:
		return target, nil, terminal.Usagef("operation %q does not exist; run petrock history (over MCP: petrock://history)", id)
	}
	target = history[at]
	if by := undone[target.ID]; by != "" {
		return target, nil, &Refusal{Reason: fmt.Sprintf("%s (%s) was already undone by %s; undo %[3]s to restore it", target.ID, target.Title, by)}
	}
	for _, op := range history[at+1:] {
		if undone[op.ID] == "" && op.Action != actionUndo {
			later = append(later, op)
		}
	}
	return target, later, nil
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

// planUndo plans to restore the files of an operation. It refuses files that were edited, or changed by a
// later operation.
func (e *Engine) planUndo(opened *journal.Journal, target journal.Operation, later []journal.Operation, o Options) (*plan, error) {
	p := newPlan(actionUndo)
	edited := &Refusal{
		Reason: fmt.Sprintf("files of %s (%s) have been edited since:", target.ID, target.Title),
		Remedy: "Nothing was changed. With keep these files stay and the rest is undone; with force they are undone too.",
	}
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
	}
	onlyContract := !slices.ContainsFunc(target.Files, func(r journal.Record) bool { return !r.Derived && r.Path != contract.File })
	switch {
	case len(edited.Operations) > 0:
		edited.Reason = fmt.Sprintf("later operations have changed the same files as %s (%s): %s", target.ID, target.Title, strings.Join(edited.Operations, ", "))
		edited.Files = nil
		edited.Remedy = "Nothing was changed. Undo those first."
		return nil, edited
	case len(edited.Files) > 0:
		return nil, edited
	case len(target.Added)+len(target.Removed) == 0 && !slices.ContainsFunc(target.Files, func(r journal.Record) bool {
		return !r.Derived && p.plans(r.Path) && (r.Path != contract.File || onlyContract)
	}):
		return nil, &Refusal{Reason: fmt.Sprintf("all files of %s (%s) have been edited since; there is nothing to undo", target.ID, target.Title)}
	}
	return p, nil
}
