package trial

import (
	"bytes"
	"regexp"
	"strings"
)

// What a parser keeps of one line in one piece, and how many times the limit of output it reads
// of what the testing package prints.
const (
	longestLine = 64 << 10
	patience    = 16
)

// A parser reads what a test prints with -test.v=test2json: lines of the testing package, which
// begin with a marker, messages of the test, and whatever its code prints between these. It keeps
// no more of it than the limit of output, but for a small factor. Since code may print the same
// as the testing package, what it says counts only together with how the process ended.
type parser struct {
	test  string // the test that runs
	limit int    // of what is kept

	read    int    // bytes so far
	line    []byte // what has come of a line
	midLine bool   // the beginning of this line was dealt with already

	records []*record // of the test and its subtests, in the order in which they began
	byName  map[string]*record
	current *record // the one that runs
	saying  *record // the one that a message is being read of
	blamed  *record // the first of those that are reported to have failed one right after the other
	said    int     // bytes of messages
	printed []byte
	over    bool   // more was printed than is kept
	final   string // what the testing package says in the end, PASS or FAIL
	crash   string // the last line that is like the first of a crash: "panic: …"

	place *regexp.Regexp // before a message at the beginning of a line
	glued *regexp.Regexp // and after something without a newline
}

// record is what is known of a test or a subtest.
type record struct {
	name     string // with those of the tests around it, as the testing package writes it
	verdict  string // PASS, FAIL or SKIP, once it has ended
	messages []string
}

func newParser(test string, limit int) *parser {
	return &parser{
		test: test, limit: limit, byName: map[string]*record{},
		place: regexp.MustCompile(`^ {4}[^\s:]+\.go:\d+: `),
		glued: regexp.MustCompile(` {4}[^\s:]+_test\.go:\d+: `),
	}
}

// marker is what a line of the testing package begins with. One that stands elsewhere ends a line.
const marker = 0x16

// Write takes the next bytes; it never fails.
func (p *parser) Write(b []byte) (int, error) {
	n := len(b)
	if room := max(patience*p.limit-p.read, 0); n > room {
		b = b[:room]
		defer func() { p.over = true }()
	}
	p.read += n
	for len(b) > 0 && !p.full() {
		at := bytes.IndexAny(b, "\n\x16")
		switch {
		case at < 0:
			p.grow(b)
			return n, nil
		case b[at] == '\n':
			p.grow(b[:at+1])
			p.flush()
		default:
			p.grow(b[:at])
			p.flush()
			p.grow(b[at : at+1])
		}
		b = b[at+1:]
	}
	return n, nil
}

// full reports whether more was printed than may be, so that the rest does not count. In the midst
// of a crash, no amount is too much.
func (p *parser) full() bool { return p.over && p.crash == "" }

// grow adds to the line, which is dealt with in pieces if it is very long.
func (p *parser) grow(b []byte) {
	for len(p.line)+len(b) > longestLine {
		room := longestLine - len(p.line)
		p.line = append(p.line, b[:room]...)
		b = b[room:]
		p.take(p.line)
		p.line, p.midLine = p.line[:0], true
	}
	p.line = append(p.line, b...)
}

// flush deals with a line that has come to its end.
func (p *parser) flush() {
	if len(p.line) > 0 {
		p.take(p.line)
	}
	p.line, p.midLine = p.line[:0], false
}

// take deals with a line, or a part of a long one.
func (p *parser) take(line []byte) {
	switch {
	case p.midLine && p.saying != nil:
		p.say(line)
	case p.midLine:
		p.print(line)
	case line[0] == marker && p.framed(line[1:]):
		p.saying = nil
	case p.saying != nil && bytes.HasPrefix(line, []byte("        ")):
		p.say(line[8:])
	default:
		at := p.place.FindIndex(line)
		if at == nil {
			at = p.glued.FindIndex(line)
		}
		if p.saying = nil; at == nil || p.current == nil {
			p.print(line)
			return
		}
		p.print(line[:at[0]])
		p.saying = p.current
		if p.said >= p.limit {
			p.saying = &record{} // nobody hears it
		}
		p.saying.messages = append(p.saying.messages, "")
		p.say(line[at[1]:])
	}
}

