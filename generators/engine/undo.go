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

// Undo takes an operation back: its files become what they were before it, and derived files are
// derived again. An empty id means the last operation that is neither undone nor an undo.
// An undo can be undone by its own id.
func (e *Engine) Undo(ctx context.Context, id string, o Options) (*Result, error) {
	if o.Force && o.Keep {
		return nil, terminal.Usagef("keep and force contradict each other; give one of them")
	}
	op := journal.Operation{Action: actionUndo}
	var target journal.Operation
	var later []journal.Operation
	result, err := e.transact(ctx, &op, o, func(opened *journal.Journal, result *Result) (*plan, error) {
		history, err := opened.History()
		if err != nil {
			return nil, err
		}
		if target, later, err = operation(history, id); err != nil {
			return nil, err
		}
		op.Title, op.Undoes = "undo "+target.Title, target.ID
		result.Undoes = target.ID
		p, err := e.reverse(opened, target, later, o)
		if err != nil {
			return nil, err
		}
		p.lenient, p.destroys = true, true
		return p, e.derive(ctx, p, e.touched(p), true)
	})
	if r, ok := err.(*Refusal); ok && len(r.Diagnostics) > 0 && !r.before {
		r.name(target, later)
	}
	return result, err
}

// name says which operations build on the one that was to be undone, by the files that would break.
func (r *Refusal) name(target journal.Operation, later []journal.Operation) {
	for _, op := range later {
		if slices.ContainsFunc(op.Files, func(f journal.Record) bool {
			return !f.Derived && slices.ContainsFunc(r.Diagnostics, func(d typecheck.Diagnostic) bool { return d.File == f.Path })
		}) {
			r.Operations = append(r.Operations, op.ID)
		}
	}
	r.Reason = fmt.Sprintf("undoing %s (%s) would leave what does not compile:", target.ID, target.Title)
	if len(r.Operations) > 0 {
		r.WayOut = "Nothing was changed. Undo what builds on it first: " + strings.Join(r.Operations, ", ") + "."
	}
}

// operation finds the one that is to be undone, and those after it that still hold.
func operation(history []journal.Operation, id string) (target journal.Operation, later []journal.Operation, err error) {
	undone := undoneBy(history)
	at := -1
	for i, op := range history {
		if id == "" && op.Action != actionUndo && undone[op.ID] == "" || id != "" && (op.ID == id || strings.HasPrefix(op.ID, id+"-")) {
			at = i
		}
	}
	switch {
	case at < 0 && id == "":
		return target, nil, &Refusal{Reason: "there is nothing to undo in this clone of the project; the history lists what was done"}
	case at < 0:
		return target, nil, terminal.Usagef("there is no operation %q; the history lists those there are", id)
	}
	target = history[at]
	if by := undone[target.ID]; by != "" {
		return target, nil, &Refusal{Reason: fmt.Sprintf("%s (%s) is undone already, by %s; to undo %[3]s brings back what it did", target.ID, target.Title, by)}
	}
	for _, op := range history[at+1:] {
		if undone[op.ID] == "" && op.Action != actionUndo {
			later = append(later, op)
		}
	}
	return target, later, nil
}

// undoneBy says of each operation that is undone which one undid it, the undone ones among
// those not counted.
func undoneBy(history []journal.Operation) map[string]string {
	undone := map[string]string{}
	for _, op := range slices.Backward(history) {
		if op.Undoes != "" && undone[op.ID] == "" && undone[op.Undoes] == "" {
			undone[op.Undoes] = op.ID
		}
	}
	return undone
}

// reverse plans the files of an operation as they were before it. Those that were edited since,
// or that a later operation has changed, are in the way.
func (e *Engine) reverse(opened *journal.Journal, target journal.Operation, later []journal.Operation, o Options) (*plan, error) {
	p := newPlan()
	edited := &Refusal{
		Reason: fmt.Sprintf("what %s (%s) wrote has been edited since:", target.ID, target.Title),
		WayOut: "Nothing was changed. With keep the rest is undone and these files stay; with force they are taken back too.",
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
			edited.Files = append(edited.Files, fileChange(journal.Change{Path: record.Path, Before: wrote, After: now}))
			continue
		}
		if p.texts[record.Path], err = opened.Contents(record.Before); err != nil {
			return nil, err
		}
		p.modes[record.Path] = record.Mode
	}
	switch {
	case len(edited.Operations) > 0:
		edited.Reason = fmt.Sprintf("later operations have changed the same files as %s (%s): %s", target.ID, target.Title, strings.Join(edited.Operations, ", "))
		edited.Files = nil
		edited.WayOut = "Nothing was changed. Undo those first."
		return nil, edited
	case len(edited.Files) > 0:
		return nil, edited
	case !slices.ContainsFunc(target.Files, func(r journal.Record) bool {
		return !r.Derived && p.plans(r.Path) && (r.Path != contract.File || onlyContract(target))
	}):
		return nil, &Refusal{Reason: fmt.Sprintf("all that %s (%s) wrote has been edited since, so there is nothing left to undo", target.ID, target.Title)}
	}
	return p, nil
}

// onlyContract reports whether an operation changed nothing of the user's but the contract, as sync does.
func onlyContract(op journal.Operation) bool {
	return !slices.ContainsFunc(op.Files, func(r journal.Record) bool { return !r.Derived && r.Path != contract.File })
}
