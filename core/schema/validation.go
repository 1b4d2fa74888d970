package schema

import (
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// A validation is one run over a value, or over one branch of a choice. It holds no
// pointers to places: they would have to live on the heap.
type validation struct {
	quiet    bool // stop at the first problem and describe none
	failed   bool
	problems []Problem
	more     int
	work     int    // what may still be spent
	inside   int    // how many objects and arrays were gone into
	wanted   wanted // if the whole value is of the wrong kind
}

// allowance is the work that one validation may take, about a byte read each. A recursive
// schema can make a short value cost time exponential in its depth; sensible ones
// read each byte once per level and choice.
func allowance(size int) int { return 1<<25 + 64*size }

// spend takes the cost of reading n bytes off the allowance and reports whether to go on.
func (v *validation) spend(n int) bool {
	v.work -= n + 16
	return !v.done()
}

// done reports whether going on is of no use.
func (v *validation) done() bool {
	return v.work <= 0 || v.quiet && v.failed
}

// stop ends a walk through an object or an array early.
type stop struct{}

func (stop) Error() string { return "stopped" }

// next is what a walk's callback returns.
func (v *validation) next() error {
	if v.done() {
		return stop{}
	}
	return nil
}

// passes reports whether raw fits n, and no more.
func (v *validation) passes(n *node, raw []byte, at *place) bool {
	if v.done() {
		return false
	}
	probe := validation{quiet: true, work: v.work}
	probe.check(n, raw, at)
	v.work = probe.work
	return !probe.failed
}

// fail adds a problem. The message is made only if somebody will read it.
func (v *validation) fail(at *place, message func() string) {
	v.report(func() Problem {
		text := message()
		if at != nil && at.name {
			text = "property name " + text
		}
		// A name or a pattern in the schema may hold a line break; a problem is one line.
		return Problem{at.path(), strings.ReplaceAll(text, "\n", `\n`)}
	})
}

// report adds a problem, once: two schemas may well find the same one.
func (v *validation) report(problem func() Problem) {
	v.failed = true
	if v.quiet || len(v.problems) == maxProblems {
		v.more++
	} else if p := problem(); !slices.Contains(v.problems, p) {
		v.problems = append(v.problems, p)
	}
}

// mismatch adds the problem of a value that is of another kind, or another value, than
// is wanted.
func (v *validation) mismatch(w wanted, raw []byte, at *place) {
	if v.inside == 0 {
		v.wanted = w
	}
	v.fail(at, func() string { return w.message(raw) })
}

// wanted is what a value should have been: of one of the kinds, or one of the values.
type wanted struct {
	kinds  kinds
	values []string
}

func (w wanted) message(raw []byte) string {
	got := strictjson.Describe(raw)
	if len(w.values) > 0 || kindOf(raw) == numberKind && w.kinds&integerKind != 0 {
		got = excerpt(raw) // the kind may well be right
	}
	names := append(w.kinds.names(), w.values...)
	if w.kinds == 0 && len(names) > 1 {
		return "must be one of " + list(names, ", ") + ", got " + got
	}
	return "must be " + list(names, " or ") + ", got " + got
}
