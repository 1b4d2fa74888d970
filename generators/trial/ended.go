package trial

import (
	"strconv"
	"strings"
)

// A stop is why a process was ended from here.
type stop int

const (
	notStopped stop = iota
	tooSlow
	tooLoud
	tooBig
	cancelled
)

// An exit is how a process ended.
type exit struct {
	stopped stop
	status  int    // negative if it was not the process that ended itself
	words   string // of the system
}

// crash is the status with which Go ends a process that panics.
const crash = 2

// fill fills in a report, once all is read, with that and how the process ended.
func (p *parser) fill(r *Report, e exit, l Limits) {
	p.flush()
	if e.stopped == notStopped && p.over && (e.status != crash || p.crash == "") {
		e.stopped = tooLoud // and ended before it could be
	}
	if ended := p.ended(e, l); ended != "" {
		r.Ended = p.who() + " " + ended
	}
	r.Passed = r.Ended == "" && e.status == 0 && p.passed()
	r.Cases = p.cases()
	r.Printed = strings.ToValidUTF8(string(p.printed), "\uFFFD")
	if p.over {
		r.Printed += "\n… (cut: more than " + inBytes(int64(p.limit)) + " was printed)\n"
	}
}

// who is the case that runs, or that was reported to have failed last, as the subject of a sentence.
func (p *parser) who() string {
	switch {
	case p.blamed != nil:
		return p.title(p.blamed)
	case p.current != nil:
		return p.title(p.current)
	case len(p.records) == 0:
		return "what runs before " + p.test
	}
	return "what runs after " + p.test
}

// ended is why the process ended before its test did, without a subject; empty if it did not.
func (p *parser) ended(e exit, l Limits) string {
	switch {
	case e.stopped == tooSlow:
		return "did not end within " + inWords(l.Time)
	case e.stopped == tooLoud:
		return "printed more than " + inBytes(int64(l.Output))
	case e.stopped == tooBig:
		return "needed more than " + inBytes(l.Memory) + " of memory"
	case e.status < 0:
		return "was ended by the system (" + e.words + ")"
	case e.status == crash && p.crash != "":
		return crashed(p.crash, l)
	case p.final == "PASS" && e.status == 0, p.final == "FAIL" && e.status == 1:
		return ""
	}
	return "ended the process with status " + strconv.Itoa(e.status) + " (os.Exit)"
}

// crashed says in words what the first line of a crash means.
func crashed(line string, l Limits) string {
	kind, text, _ := strings.Cut(line, ": ")
	text, _, _ = strings.Cut(text, " [recovered")
	switch {
	case strings.HasPrefix(text, "unexpected call to os.Exit(0)"):
		return "ended the process with status 0 (os.Exit)"
	case strings.HasPrefix(text, "test timed out after"):
		return "did not end within " + inWords(l.Time)
	case kind == "panic":
		return "panicked: " + text
	case strings.Contains(text, "out of memory"), strings.Contains(text, "cannot allocate memory"),
		strings.HasPrefix(text, "pthread_create"), text == "newosproc": // a thread needs some, too
		return "needed more than " + inBytes(l.Memory) + " of memory"
	case text == "stack overflow":
		return "overflowed the stack: it calls itself without end"
	case strings.Contains(text, "deadlock"):
		return "waits for ever: " + text
	}
	return "crashed: " + strings.TrimPrefix(line, "fatal error: ")
}

// passed reports whether the testing package says that the test passed, with all of its subtests.
func (p *parser) passed() bool {
	test := p.byName[p.test]
	if p.final != "PASS" || test == nil || test.verdict != "PASS" {
		return false
	}
	for _, r := range p.records {
		if r.verdict != "PASS" && r.verdict != "SKIP" {
			return false
		}
	}
	return true
}

// cases are the subtests. The test is one if it has none, or has something to say itself.
func (p *parser) cases() []Case {
	var cases []Case
	sound := true // as far as the subtests are concerned
	for _, r := range p.records {
		if r.name != p.test {
			cases = append(cases, p.asCase(r))
			sound = sound && (r.verdict == "PASS" || r.verdict == "SKIP")
		}
	}
	test := p.byName[p.test]
	if test != nil && (len(cases) == 0 || len(test.messages) > 0 || sound && test.verdict != "PASS") {
		cases = append([]Case{p.asCase(test)}, cases...)
	}
	return cases
}

func (p *parser) asCase(r *record) Case {
	c := Case{Name: p.title(r), Passed: r.verdict == "PASS", Skipped: r.verdict == "SKIP"}
	for _, message := range r.messages {
		c.Messages = append(c.Messages, strings.ToValidUTF8(strings.TrimSuffix(message, "\n"), "\uFFFD"))
	}
	return c
}

// title is what a test is called in a report.
func (p *parser) title(r *record) string {
	if name, ok := strings.CutPrefix(r.name, p.test+"/"); ok {
		return strings.ReplaceAll(name, "_", " ")
	}
	return r.name
}
