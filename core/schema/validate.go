package schema

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/petrock/petrock/core/strictjson"
)

// A validation is one run over a value, or over one branch of a choice. It holds no pointers to
// places, which would move them to the heap.
type validation struct {
	quiet    bool // stop at the first problem and describe none
	failed   bool
	problems []Problem
	more     int
	work     int    // what may still be spent
	inside   int    // how many objects and arrays were gone into
	wanted   wanted // if the whole value is of the wrong kind
}

// allowance is the work that one validation may take, about a byte read each: with a recursive
// schema, a short value can take time exponential in its depth.
func allowance(size int) int { return 1<<25 + 64*size }

// spend takes the cost of reading n bytes off the allowance and reports whether to go on.
func (v *validation) spend(n int) bool {
	v.work -= n + 16
	return !v.done()
}

func (v *validation) done() bool {
	return v.work <= 0 || v.quiet && v.failed
}

// stop ends a walk through an object or an array early.
type stop struct{}

func (stop) Error() string { return "stopped" }

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

// mismatch adds the problem of a value that is not what is wanted.
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

// A node is a compiled schema. An empty node accepts everything.
type node struct {
	part     *part
	ref      *part // what $ref says, if there is one
	height   int   // how many schemas apply to one value through this one
	combined bool  // some do besides this one

	never    bool // the schema false
	types    kinds
	literals []*literals // of enum and const
	object   *objectRules
	array    *arrayRules
	number   []limit
	text     *textRules

	allOf, anyOf, oneOf        []*node // a $ref is one of allOf
	not                        *node
	condition, then, otherwise *node
}

// alongside lists the schemas that n applies to the very value it is itself applied to.
func (n *node) alongside() []*node {
	all := slices.Concat(n.allOf, n.anyOf, n.oneOf, []*node{n.not, n.condition, n.then, n.otherwise})
	if n.object != nil {
		for _, d := range n.object.dependencies {
			all = append(all, d.schema)
		}
	}
	return slices.DeleteFunc(all, func(other *node) bool { return other == nil })
}

// check reports what is wrong with raw, a checked JSON value without space around it. A value of
// the wrong kind has that one problem.
func (v *validation) check(n *node, raw []byte, at *place) {
	if !v.spend(len(raw)) {
		return
	}
	if n.never {
		v.fail(at, func() string { return "is not allowed" })
		return
	}
	kind := kindOf(raw)
	if n.types != 0 && !n.types.allow(kind, raw) {
		v.mismatch(wanted{kinds: n.types}, raw, at)
		return
	}
	for _, l := range n.literals {
		if !v.among(l, raw) {
			v.mismatch(wanted{values: l.shown}, raw, at)
			return
		}
	}
	switch {
	case kind == objectKind && n.object != nil:
		v.object(n.object, raw, at)
	case kind == arrayKind && n.array != nil:
		v.array(n.array, raw, at)
	case kind == numberKind && n.number != nil:
		v.number(n.number, raw, at)
	case kind == stringKind && n.text != nil:
		v.text(n.text, raw, at)
	}
	if n.combined {
		v.combined(n, raw, at)
	}
}

func (v *validation) combined(n *node, raw []byte, at *place) {
	passes := func(n *node) bool { return v.passes(n, raw, at) }
	for _, other := range n.allOf {
		v.check(other, raw, at)
	}
	if n.anyOf != nil && !slices.ContainsFunc(n.anyOf, passes) {
		v.noneOf(n.anyOf, raw, at)
	}
	if n.oneOf != nil {
		first := slices.IndexFunc(n.oneOf, passes)
		if first < 0 {
			v.noneOf(n.oneOf, raw, at)
		} else if next := slices.IndexFunc(n.oneOf[first+1:], passes); next >= 0 {
			v.fail(at, func() string {
				return fmt.Sprintf("must match only one of %d alternatives, matches numbers %d and %d", len(n.oneOf), first+1, first+next+2)
			})
		}
	}
	if n.not != nil && passes(n.not) {
		v.fail(at, func() string { return "must not match " + excerpt(n.not.part.raw) })
	}
	if n.condition != nil {
		branch := n.otherwise
		if passes(n.condition) {
			branch = n.then
		}
		if branch != nil {
			v.check(branch, raw, at)
		}
	}
}