// print keeps what the code printed, as far as there is room.
func (p *parser) print(b []byte) {
	p.watch(b)
	if room := p.limit - len(p.printed); len(b) > room {
		b = b[:room]
		p.over = true
	}
	p.printed = append(p.printed, b...)
}

// watch looks for the first line of a crash. One may follow another, and then the last one counts,
// but for the name of the signal by which it came about.
func (p *parser) watch(b []byte) {
	at := -1
	for _, word := range []string{"panic: ", "fatal error: ", "runtime/cgo: "} {
		at = max(at, bytes.LastIndex(b, []byte(word)))
	}
	if at < 0 && p.crash == "" && bytes.HasPrefix(b, []byte("SIG")) && bytes.Contains(b, []byte(": ")) {
		at = 0
	}
	if at >= 0 {
		p.crash = strings.TrimSpace(string(b[at:min(len(b), at+1000)]))
	}
}

// say adds to the last message of the test that is speaking, as far as there is room.
func (p *parser) say(b []byte) {
	last := &p.saying.messages[len(p.saying.messages)-1]
	switch room := p.limit - p.said; {
	case room <= 0:
		return
	case len(b) > room:
		*last += string(b[:room]) + "… (cut)"
		p.said = p.limit
	default:
		*last += string(b)
		p.said += len(b)
	}
}

// framed reports whether a line is one of the testing package, and takes it in.
func (p *parser) framed(line []byte) bool {
	text, whole := strings.CutSuffix(string(line), "\n")
	if !whole {
		return false
	}
	if text == "PASS" || text == "FAIL" {
		p.final, p.current, p.blamed = text, nil, nil
		return true
	}
	if verdict, name, ok := cutReport(text); ok {
		p.judge(verdict, name)
		return true
	}
	if !strings.HasPrefix(text, "=== ") {
		return false
	}
	const width = len("=== PAUSE ")
	action, name := text[:min(len(text), width)], text[min(len(text), width):]
	p.blamed = nil
	switch action {
	case "=== RUN   ":
		p.current = p.begin(name)
	case "=== NAME  ", "=== CONT  ":
		p.current = p.byName[name]
	case "=== PAUSE ":
		p.current = p.around(name)
	}
	return true
}

// cutReport takes "    --- PASS: TestX/y (0.00s)" apart.
func cutReport(text string) (verdict, name string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(text, " "), "--- ")
	if !ok {
		return "", "", false
	}
	verdict, rest, _ = strings.Cut(rest, ": ")
	name, _, ok = strings.Cut(rest, " (") // a name has no spaces
	return verdict, name, ok && (verdict == "PASS" || verdict == "FAIL" || verdict == "SKIP")
}

// judge takes in how a test ended. A panic ends those around it too.
func (p *parser) judge(verdict, name string) {
	r := p.byName[name]
	if r == nil {
		return
	}
	if r.verdict != "FAIL" {
		r.verdict = verdict
	}
	switch {
	case verdict != "FAIL":
		p.blamed = nil
	case p.blamed == nil || !strings.HasPrefix(p.blamed.name, name+"/"):
		p.blamed = r
	}
	p.current = p.around(name)
}

// around is the test that a subtest belongs to, or nil. Names may hold slashes of their own.
func (p *parser) around(name string) *record {
	for at := strings.LastIndexByte(name, '/'); at >= 0; at = strings.LastIndexByte(name[:at], '/') {
		if r := p.byName[name[:at]]; r != nil {
			return r
		}
	}
	return nil
}

// begin is the record of a test that begins. Others than the one that runs have none.
func (p *parser) begin(name string) *record {
	if name != p.test && !strings.HasPrefix(name, p.test+"/") {
		return nil
	}
	r := p.byName[name]
	if r == nil {
		r = &record{name: name}
		p.records = append(p.records, r)
		p.byName[name] = r
	}
	return r
}
