package jsonschema

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/petrock/petrock/core/internal/decimal"
	"github.com/petrock/petrock/core/strictjson"
)

// A validation validates a value against a schema or one of its alternatives. It holds no pointers
// to locations, which would move them to the heap.
type validation struct {
	quiet    bool // stop at the first problem, without a message
	failed   bool
	problems []string    // the first maxProblems, a line each
	more     int         // number of further problems
	work     int         // remaining budget in bytes read, which bounds recursive schemas
	depth    int         // nesting depth in the value
	expected expectation // set if the value itself is of the wrong kind
	counted  bool        // the first problem says how many alternatives it is the closest of
}

// spend subtracts the cost of reading n bytes from the budget, and reports whether to continue.
func (v *validation) spend(n int) bool {
	v.work -= n + 16
	return !v.done()
}

func (v *validation) done() bool { return v.work <= 0 || v.quiet && v.failed }

// errStop stops the iteration over an object or an array.
var errStop = errors.New("stopped")

func (v *validation) stopIfDone() error {
	if v.done() {
		return errStop
	}
	return nil
}

func (v *validation) passes(n *node, raw []byte, at *location) bool {
	if v.done() {
		return false
	}
	probe := validation{quiet: true, work: v.work}
	probe.check(n, raw, at)
	v.work = probe.work
	return !probe.failed
}

// fail adds a problem. It calls message only if the message is needed.
func (v *validation) fail(at *location, message func() string) {
	v.report(func() string {
		text := message()
		if at != nil && at.name {
			text = "property name " + text
		}
		return problemLine(at.path(), text)
	})
}

// problemLine returns the line of a problem. A name or a pattern in the schema may contain a line
// break.
func problemLine(path strictjson.Path, message string) string {
	if path != "" {
		message = string(path) + ": " + message
	}
	return strings.ReplaceAll(message, "\n", `\n`)
}

// report adds a problem, unless it is already in the list.
func (v *validation) report(problem func() string) {
	v.failed = true
	if v.quiet || len(v.problems) == maxProblems {
		v.more++
	} else if p := problem(); !slices.Contains(v.problems, p) {
		v.problems = append(v.problems, p)
	}
}

// mismatch adds the problem of a value that does not match an expectation.
func (v *validation) mismatch(w expectation, raw []byte, at *location) {
	if v.depth == 0 {
		v.expected = w
	}
	v.fail(at, func() string { return w.message(raw) })
}

// An expectation lists the kinds and the values that are allowed.
type expectation struct {
	kinds  kinds
	values []string
}

func (w expectation) message(raw []byte) string {
	got := strictjson.Describe(raw)
	if len(w.values) > 0 || kindOf(raw) == numberKind && w.kinds&integerKind != 0 {
		got = excerpt(raw) // the kind may be right
	}
	names := append(w.kinds.choose(kindPhrases), w.values...)
	if w.kinds == 0 && len(names) > 1 {
		return "must be one of " + list(names, ", ") + ", got " + got
	}
	return "must be " + list(names, " or ") + ", got " + got
}

// A node is a compiled schema. An empty node accepts every value.
type node struct {
	part     *part
	ref      *part // value of $ref; may be nil
	height   int   // see checkDepth
	combined bool  // other schemas apply to the same value

	rejectsAll bool // the schema false
	types      kinds
	literals   []*literals // of enum and const
	object     *objectRules
	array      *arrayRules
	number     []limit
	text       *textRules

	allOf, anyOf, oneOf           []*node // allOf includes the target of $ref
	not                           *node
	condition, thenNode, elseNode *node
}

// sameValueNodes returns the subschemas of n that apply to the same value as n.
func (n *node) sameValueNodes() []*node {
	all := slices.Concat(n.allOf, n.anyOf, n.oneOf, []*node{n.not, n.condition, n.thenNode, n.elseNode})
	if n.object != nil {
		for _, d := range n.object.dependencies {
			all = append(all, d.schema)
		}
	}
	return slices.DeleteFunc(all, func(other *node) bool { return other == nil })
}

