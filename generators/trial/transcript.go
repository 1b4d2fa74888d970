package trial

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// capacity is how many times the limit of output is read: test names and messages count too.
const capacity = 16

// An output collects what a process prints, up to its capacity. Write may be called while another
// goroutine calls end.
type output struct {
	loud chan struct{} // closed when the process has printed too much, unless it is crashing

	mu    sync.Mutex
	limit int // of what is kept of the code's own output
	text  []byte
	over  bool // the process printed more than the capacity
	ended bool
}

func newOutput(limit int) *output { return &output{loud: make(chan struct{}), limit: limit} }

// Write appends as many bytes as there is room for.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return 0, io.ErrClosedPipe
	}
	room := capacity*o.limit - len(o.text)
	o.text = append(o.text, b[:min(len(b), room)]...)
	if len(b) > room && !o.over {
		o.over = true
		if crashLine(o.text) == "" {
			close(o.loud)
		}
	}
	return len(b), nil
}

// end returns what was printed, and drops what is printed later.
func (o *output) end(test string) *transcript {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	return readTranscript(test, o.text, o.over, o.limit)
}

// A transcript is what a test printed with -test.v=test2json: lines of the testing package, which
// begin with a marker, messages of the test, and whatever its code prints between these. Since code
// may print the same as the testing package, it counts only together with how the process ended.
type transcript struct {
	test  string // the test that ran
	limit int    // of messages, and of printed

	records []*record // of the test and its subtests, in the order in which they began
	byName  map[string]*record
	current *record // the test that runs
	saying  *record // the test whose message continues; nil if none does
	blamed  *record // the innermost of the tests that failed last
	said    int     // bytes of messages
	printed []byte  // what the code printed
	over    bool    // more was printed than is kept
	final   string  // the last word of the testing package, PASS or FAIL
	crash   string  // the first line of the last crash: "panic: …"
	message *regexp.Regexp
}

// A record is what is known of a test or a subtest.
type record struct {
	name     string // full name, as the testing package writes it
	verdict  string // PASS, FAIL or SKIP, once it has ended
	messages []string
}

// marker begins a line of the testing package. It also ends the line before it.
const marker = 0x16

func readTranscript(test string, text []byte, over bool, limit int) *transcript {
	t := &transcript{
		test: test, limit: limit, byName: map[string]*record{},
		message: regexp.MustCompile(`(?:^ {4}[^\s:]+| {4}[^\s:]+_test)\.go:\d+: `),
	}
	for len(text) > 0 && (!t.over || t.crash != "") { // the test that prints too much is the last
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
		t.saying = nil
		return
	}
	if more, ok := bytes.CutPrefix(line, []byte("        ")); ok && t.saying != nil {
		t.say(more)
		return
	}
	t.saying = nil
	at := t.message.FindIndex(line)
	if at == nil || t.current == nil {
		t.print(line)
		return
	}
	t.print(line[:at[0]])
	t.saying = t.current
	t.saying.messages = append(t.saying.messages, "")
	t.say(line[at[1]:])
}

