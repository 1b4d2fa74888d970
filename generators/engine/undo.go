package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// Undo reverts an operation: it restores the operation's files, and regenerates derived files. An
// empty id means the operation that was done or redone last and is not undone, so that repeated
// calls go back step by step.
func (e *Engine) Undo(ctx context.Context, id string, o Options) (*Result, error) {
	return e.revert(ctx, o, func(history []journal.Operation) (int, error) { return e.findUndo(history, id) })
}

// Redo restores what an undo has reverted. The id is that of the undo or of the undone operation.
// An empty id means the last undo that is not redone; Redo refuses it if another operation
// followed.
func (e *Engine) Redo(ctx context.Context, id string, o Options) (*Result, error) {
	return e.revert(ctx, o, func(history []journal.Operation) (int, error) { return e.findRedo(history, id) })
}

// revert reverts the operation that find returns the index of.
func (e *Engine) revert(ctx context.Context, o Options, find func([]journal.Operation) (int, error)) (*Result, error) {
	if o.Force && o.Keep {
		return nil, terminal.Usagef("keep and force cannot be combined; pass one of them")
	}
	r := reversal{action: actionUndo}
	result, err := e.transact(ctx, request{Options: o, lenient: true}, func(j *journal.Journal, p *plan) (err error) {
		if r.history, err = j.History(); err != nil {
			return err
		}
		at, err := find(r.history)
		if err != nil {
			return err
		}
		r.target, r.title = r.history[at], r.history[original(r.history, at)].Title
		if r.target.Action == actionUndo {
			r.action = actionRedo
		}
		undone := undoneBy(r.history)
		if by := undone[r.target.ID]; by != "" {
			opposite := map[string]string{actionUndo: actionRedo, actionRedo: actionUndo}[r.action]
			return &Refusal{Reason: fmt.Sprintf("%s (%s) was already %s by %s; to revert that, %s", r.target.ID, r.target.Title, participles[r.action], by, e.Call(opposite, "operation", by))}
		}
		r.later = slices.DeleteFunc(slices.Clone(r.history[at+1:]), func(op journal.Operation) bool { return undone[op.ID] != "" || op.Undoes != "" })
		return e.planRevert(ctx, j, p, r)
	})
	if refusal := refusedCode(err); refusal != nil {
		r.explain(refusal)
	}
	if err == nil && !o.DryRun {
		history := append(r.history, journal.Operation{ID: result.Operation, Action: r.action, Undoes: r.target.ID})
		result.Next = slices.Insert(result.Next, 0, e.afterRevert(history))
	}
	return result, err
}

// A reversal is an operation that is undone or redone.
type reversal struct {
	action  string // undo, or redo if the target is itself an undo
	history []journal.Operation
	target  journal.Operation   // the operation to revert
	title   string              // of the operation that is undone or redone
	later   []journal.Operation // later operations that are not undone
}

var participles = map[string]string{actionUndo: "undone", actionRedo: "redone"} // for messages

// explain names the later operations that depend on the one to revert: those whose files would not
// compile.
func (r reversal) explain(refusal *Refusal) {
	refusal.Operations = r.laterWith(func(f journal.Record) bool {
		return !f.Derived && slices.ContainsFunc(refusal.Diagnostics, func(d typecheck.Diagnostic) bool { return d.File == f.Path })
	})
	refusal.Reason = fmt.Sprintf("%s %s (%s): %s", r.action, r.target.ID, r.target.Title, refusal.Reason)
	if len(refusal.Operations) > 0 {
		refusal.Remedy = "Nothing was changed. Undo the operations that depend on it first: " + strings.Join(refusal.Operations, ", ") + "."
	}
}

// afterRevert describes what the next undo and redo would do. The last operation of the history is
// the revert.
func (e *Engine) afterRevert(history []journal.Operation) string {
	next := e.Call("undo") + " has nothing more to undo."
	if at := lastNotUndone(history); at >= 0 {
		next = fmt.Sprintf("%s would now undo %s, %s.", e.Call("undo"), history[at].ID, history[at].Title)
	}
	if at, err := e.findRedo(history, ""); err == nil {
		next += fmt.Sprintf(" %s would redo %s.", e.Call("redo"), history[original(history, at)].Title)
	}
	return next
}

// findUndo returns the index of the operation to undo.
func (e *Engine) findUndo(history []journal.Operation, id string) (int, error) {
	if id != "" {
		return e.findOperation(history, id)
	}
	at := lastNotUndone(history)
	if at < 0 {
		return 0, &Refusal{Reason: "nothing to undo in this clone of the project: no operation is left"}
	}
	return at, nil
}