// check validates raw, a valid JSON value without surrounding space. For a value of the wrong kind
// it reports only that.
func (v *validation) check(n *node, raw []byte, at *location) {
	if !v.spend(len(raw)) {
		return
	}
	if n.rejectsAll {
		v.fail(at, func() string { return "is not allowed" })
		return
	}
	kind := kindOf(raw)
	if n.types != 0 && !n.types.includes(kind, raw) {
		v.mismatch(expectation{kinds: n.types}, raw, at)
		return
	}
	for _, l := range n.literals {
		if !l.forms[string(v.canonical(nil, raw))] {
			v.mismatch(expectation{values: l.texts}, raw, at)
			return
		}
	}
	switch {
	case kind == objectKind && n.object != nil:
		v.checkObject(n.object, raw, at)
	case kind == arrayKind && n.array != nil:
		v.checkArray(n.array, raw, at)
	case kind == numberKind && n.number != nil:
		v.checkNumber(n.number, raw, at)
	case kind == stringKind && n.text != nil:
		v.checkString(n.text, raw, at)
	}
	if n.combined {
		v.checkCombined(n, raw, at)
	}
}

func (v *validation) checkCombined(n *node, raw []byte, at *location) {
	passes := func(n *node) bool { return v.passes(n, raw, at) }
	for _, other := range n.allOf {
		v.check(other, raw, at)
	}
	if n.anyOf != nil && !slices.ContainsFunc(n.anyOf, passes) {
		v.failAlternatives(n.anyOf, raw, at)
	}
	if n.oneOf != nil {
		first := slices.IndexFunc(n.oneOf, passes)
		if first < 0 {
			v.failAlternatives(n.oneOf, raw, at)
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
		branch := n.elseNode
		if passes(n.condition) {
			branch = n.thenNode
		}
		if branch != nil {
			v.check(branch, raw, at)
		}
	}
}

// failAlternatives reports that no branch accepts the value. If the value is of the wrong kind for
// all branches, it reports the expected kinds, and otherwise the first problem of the closest
// branch.
func (v *validation) failAlternatives(branches []*node, raw []byte, at *location) {
	v.failed = true
	if v.quiet {
		return
	}
	var all expectation
	var closest validation
	for _, n := range branches {
		b := validation{work: v.work}
		b.check(n, raw, at)
		v.work = b.work
		if b.expected.kinds != 0 || b.expected.values != nil {
			all.kinds |= b.expected.kinds
			all.values = append(all.values, b.expected.values...)
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
		if len(branches) > 1 && !closest.counted {
			p += fmt.Sprintf(" (closest of %d alternatives)", len(branches))
		}
		v.counted = v.counted || len(v.problems) == 0 && (closest.counted || len(branches) > 1)
		v.report(func() string { return p })
	}
}

const (
	maxProblems = 10 // per error
	maxListed   = 10 // names or values per message
	maxShown    = 60 // bytes of a value or key in a message
)

// A location is a part of the validated value, linked to its parent. nil is the whole value.
// Locations stay on the stack; only problems need a path.
type location struct {
	parent *location
	key    []byte // if index is negative
	index  int
	name   bool // the key itself, not its value
}

func (p *location) path() strictjson.Path {
	switch {
	case p == nil:
		return ""
	case p.index < 0:
		return p.parent.path().Key(strictjson.Clip(string(p.key), maxShown))
	}
	return p.parent.path().Index(p.index)
}

// excerpt returns JSON for a message, on one line and shortened.
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
	items    *node // for items after the prefix
	contains *node
	matches  bounds // number of items that match contains; at least 1 by default
}

func (v *validation) checkArray(r *arrayRules, raw []byte, at *location) {
	length, matches := 0, 0
	here := location{parent: at}
	v.depth++
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
		return v.stopIfDone()
	})
	v.depth--
	if v.done() {
		return
	}
	v.checkBounds(r.length, length, at, "item", "items", nil)
	if r.contains != nil {
		v.checkBounds(r.matches, matches, at, "item", "items", r.contains)
	}
	if r.unique && length > 1 {
		v.checkUnique(raw, at)
	}
}

