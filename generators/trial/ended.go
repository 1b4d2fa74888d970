package trial

import (
	"strconv"
	"strings"
)

// A stop is why the process was killed.
type stop int

const (
	notStopped stop = iota
	tooSlow
	tooLoud
	tooBig
	cancelled
)

// An exit is how the process ended.
type exit struct {
	stopped stop
	status  int    // negative if it was not the process that ended itself
	words   string // of the system
}

// crash is the status with which Go ends a process that panics.
const crash = 2

// fill completes a report from the transcript and from how the process ended.
func (t *transcript) fill(r *Report, e exit, l Limits) {
	if e.stopped == notStopped && t.over && (e.status != crash || t.crash == "") {
		e.stopped = tooLoud // it ended before it was killed
	}
	if ended := t.ended(e, l); ended != "" {
		r.Ended = t.who() + " " + ended
	}
	r.Passed = r.Ended == "" && e.status == 0 && t.passed()
	r.Cases = t.cases()
	r.Printed = strings.ToValidUTF8(string(t.printed), "\uFFFD")
	if t.over {
		r.Printed += "\n… (cut: more than " + inBytes(int64(t.limit)) + " was printed)\n"
	}
}

// who is the case that runs, or that was reported to have failed last, as the subject of a sentence.
func (t *transcript) who() string {
	switch {
	case t.blamed != nil:
		return t.title(t.blamed)
	case t.current != nil:
		return t.title(t.current)
	case len(t.records) == 0:
		return "what runs before " + t.test
	}
	return "what runs after " + t.test
}

// ended is why the process ended before its test did, without a subject; empty if it did not.
func (t *transcript) ended(e exit, l Limits) string {
	switch {
	case e.stopped == tooSlow:
		return "did not end within " + inWords(l.Time)
	case e.stopped == tooLoud:
		return "printed more than " + inBytes(int64(l.Output))
	case e.stopped == tooBig:
		return "needed more than " + inBytes(l.Memory) + " of memory"
	case e.status < 0:
		return "was ended by the system (" + e.words + ")"
	case e.status == crash && t.crash != "":
		return crashed(t.crash, l)
	case t.final == "PASS" && e.status == 0, t.final == "FAIL" && e.status == 1:
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
func (t *transcript) passed() bool {
	test := t.byName[t.test]
	if t.final != "PASS" || test == nil || test.verdict != "PASS" {
		return false
	}
	for _, r := range t.records {
		if r.verdict != "PASS" && r.verdict != "SKIP" {
			return false
		}
	}
	return true
}

// cases are the subtests. The test is one if it has none, or has something to say itself.
func (t *transcript) cases() []Case {
	var cases []Case
	sound := true // as far as the subtests are concerned
	for _, r := range t.records {
		if r.name != t.test {
			cases = append(cases, t.asCase(r))
			sound = sound && (r.verdict == "PASS" || r.verdict == "SKIP")
		}
	}
	test := t.byName[t.test]
	if test != nil && (len(cases) == 0 || len(test.messages) > 0 || sound && test.verdict != "PASS") {
		cases = append([]Case{t.asCase(test)}, cases...)
	}
	return cases
}

func (t *transcript) asCase(r *record) Case {
	c := Case{Name: t.title(r), Passed: r.verdict == "PASS", Skipped: r.verdict == "SKIP"}
	for _, message := range r.messages {
		c.Messages = append(c.Messages, strings.ToValidUTF8(strings.TrimSuffix(message, "\n"), "\uFFFD"))
	}
	return c
}

// title is what a test is called in a report.
func (t *transcript) title(r *record) string {
	if name, ok := strings.CutPrefix(r.name, t.test+"/"); ok {
		return strings.ReplaceAll(name, "_", " ")
	}
	return r.name
}
