package trial

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// capacityFactor is the capacity of an output as a multiple of its limit. It is above 1 because raw
// output also contains test names and messages.
const capacityFactor = 16

// An output collects the output of a process, up to its capacity. Write and end may be called
// concurrently.
type output struct {
	overflow chan struct{} // closed when the process prints too much, except during a crash

	mu    sync.Mutex
	limit int // of the code's own output
	text  []byte
	over  bool // the process printed more than the capacity
	ended bool
}

func newOutput(limit int) *output { return &output{overflow: make(chan struct{}), limit: limit} }

// Write appends bytes up to the capacity, and drops the rest.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return 0, io.ErrClosedPipe
	}
	room := capacityFactor*o.limit - len(o.text)
	o.text = append(o.text, b[:min(len(b), room)]...)
	if len(b) > room && !o.over {
		o.over = true
		if crashLine(o.text) == "" {
			close(o.overflow)
		}
	}
	return len(b), nil
}

// end returns the transcript. Later output is dropped.
func (o *output) end(test string) *transcript {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	return readTranscript(test, o.text, o.over, o.limit)
}

// A transcript is the output of a test with -test.v=test2json: lines of the testing package, which start
// with a marker, messages of the test, and the output of its code. Code can imitate the testing package,
// so a pass counts only together with the exit code.
type transcript struct {
	test  string // the test that ran
	limit int    // of messages and of printed, each

	records    []*record // of the test and its subtests, in the order of their start
	byName     map[string]*record
	current    *record // the running test
	speaker    *record // the test whose message may continue on the next line; may be nil
	lastFailed *record // the innermost of the tests that failed last

	messageBytes int
	printed      []byte // by the code
	over         bool   // the output was cut
	final        string // the final line of the testing package, PASS or FAIL
	crash        string // the first line of the last crash: "panic: …"
	message      *regexp.Regexp
	report       *regexp.Regexp
}

// A record is the result of a test or a subtest.
type record struct {
	name     string // full name, as the testing package writes it
	verdict  string // PASS, FAIL or SKIP, once it has ended
	messages []string
}

// marker starts a line of the testing package. It also ends the line before it.
const marker = 0x16