func (v *validation) checkUnique(raw []byte, at *location) {
	seen := make(map[string]int)
	var form []byte
	_ = strictjson.Elements(raw, func(item []byte) error {
		form = v.canonical(form[:0], item)
		if first, ok := seen[string(form)]; ok {
			v.fail(at, func() string {
				return fmt.Sprintf("must not contain duplicate items (items %d and %d)", first, len(seen))
			})
			return errStop
		}
		seen[string(form)] = len(seen)
		return v.stopIfDone()
	})
}

type objectRules struct {
	properties    map[string]*node
	propertyOrder []string // names of properties, in the order of the document
	required      []string
	patterns      []patternRule
	additional    *node // for members that match neither properties nor patterns
	nameSchema    *node
	size          bounds

	dependencies []dependency // dependentRequired and dependentSchemas
}

// A patternRule applies to members whose name matches the pattern.
type patternRule struct {
	pattern *regexp.Regexp
	node    *node
}

// A dependency applies if the member on is present.
type dependency struct {
	on       string
	required []string
	schema   *node
}

func (v *validation) checkObject(r *objectRules, raw []byte, at *location) {
	size, required := 0, 0
	// All members share one location: inside the function it would escape to the heap.
	here := location{parent: at, index: -1}
	v.depth++
	_ = strictjson.Members(raw, func(key, value []byte) error {
		size++
		here.key = key
		if r.nameSchema != nil {
			here.name = true
			v.check(r.nameSchema, strictjson.AppendString(nil, string(key)), &here)
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
		case r.additional.rejectsAll:
			v.fail(&here, func() string { return r.unknownMessage() })
		default:
			v.check(r.additional, value, &here)
		}
		return v.stopIfDone()
	})
	v.depth--
	if v.done() {
		return
	}
	v.checkBounds(r.size, size, at, "property", "properties", nil)
	// Keys are unique, so counting the required ones is enough.
	if required < len(r.required) || len(r.dependencies) > 0 {
		v.checkPresence(r, raw, at)
	}
}

