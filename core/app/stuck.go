package app

import "fmt"

// A StuckError says that a record cannot be applied, and so nothing after it. Every call is answered with it until it is
// known what the record means: none is ever left out in silence.
type StuckError struct {
	Record  Record
	Program string // that has the commands which help
	Err     error
}

// Error names the record and the ways out.
func (e *StuckError) Error() string {
	r := e.Record
	return fmt.Sprintf(`entry %d of the log (%s, version %d, of %s) cannot be applied: %v
see it:       %s log show %[1]d
say in code:  func Map in the feature's package, which is asked what such entries mean now
say here:     %[6]s log map %[1]d --type TYPE --input JSON --reason WHY
leave it out: %[6]s log skip %[1]d --reason WHY`, r.Seq, r.Type, r.Version, r.Time.Format("2006-01-02 15:04:05"), e.Err, e.Program)
}

// Unwrap is why.
func (e *StuckError) Unwrap() error { return e.Err }
