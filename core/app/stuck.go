package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/app/eventlog"
)

// A StuckError is the error for an event that cannot be applied. [Open] returns it at startup. In a
// running process, commands of the event's feature return it until the event is amended or the
// process is restarted. Queries of the feature return it only if Stopped is set, or if a check or a
// worker runs them.
type StuckError struct {
	Record  eventlog.Record
	Program string  // name of the program, for the log commands
	Late    bool    // the event was written after this process started
	Stopped bool    // Apply panicked, so the state may be half changed
	Amended []int64 // earlier amended events, which may be the cause
	Err     error
}

// Error names the event, the cause and the remedies, one per line.
func (e *StuckError) Error() string {
	r := e.Record
	var text strings.Builder
	if e.Late && !e.Stopped {
		text.WriteString("the event log is newer than this process; restart it with the newer build\n")
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

// state returns the state of the feature: stale if its queries are answered, otherwise stopped.
func (e *StuckError) state() string {
	if e.Stopped {
		return "stopped"
	}
	return "stale"
}

// Unwrap returns the cause.
func (e *StuckError) Unwrap() error { return e.Err }

// ForClient returns the text for a remote client, see [eventlog.Error.ForClient]. It contains no
// data of the event.
func (e *StuckError) ForClient(request string) string {
	effect := "it refuses commands of this feature"
	if e.Stopped {
		effect = "this feature has stopped"
	}
	return fmt.Sprintf("the server cannot apply event %d of its log (%s, version %d), so %s (request ID: %s); ask its operator", e.Record.Seq, e.Record.Type, e.Record.Version, effect, request)
}

// An unreadableError is the error for an event that this build cannot read.
type unreadableError struct {
	text   string // continues "event 17 "
	remedy string // change of the code; may be empty
	err    error  // may be nil
}

func (e *unreadableError) Error() string {
	if e.err != nil {
		return e.text + ": " + e.err.Error()
	}
	return e.text
}

func (e *unreadableError) Unwrap() error { return e.err }