// print keeps what the code printed, up to the limit.
func (t *transcript) print(b []byte) {
	if line := crashLine(b); line != "" && (t.crash == "" || !strings.HasPrefix(line, "SIG")) {
		t.crash = line // a signal may follow the reason
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

// say adds to the last message of the test that is speaking, up to the limit.
func (t *transcript) say(b []byte) {
	messages := t.saying.messages
	last := &messages[len(messages)-1]
	switch room := t.limit - t.said; {
	case room <= 0 && *last == "":
		t.saying.messages = messages[:len(messages)-1]
		t.saying = nil
	case room <= 0:
	case len(b) > room:
		*last += string(b[:room]) + "… (cut)"
		t.said = t.limit
	default:
		*last += string(b)
		t.said += len(b)
	}
}

// readFrame reads a line of the testing package. It reports whether the line is one.
func (t *transcript) readFrame(line []byte) bool {
	text, whole := strings.CutSuffix(string(line), "\n")
	if !whole {
		return false
	}
	if text == "PASS" || text == "FAIL" {
		t.final, t.current, t.blamed = text, nil, nil
		return true
	}
	if verdict, name, ok := cutReport(text); ok {
		t.setVerdict(verdict, name)
		return true
	}
	if !strings.HasPrefix(text, "=== ") {
		return false
	}
	const width = len("=== PAUSE ")
	action, name := text[:min(len(text), width)], text[min(len(text), width):]
	t.blamed = nil
	switch action {
	case "=== RUN   ":
		t.current = t.begin(name)
	case "=== NAME  ", "=== CONT  ":
		t.current = t.byName[name]
	case "=== PAUSE ":
		t.current = t.parent(name)
	}
	return true
}

// cutReport splits "    --- PASS: TestX/y (0.00s)".
func cutReport(text string) (verdict, name string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(text, " "), "--- ")
	if !ok {
		return "", "", false
	}
	verdict, rest, _ = strings.Cut(rest, ": ")
	name, _, ok = strings.Cut(rest, " (") // a name has no spaces
	return verdict, name, ok && (verdict == "PASS" || verdict == "FAIL" || verdict == "SKIP")
}

// setVerdict notes how a test ended. A panic ends its parent tests too.
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
		t.blamed = nil
	case t.blamed == nil || !strings.HasPrefix(t.blamed.name, name+"/"):
		t.blamed = r
	}
	t.current = t.parent(name)
}

// parent is the test that a subtest belongs to, or nil. Names may contain slashes.
func (t *transcript) parent(name string) *record {
	for at := strings.LastIndexByte(name, '/'); at >= 0; at = strings.LastIndexByte(name[:at], '/') {
		if r := t.byName[name[:at]]; r != nil {
			return r
		}
	}
	return nil
}

// begin returns the record of a test that begins; nil for tests other than the one that runs.
func (t *transcript) begin(name string) *record {
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

// A stop is why the process was killed.
type stop int

const (
	notStopped stop = iota
	tooSlow
	tooLoud
	tooBig
	tooMany
	cancelled
)

type exit struct {
	stopped stop
	status  int    // exit code; negative if a signal ended the process
	words   string // the system's description
}

// crash is the exit code of a Go process that panics.
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

// who names the test that failed last, or that runs, as the subject of a sentence.
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

// ended explains why the process ended before its test, without a subject; empty if it did not.
func (t *transcript) ended(e exit, l Limits) string {
	switch {
	case e.stopped == tooSlow:
		return "did not end within " + inWords(l.Time)
	case e.stopped == tooLoud:
		return "printed more than " + inBytes(int64(l.Output))
	case e.stopped == tooBig:
		return "needed more than " + inBytes(l.Memory) + " of memory"
	case e.stopped == tooMany:
		return "started more than " + strconv.Itoa(mostProcesses) + " processes"
	case e.status < 0:
		return "was ended by the system (" + e.words + ")"
	case e.status == crash && t.crash != "":
		return crashed(t.crash, l)
	case t.final == "PASS" && e.status == 0, t.final == "FAIL" && e.status == 1:
		return ""
	}
	return "ended the process with status " + strconv.Itoa(e.status) + " (os.Exit)"
}

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
		strings.HasPrefix(text, "pthread_create"), text == "newosproc": // a thread needs memory, too
		return "needed more than " + inBytes(l.Memory) + " of memory"
	case text == "stack overflow":
		return "overflowed the stack: it calls itself without end"
	case strings.Contains(text, "deadlock"):
		return "waits for ever: " + text
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

// cases returns the subtests, and the test if it has no subtests, or messages, or failed by itself.
func (t *transcript) cases() []Case {
	var cases []Case
	sound := true // no subtest failed
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

func (t *transcript) title(r *record) string {
	if name, ok := strings.CutPrefix(r.name, t.test+"/"); ok {
		return strings.ReplaceAll(name, "_", " ")
	}
	return r.name
}
