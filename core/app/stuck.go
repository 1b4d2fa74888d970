package app

import (
	"fmt"
	"slices"
	"strings"
)

// A StuckError says that a record cannot be applied, and so nothing after it. Every call is answered with it until it is
// known what the record means: none is ever left out in silence.
type StuckError struct {
	Record  Record
	Program string  // that has the commands which help
	Late    bool    // the record came after this process had started
	Amended []int64 // entries before it that were amended, which may be why
	Err     error
}

// Error names the record and the ways out.
func (e *StuckError) Error() string {
	r := e.Record
	var text strings.Builder
	fmt.Fprintf(&text, "entry %d of the log (%s, version %d, of %s) cannot be applied: %v\n", r.Seq, r.Type, r.Version, r.Time.Format("2006-01-02 15:04:05"), e.Err)
	if e.Late {
		fmt.Fprintf(&text, "It was written after this process had started, maybe by a newer build of %s: start this one anew, from that build. If that does not help:\n", e.Program)
	}
	if len(e.Amended) > 0 {
		fmt.Fprintf(&text, "before it:    these entries were amended, which may be why: %v; see %s log show %d, and log restore\n", e.Amended, e.Program, e.Amended[len(e.Amended)-1])
	}
	fmt.Fprintf(&text, `see it:       %s log show %d
say in code:  func Map in the feature's package, which is asked what such entries mean now
say here:     %[1]s log map %[2]d --type TYPE --input JSON --reason WHY
leave it out: %[1]s log skip %[2]d --reason WHY`, e.Program, r.Seq)
	return text.String()
}

// Unwrap is why.
func (e *StuckError) Unwrap() error { return e.Err }

// stuckAt is the error for a record that cannot be applied.
func (a *App) stuckAt(r Record, err error) error {
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