// noneOf reports that no branch accepts the value: what the branches want, if it is of the wrong
// kind or value for all of them; else the first problem of the branch that has the fewest.
func (v *validation) noneOf(branches []*node, raw []byte, at *place) {
	if v.failed = true; v.quiet {
		return
	}
	var all wanted
	var closest validation
	for _, n := range branches {
		b := validation{work: v.work}
		b.check(n, raw, at)
		v.work = b.work
		if b.wanted.kinds != 0 || b.wanted.values != nil {
			all.kinds |= b.wanted.kinds
			all.values = append(all.values, b.wanted.values...)
		} else if !closest.failed || len(b.problems) < len(closest.problems) {
			closest = b
		}
	}
	switch {
	case v.done():
	case !closest.failed:
		v.mismatch(all, raw, at)
	default:
		p := closest.problems[0]
		if len(branches) > 1 && !strings.HasSuffix(p.Message, " alternatives)") {
			p.Message += fmt.Sprintf(" (closest of %d alternatives)", len(branches))
		}
		v.report(func() Problem { return p })
	}
}

const (
	maxProblems = 10 // how many problems an error lists
	maxListed   = 10 // how many names or values a message lists
	maxShown    = 60 // how many bytes of a value or a key a message shows
)

// A Problem is one thing wrong with a value.
type Problem struct {
	Path    strictjson.Path // where; a long key in it is cut
	Message string          // such as "must be at most 100, got 250"
}

func (p Problem) line() string {
	if p.Path == "" {
		return p.Message
	}
	return string(p.Path) + ": " + p.Message
}

// A ValidationError lists the problems of a value in the order of the value's parts.
type ValidationError struct {
	Problems []Problem // the first ten
	More     int       // how many there are besides
}

// Error is one line a problem.
func (e *ValidationError) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.line())
	}
	if e.More > 0 {
		lines = append(lines, "and "+count(e.More, "more problem", "more problems"))
	}
	return strings.Join(lines, "\n")
}

// A place is a step from a value to one of its parts, linked to the steps before. The nil
// place is the whole value. Places live on the stack: a path is rendered only for a problem.
type place struct {
	up    *place
	key   []byte // where index is negative
	index int
	name  bool // the key itself, rather than what stands there
}

func (p *place) path() strictjson.Path {
	switch {
	case p == nil:
		return ""
	case p.index < 0:
		return p.up.path().Key(strictjson.Clip(string(p.key), maxShown))
	}
	return p.up.path().Index(p.index)
}

// excerpt is JSON for a message: on one line, and cut where it is long.
func excerpt(raw []byte) string {
	return strictjson.Clip(strings.Join(strings.Fields(string(raw)), " "), maxShown)
}

