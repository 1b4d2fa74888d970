package schema

import (
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// A validation is one run over a value, or over one branch of a choice.
type validation struct {
	quiet    bool // stop at the first problem and describe none
	failed   bool
	problems []Problem
	more     int
	work     int // what may still be spent

	// For a branch of anyOf or oneOf, which is compared with the others.
	branch bool
	base   int    // how deep the choice stands
	wanted wanted // what would have fitted there instead
	weight int    // how far the value is from fitting
}

// allowance is the work that one validation may take, about a byte read each. A recursive
// schema can make a short value cost time exponential in its depth; sensible ones
// read each byte once per level and choice.
func allowance(size int) int { return 1<<25 + 64*size }

// spend takes the cost of reading n bytes off the allowance and reports whether any is left.
func (v *validation) spend(n int) bool {
	v.work -= n + 16
	return v.work > 0
}

// done reports whether going on is of no use.
func (v *validation) done() bool {
	return v.work <= 0 || v.quiet && v.failed
}

// fail adds a problem. The message is made only if somebody will read it.
func (v *validation) fail(at *place, message func() string) {
	v.weight++
	v.report(func() Problem {
		// A name or a pattern in the schema may hold a line break; a problem is one line.
		return Problem{at.path(), strings.ReplaceAll(message(), "\n", `\n`)}
	})
}

// report adds a problem, once: two schemas may well find the same one.
func (v *validation) report(problem func() Problem) {
	v.failed = true
	if v.quiet {
		return
	}
	if len(v.problems) == maxProblems {
		v.more++
	} else if p := problem(); !slices.Contains(v.problems, p) {
		v.problems = append(v.problems, p)
	}
}

// mismatch adds the problem of a value that is of another kind, or another value,
// than is wanted. Against a branch that tells more than other problems do: it was not
// meant if the value as such does not fit, nor if a constant in it differs.
func (v *validation) mismatch(at *place, raw []byte, want func() wanted) {
	v.fail(at, func() string {
		w := want()
		if v.weight += 9 * min(w.values, 1); v.branch && at.depth() == v.base {
			v.weight += 90
			v.wanted = w
		}
		return "must be " + w.String() + ", got " + w.got(raw)
	})
}

// passes reports whether raw fits n, and no more.
func (v *validation) passes(n *node, raw []byte, at *place) bool {
	probe := validation{quiet: true, work: v.work}
	probe.check(n, raw, at)
	v.work = probe.work
	return !probe.failed
}

// wanted is what a value should have been: names of kinds, or values.
type wanted struct {
	names  []string
	values int // how many of the names are values
}

// or adds what another branch wants.
func (w wanted) or(other wanted) wanted {
	for _, name := range other.names {
		if !slices.Contains(w.names, name) {
			w.names = append(slices.Clip(w.names), name)
		}
	}
	w.values += other.values
	return w
}

func (w wanted) String() string {
	if w.values >= len(w.names) && len(w.names) > 1 {
		return "one of " + list(w.names, ", ")
	}
	return list(w.names, " or ")
}

// got shows raw where its value matters, and otherwise names its kind.
func (w wanted) got(raw []byte) string {
	if w.values > 0 || kindOf(raw) == numberKind && slices.Contains(w.names, "an integer") {
		return excerpt(raw)
	}
	return strictjson.Describe(raw)
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
