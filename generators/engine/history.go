package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

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

// History returns the recorded operations in this clone of the project. It takes no lock and changes
// nothing.
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

// original returns the index of the operation that the one at an index undoes or redoes, directly or
// through others. It is at itself if that neither undoes nor redoes one in the history.
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