// lastNotUndone returns the index of the operation that an undo without an id reverts, or -1: of
// those that are not undone, the one that was done or redone last. It passes over those that follow
// from the source.
func lastNotUndone(history []journal.Operation) int {
	undone := undoneBy(history)
	for at := range slices.Backward(history) {
		at = original(history, at)
		if op := history[at]; op.Undoes == "" && !op.Follows && undone[op.ID] == "" {
			return at
		}
	}
	return -1
}

// findRedo returns the index of the undo to revert.
func (e *Engine) findRedo(history []journal.Operation, id string) (int, error) {
	undone := undoneBy(history)
	if id != "" {
		at, err := e.findOperation(history, id)
		if err != nil || history[at].Action == actionUndo {
			return at, err
		}
		by := undone[history[at].ID]
		if by == "" {
			return 0, &Refusal{Reason: fmt.Sprintf("redo %s (%s): it is not undone", history[at].ID, history[at].Title)}
		}
		return e.findOperation(history, by)
	}
	for at, op := range slices.Backward(history) {
		if op.Action != actionUndo || undone[op.ID] != "" {
			continue
		}
		since := slices.IndexFunc(history[at:], func(later journal.Operation) bool { return later.Undoes == "" })
		if since < 0 {
			return at, nil
		}
		return 0, &Refusal{
			Reason:     fmt.Sprintf("nothing to redo: %s (%s) followed the last undo", history[at+since].ID, history[at+since].Title),
			Operations: []string{op.ID},
			Remedy:     fmt.Sprintf("Nothing was changed. To redo %s anyway: %s.", history[original(history, at)].Title, e.Call("redo", "operation", op.ID)),
		}
	}
	return 0, &Refusal{Reason: "nothing to redo in this clone of the project: no operation is undone"}
}

// findOperation returns the index of the operation with an id or number.
func (e *Engine) findOperation(history []journal.Operation, id string) (int, error) {
	at := slices.IndexFunc(history, func(op journal.Operation) bool { return op.ID == id || strings.HasPrefix(op.ID, id+"-") })
	if at < 0 {
		return 0, terminal.Usagef("operation %q does not exist; run %s", id, e.Call("history"))
	}
	return at, nil
}

// planRevert plans to restore the files of an operation. It refuses files that were edited, or
// changed by a later operation.
func (e *Engine) planRevert(ctx context.Context, j *journal.Journal, p *plan, r reversal) error {
	p.action, p.undoes, p.reverted, p.arguments.Name = r.action, r.target.ID, r.title, r.target.ID
	p.title = r.action + " " + r.title
	what := fmt.Sprintf("%s (%s)", r.target.ID, r.target.Title)
	later := r.laterWith(func(later journal.Record) bool { // that have changed the same user files
		return slices.ContainsFunc(r.target.Files, func(f journal.Record) bool { return isRestored(f) && f.Path == later.Path })
	})
	if len(later) > 0 {
		return &Refusal{
			Reason:     fmt.Sprintf("later operations have changed the same files as %s: %s", what, strings.Join(later, ", ")),
			Operations: later,
			Remedy:     "Nothing was changed. Undo those first.",
		}
	}
	edited, err := e.restoreFiles(j, p, r)
	if err != nil {
		return err
	}
	hasParts := len(r.target.Added)+len(r.target.Removed) > 0
	switch {
	case len(edited) > 0 && !p.Keep:
		return &Refusal{
			Reason: fmt.Sprintf("files of %s have been edited since:", what),
			Files:  edited,
			Remedy: fmt.Sprintf("Nothing was changed. With %[2]s these files stay and the rest is %[1]s; with %[3]s they are %[1]s too.", participles[r.action], e.option("keep"), e.option("force")),
		}
	case len(edited) > 0 && len(p.modes) == 0 && !hasParts:
		return &Refusal{Reason: fmt.Sprintf("all files of %s have been edited since; there is nothing to %s", what, r.action)}
	}
	e.useModules(p)
	if err := e.revertParts(ctx, p, r.target); err != nil {
		return err
	}
	return e.derive(ctx, p, e.touched(p), true)
}

// laterWith returns the ids of later operations with a file that matches.
func (r reversal) laterWith(matches func(journal.Record) bool) (ids []string) {
	for _, op := range r.later {
		if slices.ContainsFunc(op.Files, matches) {
			ids = append(ids, op.ID)
		}
	}
	return ids
}