func (v *validation) checkPresence(r *objectRules, raw []byte, at *location) {
	keys := make(map[string]bool)
	_ = strictjson.Members(raw, func(key, _ []byte) error {
		keys[string(key)] = true
		return nil
	})
	missing := func(names []string, message string) {
		for _, name := range names {
			if !keys[name] {
				v.fail(&location{parent: at, key: []byte(name), index: -1}, func() string { return message })
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

func (r *objectRules) unknownMessage() string {
	names := slices.Clone(r.propertyOrder)
	for _, p := range r.patterns {
		names = append(names, "names matching "+p.pattern.String())
	}
	if len(names) == 0 {
		return "is not a known property; no properties are allowed"
	}
	return "is not a known property; known: " + list(names, ", ")
}

type textRules struct {
	length  bounds
	pattern *regexp.Regexp
	format  *format // nil if it is not checked
}

// A format is a format of strings that is checked.
type format struct {
	matches func(text string) bool
	example string // what the string must be
}

// formats are the formats that are checked, by name. Others are annotations.
var formats = map[string]*format{
	"date":      {isDate, "a date such as 2006-01-02"},
	"date-time": {isDateTime, "a date and time with an offset such as 2006-01-02T15:04:05Z"},
	"email":     {emailAddress.MatchString, "an email address such as ada@example.com"},
	"uri":       {isURI, "a URI with a scheme such as https://example.com/a"},
	"uuid":      {uuid.MatchString, "a UUID such as 123e4567-e89b-12d3-a456-426614174000"},
}

var (
	// emailAddress is that of HTML forms.
	emailAddress = regexp.MustCompile("^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$")
	uuid         = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	uriText      = regexp.MustCompile(`^[!#-;=?-\[\]_a-z~]+$`)
)

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

func isDateTime(text string) bool {
	t, err := time.Parse(time.RFC3339, text)
	if err == nil {
		_, err = t.MarshalText() // refuses offsets of 24 hours and more, which Parse accepts
	}
	return err == nil && text[len("2006-01-02T15")] == ':' && !strings.Contains(text, ",")
}

func isURI(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && uriText.MatchString(text)
}

func (v *validation) checkString(r *textRules, raw []byte, at *location) {
	text, _ := strictjson.Unquote(raw)
	v.checkBounds(r.length, utf8.RuneCountInString(text), at, "character", "characters", nil)
	if r.pattern != nil && !r.pattern.MatchString(text) {
		v.fail(at, func() string { return "must match the pattern " + r.pattern.String() + ", got " + excerpt(raw) })
	}
	if r.format != nil && !r.format.matches(text) {
		v.fail(at, func() string { return "must be " + r.format.example + ", got " + excerpt(raw) })
	}
}

func (v *validation) checkNumber(limits []limit, raw []byte, at *location) {
	var buf [32]byte
	d := decimal.Parse(buf[:0], raw)
	for i := range limits {
		if l := &limits[i]; !l.allows(d) {
			v.fail(at, func() string { return "must be " + l.relation + " " + l.text + ", got " + excerpt(raw) })
		}
	}
}

// checkBounds reports a count outside its bounds. one and many are the singular and plural of the
// counted things. If contains is not nil, only items that match it are counted.
func (v *validation) checkBounds(b bounds, n int, at *location, one, many string, contains *node) {
	side, limit := "at least", b.min
	if b.max != nil && n > *b.max {
		side, limit = "at most", b.max
	} else if b.min == nil || n >= *b.min {
		return
	}
	v.fail(at, func() string {
		matching := ""
		if contains != nil {
			matching = " matching " + excerpt(contains.part.raw)
		}
		return fmt.Sprintf("must have %s %s%s, got %d", side, count(*limit, one, many), matching, n)
	})
}

type literals struct {
	forms map[string]bool // by canonical form
	texts []string
}

func newLiterals(values []*part) *literals {
	l := &literals{forms: make(map[string]bool)}
	v := validation{work: math.MaxInt}
	for _, one := range values {
		l.forms[string(v.canonical(nil, one.raw))] = true
		l.texts = append(l.texts, excerpt(one.raw))
	}
	return l
}

// canonical appends the canonical form of a value. Equal values have the same form, such as 1.0 and
// 1e0, or objects with their members in another order.
func (v *validation) canonical(dst, raw []byte) []byte {
	var forms [][]byte
	switch kindOf(raw) {
	case numberKind:
		var buf [32]byte
		d := decimal.Parse(buf[:0], raw)
		if d.Sign < 0 {
			dst = append(dst, '-')
		}
		return strconv.AppendInt(append(append(dst, d.Digits...), 'e'), int64(d.Exponent), 10)
	case stringKind:
		text, _ := strictjson.Unquote(raw)
		return appendWithLength(dst, text)
	case arrayKind:
		_ = strictjson.Elements(raw, func(item []byte) error {
			forms = append(forms, v.canonical(nil, item))
			return v.stopIfDone()
		})
	case objectKind:
		_ = strictjson.Members(raw, func(key, value []byte) error {
			forms = append(forms, v.canonical(appendWithLength(nil, string(key)), value))
			return v.stopIfDone()
		})
		slices.SortFunc(forms, bytes.Compare)
	default:
		return append(dst, raw...)
	}
	v.spend(len(raw))
	dst = append(dst, raw[0])
	for _, form := range forms {
		dst = append(append(dst, form...), ',')
	}
	return append(dst, raw[len(raw)-1])
}

// appendWithLength appends the text after its length, so that the result is unambiguous.
func appendWithLength(dst []byte, text string) []byte {
	dst = strconv.AppendInt(append(dst, '"'), int64(len(text)), 10)
	return append(append(dst, ':'), text...)
}