func list(names []string, separator string) string {
	if more := len(names) - maxListed; more > 0 {
		return strings.Join(names[:maxListed], separator) + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, separator)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

type arrayRules struct {
	length   bounds
	unique   bool
	prefix   []*node
	items    *node // for those behind the prefix
	contains *node
	matches  bounds // how many items contains must accept; at least one, if it says nothing else
}

func (v *validation) array(r *arrayRules, raw []byte, at *place) {
	length, matches := 0, 0
	here := place{up: at}
	v.inside++
	_ = strictjson.Elements(raw, func(item []byte) error {
		here.index = length
		if length < len(r.prefix) {
			v.check(r.prefix[length], item, &here)
		} else if r.items != nil {
			v.check(r.items, item, &here)
		}
		if r.contains != nil && v.passes(r.contains, item, &here) {
			matches++
		}
		length++
		return v.next()
	})
	v.inside--
	if v.done() {
		return
	}
	v.within(r.length, length, at, "item", "items", nil)
	if r.contains != nil {
		v.within(r.matches, matches, at, "item", "items", r.contains)
	}
	if r.unique && length > 1 {
		v.unique(raw, at)
	}
}

func (v *validation) unique(raw []byte, at *place) {
	seen := make(map[string]int)
	var form []byte
	_ = strictjson.Elements(raw, func(item []byte) error {
		form = v.canonical(form[:0], item)
		if first, ok := seen[string(form)]; ok {
			v.fail(at, func() string {
				return fmt.Sprintf("must not hold the same item twice (items %d and %d)", first, len(seen))
			})
			return stop{}
		}
		seen[string(form)] = len(seen)
		return v.next()
	})
}

type objectRules struct {
	properties map[string]*node
	known      []string // the names of properties, as the document orders them
	required   []string
	patterns   []patternRule
	additional *node // for members that neither properties nor patterns cover
	names      *node
	size       bounds

	dependencies []dependency // of dependentRequired and dependentSchemas
}

// A patternRule holds for members whose name matches.
type patternRule struct {
	pattern *regexp.Regexp
	node    *node
}

// A dependency holds where a member is present.
type dependency struct {
	on       string
	required []string
	schema   *node
}

func (v *validation) object(r *objectRules, raw []byte, at *place) {
	size, required := 0, 0
	here := place{up: at, index: -1} // one for all members: inside the function below each would go to the heap
	v.inside++
	_ = strictjson.Members(raw, func(key, value []byte) error {
		size++
		here.key = key
		if r.names != nil {
			here.name = true
			v.check(r.names, strictjson.AppendString(nil, string(key)), &here)
			here.name = false
		}
		for _, name := range r.required {
			if name == string(key) {
				required++
			}
		}
		property, covered := r.properties[string(key)]
		if covered {
			v.check(property, value, &here)
		}
		for _, rule := range r.patterns {
			if rule.pattern.Match(key) {
				covered = true
				v.check(rule.node, value, &here)
			}
		}
		switch {
		case covered || r.additional == nil:
		case r.additional.never:
			v.fail(&here, func() string { return r.unknown(string(key)) })
		default:
			v.check(r.additional, value, &here)
		}
		return v.next()
	})
	v.inside--
	if v.done() {
		return
	}
	v.within(r.size, size, at, "property", "properties", nil)
	// Keys differ, so that counting the required ones is enough to know they are all there.
	if required < len(r.required) || len(r.dependencies) > 0 {
		v.presence(r, raw, at)
	}
}

// presence reports the properties that are missing, and checks what others depend on.
func (v *validation) presence(r *objectRules, raw []byte, at *place) {
	keys := make(map[string]bool)
	_ = strictjson.Members(raw, func(key, _ []byte) error {
		keys[string(key)] = true
		return nil
	})
	missing := func(names []string, message string) {
		for _, name := range names {
			if !keys[name] {
				v.fail(&place{up: at, key: []byte(name), index: -1}, func() string { return message })
			}
		}
	}
	missing(r.required, "required but missing")
	for _, d := range r.dependencies {
		if keys[d.on] {
			missing(d.required, "required but missing, since "+d.on+" is present")
			if d.schema != nil {
				v.check(d.schema, raw, at)
			}
		}
	}
}

func (r *objectRules) unknown(key string) string {
	names, hint := slices.Clone(r.known), ""
	for _, name := range r.known {
		if strings.EqualFold(name, key) {
			hint = `; did you mean "` + name + `"?`
		}
	}
	for _, p := range r.patterns {
		names = append(names, "names matching "+p.pattern.String())
	}
	if len(names) == 0 {
		return "is not a known property; none are"
	}
	return "is not a known property; known: " + list(names, ", ") + hint
}

type textRules struct {
	length  bounds
	pattern *regexp.Regexp
	format  string
}

func (c *compiler) pattern(pattern string, p *part) *regexp.Regexp {
	re, err := regexp.Compile(pattern)
	if err != nil {
		c.fault(p, "compiling pattern: "+err.Error()+
			"; Go's regular expressions have no lookaround, no backreferences and no \\u escapes")
	}
	return re
}

func (v *validation) text(r *textRules, raw []byte, at *place) {
	text := unquoted(raw)
	v.within(r.length, utf8.RuneCount(text), at, "character", "characters", nil)
	if r.pattern != nil && !r.pattern.Match(text) {
		v.fail(at, func() string { return "must match the pattern " + r.pattern.String() + ", got " + excerpt(raw) })
	}
	switch r.format {
	case "date":
		if _, err := time.Parse(time.DateOnly, string(text)); err != nil {
			v.fail(at, func() string { return "must be a date such as 2006-01-02, got " + excerpt(raw) })
		}
	case "date-time":
		if !isDateTime(string(text)) {
			v.fail(at, func() string {
				return "must be a date and time with an offset such as 2006-01-02T15:04:05Z, got " + excerpt(raw)
			})
		}
	}
}

// isDateTime reports whether text keeps to RFC 3339, of which the time package also takes
// an hour of one digit, a comma before the fraction and impossible offsets.
func isDateTime(text string) bool {
	if _, err := time.Parse(time.RFC3339, text); err != nil || text[13] != ':' || strings.Contains(text, ",") {
		return false
	}
	offset := text[len(text)-6:]
	return strings.HasSuffix(text, "Z") || offset[1:3] < "24" && offset[4:] < "60"
}

// unquoted is the text of a checked string. Without escapes it is part of raw.
func unquoted(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	text, _ := strictjson.Unquote(raw)
	return []byte(text)
}
