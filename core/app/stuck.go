package app

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// A StuckError is an event that cannot be applied. At the start it is the error of [Open]. In a
// running process it is the error of every command and query of the feature that the event is of,
// until the event is amended or the process restarted. No event is ever skipped silently.
type StuckError struct {
	Record  Record
	Program string  // the program whose log commands help
	Late    bool    // the event was written after this process had started
	Amended []int64 // earlier events that were amended, which may be the cause
	Err     error
}

// Error names the event, the cause and the ways out, one a line.
func (e *StuckError) Error() string {
	r := e.Record
	var text strings.Builder
	if e.Late {
		text.WriteString("the event log is newer than this process; restart it\n")
	}
	fmt.Fprintf(&text, "event %d of the log (%s, version %d, %s) ", r.Seq, r.Type, r.Version, r.Time.Format("2006-01-02 15:04:05"))
	if unreadable, ok := errors.AsType[*unreadableError](e.Err); ok {
		fmt.Fprintf(&text, "%v\n", unreadable)
		if unreadable.remedy != "" {
			fmt.Fprintln(&text, unreadable.remedy)
		}
	} else {
		fmt.Fprintf(&text, "cannot be applied: %v\n", e.Err)
	}
	if len(e.Amended) > 0 {
		fmt.Fprintf(&text, "amended before it: %v; if that is the cause, see %s log show %d and %[2]s log restore\n", e.Amended, e.Program, e.Amended[len(e.Amended)-1])
	}
	fmt.Fprintf(&text, `show it:   %s log show %d
remap it:  %[1]s log map %[2]d --type TYPE --input JSON --reason WHY
skip it:   %[1]s log skip %[2]d --reason WHY`, e.Program, r.Seq)
	return text.String()
}

// Unwrap returns the cause.
func (e *StuckError) Unwrap() error { return e.Err }

// stuckAt is the error for an event that cannot be applied.
func (a *App) stuckAt(r Record, err error) *StuckError {
	stuck := &StuckError{Record: r, Program: a.o.Program, Late: a.opened.Load(), Err: err}
	for seq := range a.amendments {
		if seq < r.Seq {
			stuck.Amended = append(stuck.Amended, seq)
		}
	}
	slices.Sort(stuck.Amended)
	const most = 10
	stuck.Amended = stuck.Amended[max(0, len(stuck.Amended)-most):]
	return stuck
}

// An unreadableError is an event that this build does not know how to read. Its text goes on from
// the name of the event.
type unreadableError struct {
	text   string
	remedy string // what to change in the code; may be empty
	err    error  // may be nil
}

func (e *unreadableError) Error() string {
	if e.err != nil {
		return e.text + ": " + e.err.Error()
	}
	return e.text
}

func (e *unreadableError) Unwrap() error { return e.err }

// misfit is the error for the data of an event that is not what its type writes.
func (t *commandType) misfit(kind reflect.Type, err error) error {
	remedy := fmt.Sprintf("if %v changed: restore the fields that this version had", kind)
	if kind == t.kind {
		remedy = "if the command changed:  petrock generate version " + t.entry
		if fields, ok := errors.AsType[*strictjson.TypeError](err); ok && fields.Path == "" && len(fields.Unknown) == 1 && len(fields.Missing) == 1 {
			remedy += " --rename " + fields.Unknown[0] + "=" + fields.Missing[0]
		}
	}
	return &unreadableError{"does not fit " + kind.String(), remedy, err}
}