func readTranscript(test string, text []byte, over bool, limit int) *transcript {
	t := &transcript{
		test: test, limit: limit, byName: map[string]*record{},
		message: regexp.MustCompile(`(?:^ {4}[^\s:]+| {4}[^\s:]+_test)\.go:\d+: `),
		report:  regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): ([^ ]*) \(`), // --- PASS: TestX/y (0.00s)
	}
	for len(text) > 0 && (!t.over || t.crash != "") { // after too much output, read on only if the test crashed
		end := len(text)
		if at := bytes.IndexByte(text, '\n'); at >= 0 {
			end = at + 1
		}
		if at := bytes.IndexByte(text[1:end], marker); at >= 0 {
			end = at + 1
		}
		t.readLine(text[:end])
		text = text[end:]
	}
	t.over = t.over || over
	return t
}

func (t *transcript) readLine(line []byte) {
	if line[0] == marker && t.readFrame(line[1:]) {
		t.speaker = nil
		return
	}
	if more, ok := bytes.CutPrefix(line, []byte("        ")); ok && t.speaker != nil {
		t.addMessage(more)
		return
	}
	t.speaker = nil
	at := t.message.FindIndex(line)
	if at == nil || t.current == nil {
		t.print(line)
		return
	}
	t.print(line[:at[0]])
	t.speaker = t.current
	t.speaker.messages = append(t.speaker.messages, "")
	t.addMessage(line[at[1]:])
}

// print records output of the code, up to the limit.
func (t *transcript) print(b []byte) {
	if line := crashLine(b); line != "" && (t.crash == "" || !strings.HasPrefix(line, "SIG")) {
		t.crash = line // a signal line after the reason does not replace it
	}
	room := t.limit - len(t.printed)
	t.over = t.over || len(b) > room
	t.printed = append(t.printed, b[:min(len(b), room)]...)
}

// crashLine returns the first line of the last crash in a text; empty if there is none.
func crashLine(text []byte) string {
	at := -1
	for _, word := range []string{"panic: ", "fatal error: ", "runtime/cgo: "} {
		at = max(at, bytes.LastIndex(text, []byte(word)))
	}
	if at < 0 && bytes.HasPrefix(text, []byte("SIG")) && bytes.Contains(text, []byte(": ")) {
		at = 0
	}
	if at < 0 {
		return ""
	}
	line, _, _ := strings.Cut(string(text[at:min(len(text), at+1000)]), "\n")
	return strings.TrimSpace(line)
}

// addMessage appends to the last message of the speaker, up to the limit.
func (t *transcript) addMessage(b []byte) {
	messages := t.speaker.messages
	last := &messages[len(messages)-1]
	switch room := t.limit - t.messageBytes; {
	case room <= 0 && *last == "":
		t.speaker.messages = messages[:len(messages)-1]
		t.speaker = nil
	case room <= 0:
	case len(b) > room:
		*last += string(b[:room]) + "… (cut)"
		t.messageBytes = t.limit
	default:
		*last += string(b)
		t.messageBytes += len(b)
	}
}

// readFrame reads a line of the testing package. It reports whether the line is one.
func (t *transcript) readFrame(line []byte) bool {
	text, whole := strings.CutSuffix(string(line), "\n")
	if !whole {
		return false
	}
	if text == "PASS" || text == "FAIL" {
		t.final, t.current, t.lastFailed = text, nil, nil
		return true
	}
	if report := t.report.FindStringSubmatch(text); report != nil {
		t.setVerdict(report[1], report[2])
		return true
	}
	if !strings.HasPrefix(text, "=== ") {
		return false
	}
	const width = len("=== PAUSE ")
	action, name := text[:min(len(text), width)], text[min(len(text), width):]
	t.lastFailed = nil
	switch action {
	case "=== RUN   ":
		t.current = t.addRecord(name)
	case "=== NAME  ", "=== CONT  ":
		t.current = t.byName[name]
	case "=== PAUSE ":
		t.current = t.parent(name)
	}
	return true
}

// setVerdict records the verdict of a test. A panic ends its parent tests too.
func (t *transcript) setVerdict(verdict, name string) {
	r := t.byName[name]
	if r == nil {
		return
	}
	if r.verdict != "FAIL" {
		r.verdict = verdict
	}
	switch {
	case verdict != "FAIL":
		t.lastFailed = nil
	case t.lastFailed == nil || !strings.HasPrefix(t.lastFailed.name, name+"/"):
		t.lastFailed = r
	}
	t.current = t.parent(name)
}

// parent returns the parent of a subtest, or nil. Names may contain slashes.
func (t *transcript) parent(name string) *record {
	for at := strings.LastIndexByte(name, '/'); at >= 0; at = strings.LastIndexByte(name[:at], '/') {
		if r := t.byName[name[:at]]; r != nil {
			return r
		}
	}
	return nil
}

// addRecord returns the record of a test that starts; nil if it is not the requested test or a subtest.
func (t *transcript) addRecord(name string) *record {
	if name != t.test && !strings.HasPrefix(name, t.test+"/") {
		return nil
	}
	r := t.byName[name]
	if r == nil {
		r = &record{name: name}
		t.records = append(t.records, r)
		t.byName[name] = r
	}
	return r
}

// A stopReason is why the process was killed.
type stopReason int

const (
	notStopped stopReason = iota
	timedOut
	tooMuchOutput
	tooMuchMemory
	tooManyProcesses
	cancelled
)

// An exitState is how the process ended.
type exitState struct {
	stopped     stopReason
	status      int    // exit code; negative if a signal ended the process
	description string // from the system
}

// crashStatus is the exit code of a Go process that panics.
const crashStatus = 2

// fill completes a report from the transcript and the exit of the process.
func (t *transcript) fill(r *Report, e exitState, l Limits) {
	if e.stopped == notStopped && t.over && (e.status != crashStatus || t.crash == "") {
		e.stopped = tooMuchOutput // the process ended before it was killed
	}
	if message := t.endMessage(e, l); message != "" {
		r.Ended = t.subject() + " " + message
	}
	r.Passed = r.Ended == "" && e.status == 0 && t.passed()
	r.Cases = t.cases()
	r.Printed = strings.ToValidUTF8(string(t.printed), "\uFFFD")
	if t.over {
		r.Printed += "\n… (cut: more than " + formatSize(int64(t.limit)) + " was printed)\n"
	}
}

// subject names the test that failed last or is running, as the subject of a sentence.
func (t *transcript) subject() string {
	switch {
	case t.lastFailed != nil:
		return t.title(t.lastFailed)
	case t.current != nil:
		return t.title(t.current)
	case len(t.records) == 0:
		return "code that runs before " + t.test
	}
	return "code that runs after " + t.test
}

// endMessage returns why the process ended early, without a subject; else empty.
func (t *transcript) endMessage(e exitState, l Limits) string {
	switch {
	case e.stopped == timedOut:
		return "did not end within " + formatDuration(l.Time)
	case e.stopped == tooMuchOutput:
		return "printed more than " + formatSize(int64(l.Output))
	case e.stopped == tooMuchMemory:
		return "needed more than " + formatSize(l.Memory) + " of memory"
	case e.stopped == tooManyProcesses:
		return "started more than " + strconv.Itoa(maxProcesses) + " processes"
	case e.status < 0:
		return "was terminated (" + e.description + ")"
	case e.status == crashStatus && t.crash != "":
		return crashed(t.crash, l)
	case t.final == "PASS" && e.status == 0, t.final == "FAIL" && e.status == 1:
		return ""
	}
	return "ended the process with exit code " + strconv.Itoa(e.status) + " (os.Exit)"
}

func crashed(line string, l Limits) string {
	kind, text, _ := strings.Cut(line, ": ")
	text, _, _ = strings.Cut(text, " [recovered")
	switch {
	case strings.HasPrefix(text, "unexpected call to os.Exit(0)"):
		return "ended the process with exit code 0 (os.Exit)"
	case strings.HasPrefix(text, "test timed out after"):
		return "did not end within " + formatDuration(l.Time)
	case kind == "panic":
		return "panicked: " + text
	case strings.Contains(text, "out of memory"), strings.Contains(text, "cannot allocate memory"),
		strings.HasPrefix(text, "pthread_create"), text == "newosproc": // threads need memory
		return "needed more than " + formatSize(l.Memory) + " of memory"
	case text == "stack overflow":
		return "overflowed the stack: infinite recursion"
	case strings.Contains(text, "deadlock"):
		return "is deadlocked: " + text
	}
	return "crashed: " + strings.TrimPrefix(line, "fatal error: ")
}

// passed reports whether the test and all of its subtests passed, according to the testing package.
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

// cases returns the subtests. It includes the test if it has messages or no subtests, or if it failed
// although its subtests passed.
func (t *transcript) cases() []Case {
	var cases []Case
	subtestsPassed := true
	for _, r := range t.records {
		if r.name != t.test {
			cases = append(cases, t.asCase(r))
			subtestsPassed = subtestsPassed && (r.verdict == "PASS" || r.verdict == "SKIP")
		}
	}
	test := t.byName[t.test]
	if test != nil && (len(cases) == 0 || len(test.messages) > 0 || subtestsPassed && test.verdict != "PASS") {
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

func (t *transcript) title(r *record) string {
	if name, ok := strings.CutPrefix(r.name, t.test+"/"); ok {
		return strings.ReplaceAll(name, "_", " ")
	}
	return r.name
}
