package trial

import (
	"bytes"
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// A testLog is the tests of one process, in the order of their start, with their output.
type testLog struct {
	records []*record
	byName  map[string]*record
}

// messageStart matches the position before a message of t.Error or t.Log.
var messageStart = regexp.MustCompile(`(?:^ {4}[^\s:]+| {4}[^\s:]+_test)\.go:\d+: ?`)

// A record is the result of a test or a subtest.
type record struct {
	name        string // full name, as the testing package writes it
	result      string // pass, fail or skip; empty if it has not ended
	hasSubtests bool
	messages    [][]byte // of t.Error and t.Log, without file and line
	file        string   // of the last message
	line        int
	printed     []byte // other output
	inMessage   bool   // the next line may continue the last message
}

// start returns the record of a test, and adds it if the test is new.
func (l *testLog) start(name string) *record {
	r := l.byName[name]
	if r == nil {
		r = &record{name: name}
		l.records = append(l.records, r)
		l.byName[name] = r
		if parent := l.parent(name); parent != nil {
			parent.hasSubtests = true
		}
	}
	return r
}

// parent returns the parent of a subtest, or nil. Names may contain slashes.
func (l *testLog) parent(name string) *record {
	for at := strings.LastIndexByte(name, '/'); at >= 0; at = strings.LastIndexByte(name[:at], '/') {
		if r := l.byName[name[:at]]; r != nil {
			return r
		}
	}
	return nil
}

// add adds a line, or a part of one, to the output of a test. It returns the part that is not a
// message.
func (l *testLog) add(r *record, line []byte) (printed []byte) {
	if r.inMessage {
		last := &r.messages[len(r.messages)-1]
		more, ok := bytes.CutPrefix(line, []byte("        "))
		if !bytes.HasSuffix(*last, []byte("\n")) {
			more, ok = line, true // the rest of the line
		}
		if ok {
			*last = append(*last, more...)
			return nil
		}
	}
	printed = line
	at := messageStart.FindIndex(line)
	if r.inMessage = at != nil; r.inMessage {
		printed = line[:at[0]]
		position := strings.Split(strings.TrimSpace(string(line[at[0]:at[1]])), ":")
		r.file = position[0]
		r.line, _ = strconv.Atoi(position[1])
		r.messages = append(r.messages, bytes.Clone(line[at[1]:]))
	}
	r.printed = append(r.printed, printed...)
	return printed
}

// texts returns the messages of the test as valid UTF-8.
func (r *record) texts() (all []string) {
	for _, message := range r.messages {
		all = append(all, strings.ToValidUTF8(strings.TrimSuffix(string(message), "\n"), "\uFFFD"))
	}
	return all
}

// crashLine returns the first line of the last crash in a text; empty if there is none.
func crashLine(text string) string {
	at := -1
	for _, word := range []string{"panic: ", "fatal error: ", "runtime/cgo: "} {
		at = max(at, strings.LastIndex(text, word))
	}
	if at < 0 {
		at = strings.Index("\n"+text, "\nSIG")
	}
	if at < 0 {
		return ""
	}
	line, _, _ := strings.Cut(text[at:min(len(text), at+1000)], "\n")
	return strings.TrimSpace(line)
}

// crashed describes a crash, given its first line.
func crashed(line string, l Limits) string {
	kind, text, _ := strings.Cut(line, ": ")
	text, _, _ = strings.Cut(text, " [recovered")
	switch {
	case strings.HasPrefix(text, "unexpected call to os.Exit(0)"):
		return "ended the process with exit code 0 (os.Exit)"
	case strings.HasPrefix(text, "test timed out after"):
		return l.timeExceeded()
	case kind == "panic":
		return "panicked: " + text
	case strings.Contains(text, "out of memory"), strings.Contains(text, "cannot allocate memory"),
		strings.HasPrefix(text, "pthread_create"), text == "newosproc": // threads need memory
		return l.memoryExceeded()
	}
	return "crashed: " + strings.TrimPrefix(line, "fatal error: ")
}

// capacityFactor is the capacity of an output as a multiple of its limit. It is above 1 because raw
// output also contains test names.
const capacityFactor = 16

// An output collects the output of a process, up to its capacity.
type output struct {
	overflow chan struct{} // closed when the process prints too much, except during a crash
	limit    int           // of the test's own output
	text     []byte
	over     bool // the process printed more than the capacity
}

func newOutput(limit int) *output { return &output{overflow: make(chan struct{}), limit: limit} }

// Write appends bytes up to the capacity, and drops the rest.
func (o *output) Write(b []byte) (int, error) {
	room := capacityFactor*o.limit - len(o.text)
	o.text = append(o.text, b[:min(len(b), room)]...)
	if len(b) > room && !o.over {
		o.over = true
		if crashLine(string(o.text)) == "" {
			close(o.overflow)
		}
	}
	return len(b), nil
}

// end returns the transcript of the output, after the last Write.
func (o *output) end(test string) *transcript {
	t := &transcript{testLog: testLog{byName: map[string]*record{}}, test: test, outside: &record{}}
	t.read(o.text, o.limit)
	t.over = t.over || o.over
	return t
}

// A transcript is the output of a test with -test.v=test2json: lines of the testing package, which
// start with a marker, messages of the test, and the output of its code. Code can imitate the
// testing package, so a pass counts only together with the exit code.
type transcript struct {
	testLog
	test       string  // the test that ran
	outside    *record // code outside of tests
	current    *record // the running test; nil if none
	lastFailed *record // the innermost of the tests that failed last
	printed    []byte  // by the code
	over       bool    // the output was cut
	final      string  // the final line of the testing package, PASS or FAIL
}

// frame matches a line of the testing package: the start or a change of the running test, its
// result, such as --- PASS: TestX/y (0.00s), or the final line.
var frame = regexp.MustCompile(`^(?:=== (RUN|PAUSE|CONT|NAME) +(.*)| *--- (PASS|FAIL|SKIP): ([^ ]*) \(.*|(PASS|FAIL))\n$`)

// marker starts a line of the testing package. It also ends the line before it.
const marker = 0x16

// read reads the output, up to a number of bytes in messages and in the output of the code.
func (t *transcript) read(text []byte, limit int) {
	for len(text) > 0 && !t.over {
		end := len(text)
		if at := bytes.IndexByte(text, '\n'); at >= 0 {
			end = at + 1
		}
		if at := bytes.IndexByte(text[1:end], marker); at >= 0 {
			end = at + 1
		}
		line := text[:end]
		text = text[end:]
		if line[0] == marker && t.readFrame(string(line[1:])) {
			continue
		}
		if t.over = len(line) > limit; t.over {
			line = line[:limit]
		}
		limit -= len(line)
		t.printed = append(t.printed, t.add(cmp.Or(t.current, t.outside), line)...)
	}
}

// readFrame reads a line of the testing package. It reports whether the line is one.
func (t *transcript) readFrame(line string) bool {
	found := frame.FindStringSubmatch(line)
	if found == nil {
		return false
	}
	if t.current != nil {
		t.current.inMessage = false
	}
	action, name, result, ended, final := found[1], found[2], found[3], found[4], found[5]
	if result != "" {
		t.setResult(strings.ToLower(result), ended)
		return true
	}
	t.lastFailed = nil
	switch action {
	case "": // the final line
		t.final, t.current = final, nil
	case "RUN":
		t.current = nil
		if name == t.test || strings.HasPrefix(name, t.test+"/") {
			t.current = t.start(name)
		}
	case "NAME", "CONT":
		t.current = t.byName[name]
	case "PAUSE":
		t.current = t.parent(name)
	}
	return true
}

// setResult records the result of a test. A panic ends its parent tests too.
func (t *transcript) setResult(result, name string) {
	r := t.byName[name]
	if r == nil {
		return
	}
	if r.result != "fail" {
		r.result = result
	}
	switch {
	case result != "fail":
		t.lastFailed = nil
	case t.lastFailed == nil || !strings.HasPrefix(t.lastFailed.name, name+"/"):
		t.lastFailed = r
	}
	t.current = t.parent(name)
}

// An exitState is how the process ended.
type exitState struct {
	stopped     string // why the process was killed, such as "printed more than 64 KiB"; else empty
	status      int    // exit code; negative if a signal ended the process
	description string // from the system
}

// fill completes a report from the transcript and the exit of the process.
func (t *transcript) fill(r *Report, e exitState, l Limits) {
	const crashStatus = 2 // the exit code of a Go process that panics
	crash := ""
	if e.status == crashStatus {
		crash = crashLine(string(t.printed))
	}
	if e.stopped == "" && t.over && crash == "" {
		e.stopped = l.outputExceeded() // the process ended before it was killed
	}
	if message := t.endMessage(e, crash, l); message != "" {
		r.Ended = t.subject() + " " + message
	}
	r.Cases = t.cases()
	test := t.byName[t.test]
	r.Passed = r.Ended == "" && e.status == 0 && t.final == "PASS" && test != nil && test.result == "pass" && t.subtestsPassed()
	r.Printed = strings.ToValidUTF8(string(t.printed), "\uFFFD")
	if t.over {
		r.Printed += "\n… (cut: more than " + formatSize(int64(l.Output)) + " was printed)\n"
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
func (t *transcript) endMessage(e exitState, crash string, l Limits) string {
	switch {
	case e.stopped != "":
		return e.stopped
	case e.status < 0:
		return "was terminated (" + e.description + ")"
	case crash != "":
		return crashed(crash, l)
	case t.final == "PASS" && e.status == 0, t.final == "FAIL" && e.status == 1:
		return ""
	}
	return "ended the process with exit code " + strconv.Itoa(e.status) + " (os.Exit)"
}

func (t *transcript) subtestsPassed() bool {
	for _, r := range t.records {
		if r.name != t.test && r.result != "pass" && r.result != "skip" {
			return false
		}
	}
	return true
}

// cases returns the subtests. It includes the test if it has messages or no subtests, or if it
// failed although its subtests passed.
func (t *transcript) cases() (cases []Case) {
	for _, r := range t.records {
		isShown := r.name != t.test || len(t.records) == 1 || len(r.messages) > 0 || t.subtestsPassed() && r.result != "pass"
		if isShown {
			cases = append(cases, Case{Name: t.title(r), Passed: r.result == "pass", Skipped: r.result == "skip", Messages: r.texts()})
		}
	}
	return cases
}

func (t *transcript) title(r *record) string {
	if name, ok := strings.CutPrefix(r.name, t.test+"/"); ok {
		return strings.ReplaceAll(name, "_", " ")
	}
	return r.name
}
