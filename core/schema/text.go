package schema

import (
	"bytes"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/petrock/petrock/core/strictjson"
)

// textRules hold for strings.
type textRules struct {
	length  bounds
	pattern *regexp.Regexp
	format  string
}

// pattern compiles a regular expression. JSON Schema has those of JavaScript in mind, of
// which Go leaves out what cannot be matched in linear time.
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
