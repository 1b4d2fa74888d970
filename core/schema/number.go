package schema

import (
	"fmt"

	"github.com/petrock/petrock/core/strictjson"
)

// numberRules hold for numbers.
type numberRules struct {
	limits   []limit
	multiple *limit
}

// A limit is a number that a value is measured by.
type limit struct {
	words   string // such as "at least"
	decimal decimal
	shown   string
	sign    int  // of the order, value to limit, that is wrong
	strict  bool // being equal is wrong too
}

func (c *compiler) numberKeyword(n *node, key string, v *value, path strictjson.Path) bool {
	var l limit
	switch key {
	case "minimum":
		l = limit{words: "at least", sign: -1}
	case "maximum":
		l = limit{words: "at most", sign: 1}
	case "exclusiveMinimum":
		l = limit{words: "more than", sign: -1, strict: true}
	case "exclusiveMaximum":
		l = limit{words: "less than", sign: 1, strict: true}
	case "multipleOf":
		l = limit{words: "a multiple of"}
	default:
		return false
	}
	if kindOf(v.raw) != numberKind {
		c.mustBe("a number", v, path)
		return true
	}
	l.decimal, l.shown = parseDecimal(v.raw), excerpt(v.raw)
	rules := lazily(&n.number)
	switch {
	case l.sign != 0:
		rules.limits = append(rules.limits, l)
	case l.decimal.sign() <= 0:
		c.fault(path, "must be more than 0, got "+l.shown)
	case l.decimal.count > maxDivisor:
		c.fault(path, fmt.Sprintf("must have at most %d digits, got %d", maxDivisor, l.decimal.count))
	default:
		rules.multiple = &l
	}
	return true
}

func (v *validation) number(r *numberRules, raw []byte, at *place) {
	d := parseDecimal(raw)
	for i := range r.limits {
		l := &r.limits[i]
		if order := d.compare(l.decimal) * l.sign; order > 0 || order == 0 && l.strict {
			v.measure(l, raw, at)
		}
	}
	if r.multiple != nil && !d.multipleOf(r.multiple.decimal) {
		v.measure(r.multiple, raw, at)
	}
}

func (v *validation) measure(l *limit, raw []byte, at *place) {
	v.fail(at, func() string { return "must be " + l.words + " " + l.shown + ", got " + excerpt(raw) })
}

// bounds limit how many of something a value has. The zero value is no limit.
type bounds struct {
	min, max int
	limited  bool // max holds
}

// count reads a number of things.
func (c *compiler) count(v *value, path strictjson.Path) (n int, ok bool) {
	if kindOf(v.raw) != numberKind {
		c.mustBe("a number", v, path)
		return 0, false
	}
	d := parseDecimal(v.raw)
	if d.sign() < 0 || !d.whole() {
		c.fault(path, "must be an integer of at least 0, got "+excerpt(v.raw))
		return 0, false
	}
	return d.int(), true
}

// within reports a count outside its bounds. The words name one and many of what is
// counted, and which of them.
func (v *validation) within(b bounds, n int, at *place, one, many, which string) {
	side, limit := "at least", b.min
	if n >= limit {
		if side, limit = "at most", b.max; !b.limited || n <= limit {
			return
		}
	}
	v.fail(at, func() string {
		return fmt.Sprintf("must have %s %s%s, got %d", side, count(limit, one, many), which, n)
	})
}