// isRestored reports whether undo restores a file, instead of computing it again.
func isRestored(f journal.Record) bool { return !f.Derived && f.Path != contract.File }

// restoreFiles plans the old files of an operation. It returns the files that were edited since,
// which it leaves alone unless Force is set. A file with its old text is not edited.
func (e *Engine) restoreFiles(j *journal.Journal, p *plan, r reversal) (edited []FileChange, err error) {
	for _, record := range r.target.Files {
		if !isRestored(record) {
			if record.Path == contract.File && !record.Derived {
				if err := e.revertContract(j, p, record); err != nil {
					return nil, err
				}
			}
			continue
		}
		now, err := e.root.ReadFile(record.Path)
		if err != nil && !isMissing(err) {
			return nil, err
		}
		switch hash := journal.Hash(now); {
		case hash == record.Before: // restored by hand
			p.texts[record.Path] = now
		case hash != record.After && !p.Force:
			wrote, err := j.Contents(record.After)
			if err != nil && !p.Keep {
				return nil, err
			}
			edited = append(edited, newFileChange(journal.Change{Path: record.Path, Before: wrote, After: now}))
			continue
		default:
			if p.texts[record.Path], err = j.Contents(record.Before); err != nil {
				return nil, err
			}
		}
		p.modes[record.Path] = record.Mode
	}
	return edited, nil
}

// A History is the recorded operations in this clone of a project.
type History struct {
	OK         bool                   `json:"ok"`                 // Always true
	Operations []Operation            `json:"operations"`         // The oldest first; of a page, the newest first
	Total      int                    `json:"total,omitempty"`    // Of a page: number of all operations
	Offset     int                    `json:"offset,omitempty"`   // Of a page: number of operations before it
	Warnings   []typecheck.Diagnostic `json:"warnings,omitempty"` // An operation that was interrupted, or is in progress
}

// An Operation is one operation of a history.
type Operation struct {
	journal.Operation
	UndoneBy string           `json:"undoneBy,omitempty"` // Id of the operation that undid it
	Files    []journal.Record `json:"files,omitempty"`    // The changed files, sorted by path
}

func (o *Operation) omitDetails() { o.Files = nil }

// History returns the recorded operations in this clone of the project. It takes no lock and
// changes nothing.
func (e *Engine) History(context.Context) (*History, error) {
	operations, err := journal.ReadHistory(e.root)
	if err != nil {
		return nil, err
	}
	history := &History{OK: true, Operations: []Operation{}, Warnings: e.interrupted()}
	undone := undoneBy(operations)
	for _, op := range operations {
		history.Operations = append(history.Operations, Operation{Operation: op, UndoneBy: undone[op.ID], Files: op.Files})
	}
	return history, nil
}

// Page returns the history with the newest operations first, from an offset.
func (h *History) Page(offset, limit int) *History {
	s := *h
	s.Operations = slices.Clone(h.Operations)
	slices.Reverse(s.Operations)
	s.Total, s.Offset = len(s.Operations), offset
	s.Operations = page(s.Operations, offset, limit)
	return &s
}

// Short returns the short form of the history: operations without their files.
func (h *History) Short(limit int) any { return Shorten(h, limit) }

// String lists the operations, one a line.
func (h *History) String() string {
	var out strings.Builder
	writeLines(&out, "warning: ", h.Warnings)
	for _, op := range h.Operations {
		fmt.Fprintf(&out, "%s %s %s", op.ID, op.Time.UTC().Format("2006-01-02T15:04Z"), op.Title)
		if op.UndoneBy != "" {
			fmt.Fprintf(&out, " (undone by %s)", op.UndoneBy)
		}
		out.WriteByte('\n')
	}
	writePage(&out, len(h.Operations), h.Offset, h.Total, "operation")
	return out.String()
}

// undoneBy maps each undone operation to the operation that undid it, unless that was itself
// undone.
func undoneBy(history []journal.Operation) map[string]string {
	undone := map[string]string{}
	for _, op := range slices.Backward(history) {
		if op.Undoes != "" && undone[op.ID] == "" && undone[op.Undoes] == "" {
			undone[op.Undoes] = op.ID
		}
	}
	return undone
}

// original returns the index of the operation that the one at an index undoes or redoes, directly
// or through others. It is at itself if that neither undoes nor redoes one in the history.
func original(history []journal.Operation, at int) int {
	for history[at].Undoes != "" {
		target := slices.IndexFunc(history, func(op journal.Operation) bool { return op.ID == history[at].Undoes })
		if target < 0 {
			break
		}
		at = target
	}
	return at
}
