package trial_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/petrock/petrock/generators/trial"
)

// lines returns lines of the testing package, each after a marker.
func lines(text ...string) string { return "\x16" + strings.Join(text, "\n\x16") + "\n" }

// printed has outputs of processes, with their exit codes and the expected report.
func printed() map[string]struct {
	text   string
	status int
	want   string // the summary, after "passed" if the test passed
	rest   string // output of the code
} {
	begin := lines("=== RUN   TestX", "=== RUN   TestX/a_case")
	type c = struct {
		text   string
		status int
		want   string
		rest   string
	}
	return map[string]c{
		"passes":         {begin + lines("--- PASS: TestX/a_case (0.00s)", "=== NAME  TestX", "--- PASS: TestX (0.00s)", "=== NAME  ", "PASS"), 0, "passed\na case: true\n", ""},
		"as before 1.20": {begin + lines("--- PASS: TestX (0.00s)", "    --- PASS: TestX/a_case (0.00s)", "PASS"), 0, "passed\na case: true\n", ""},
		"only says so":   {begin + lines("--- PASS: TestX/a_case (0.00s)", "--- PASS: TestX (0.00s)", "PASS"), 1, "a case: true\ncode that runs after TestX ended the process with exit code 1 (os.Exit)\n", ""},
		"of another":     {strings.ReplaceAll(begin+lines("--- PASS: TestX (0.00s)", "PASS"), "TestX", "TestY"), 0, "", ""},
		"no last word":   {begin + lines("--- PASS: TestX/a_case (0.00s)", "--- PASS: TestX (0.00s)"), 0, "a case: true\ncode that runs after TestX ended the process with exit code 0 (os.Exit)\n", ""},
		"half a word":    {begin + lines("--- PASS: TestX/a_case (0.00s)", "--- PASS: TestX (0.00s)") + "\x16PASS", 0, "a case: true\ncode that runs after TestX ended the process with exit code 0 (os.Exit)\n", "\x16PASS"},
		"no marker":      {strings.ReplaceAll(begin+lines("--- PASS: TestX (0.00s)", "PASS"), "\x16", ""), 0, "code that runs before TestX ended the process with exit code 0 (os.Exit)\n", "=== RUN   TestX\n=== RUN   TestX/a_case\n--- PASS: TestX (0.00s)\nPASS\n"},
		"one unended":    {begin + lines("--- PASS: TestX (0.00s)", "PASS"), 0, "a case: false\n", ""},
		"then not":       {begin + lines("--- FAIL: TestX/a_case (0.00s)", "--- PASS: TestX/a_case (0.00s)", "--- PASS: TestX (0.00s)", "PASS"), 0, "a case: false\n", ""},
		"slashes":        {lines("=== RUN   TestX", "=== RUN   TestX/a/b", "--- PASS: TestX/a/b (0.00s)") + "panic: x\n", 2, "TestX: false\na/b: true\nTestX panicked: x\n", "panic: x\n"},
		"messages": {begin + "no line    x_test.go:7: bad\n        worse\n        \n          worst\nprinted\n        deep\n    helper.go:1: x\n" + lines("--- FAIL: TestX/a_case (0.00s)", "=== NAME  TestX", "--- FAIL: TestX (0.00s)", "FAIL"), 1,
			"a case: false \"bad\\nworse\\n\\n  worst\" \"x\"\n", "no lineprinted\n        deep\n"},
		"of the test": {lines("=== RUN   TestX") + "    x_test.go:1: set up\n" + lines("=== RUN   TestX/a", "--- PASS: TestX/a (0.00s)", "=== NAME  TestX", "--- PASS: TestX (0.00s)", "PASS"), 0, "passed\nTestX: true \"set up\"\na: true\n", ""},
		"parallel": {lines("=== RUN   TestX", "=== RUN   TestX/a", "=== PAUSE TestX/a", "=== NAME  TestX", "=== RUN   TestX/b", "=== PAUSE TestX/b", "=== CONT  TestX/a", "=== CONT  TestX/b", "=== NAME  TestX/a") + "    x_test.go:1: bad\n" + lines("--- FAIL: TestX/a (0.00s)", "=== NAME  TestX/b") + "fatal error: concurrent map writes\n", 2,
			"a: false \"bad\"\nb: false\nb crashed: concurrent map writes\n", "fatal error: concurrent map writes\n"},
		"marker within": {begin + "a\x16b\x16\x16\n" + lines("--- PASS: TestX/a_case (0.00s)", "--- PASS: TestX (0.00s)", "=== NAME  ", "PASS"), 0, "passed\na case: true\n", "a\x16b\x16\x16\n"},
		"stack":         {begin + "runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n", 2, "a case: false\na case crashed: stack overflow\n", "runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n"},
		"threads":       {begin + "runtime: failed to create new OS thread (have 9 already; errno=11)\nfatal error: newosproc\n", 2, "a case: false\na case needed more than 1024 MiB of memory\n", "runtime: failed to create new OS thread (have 9 already; errno=11)\nfatal error: newosproc\n"},
		"threads of C":  {begin + "runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n", 2, "a case: false\na case needed more than 1024 MiB of memory\n", "runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n"},
		"quits":         {begin + "SIGQUIT: quit\n", 2, "a case: false\na case crashed: SIGQUIT: quit\n", "SIGQUIT: quit\n"},
		"deadlock":      {begin + "fatal error: all goroutines are asleep - deadlock!\n", 2, "a case: false\na case crashed: all goroutines are asleep - deadlock!\n", "fatal error: all goroutines are asleep - deadlock!\n"},
		"timeout":       {begin + "panic: test timed out after 15s\n", 2, "a case: false\na case did not end within 10s\n", "panic: test timed out after 15s\n"},
		"old panic":     {begin + "panic: a [recovered]\n\tpanic: b\n", 2, "a case: false\na case panicked: b\n", "panic: a [recovered]\n\tpanic: b\n"},
		"signal":        {begin, -1, "a case: false\na case was terminated (signal: killed)\n", ""},
		"at once":       {"", 7, "code that runs before TestX ended the process with exit code 7 (os.Exit)\n", ""},
		"no text":       {begin + "\xff\xfe" + lines("--- PASS: TestX/a_case (0.00s)", "--- PASS: TestX (0.00s)", "=== NAME  ", "PASS"), 0, "passed\na case: true\n", "\uFFFD"},
	}
}

func TestParse(t *testing.T) {
	for name, c := range printed() {
		t.Run(name, func(t *testing.T) {
			r := trial.Parse("TestX", c.text, c.status, trial.Limits{})
			got := summary(r)
			if r.Passed {
				got = "passed\n" + got
			}
			if got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			if r.Printed != c.rest {
				t.Errorf("printed %q, want %q", r.Printed, c.rest)
			}
		})
	}
}

// A crash is reported instead of too much output, and a long transcript is read to its end.
func TestParseLong(t *testing.T) {
	begin := lines("=== RUN   TestX")
	long := strings.Repeat("x", 200<<10)
	r := trial.Parse("TestX", begin+"panic: so\n\n"+strings.Repeat("goroutine\n", 50<<10), 2, trial.Limits{Output: 4 << 10})
	if r.Ended != "TestX panicked: so" || len(r.Printed) > 4<<10+100 || !strings.Contains(r.Printed, "… (cut: more than 4 KiB was printed)") {
		t.Errorf(`a crash: %s, %d bytes; want "TestX panicked: so", and at most %d bytes that say that more was cut`, r.Ended, len(r.Printed), 4<<10+100)
	}
	r = trial.Parse("TestX", begin+"no panic: yet\n"+long+lines("--- PASS: TestX (0.00s)", "PASS"), 0, trial.Limits{})
	if r.Passed || !strings.HasSuffix(r.Ended, " printed more than 64 KiB") {
		t.Errorf(`no crash: %q; want Passed false and Ended ending with " printed more than 64 KiB"`, r.Ended)
	}
	r = trial.Parse("TestX", begin+"    x_test.go:1: "+long+"\n        "+long+"\n"+lines("--- FAIL: TestX (0.00s)", "FAIL"), 1, trial.Limits{})
	if said := r.Cases[0].Messages; r.Ended != "TestX printed more than 64 KiB" || len(said) != 1 || len(said[0]) > 64<<10 {
		t.Errorf(`a message: %q with %d messages of %d bytes in all; want "TestX printed more than 64 KiB" and one of at most %d bytes`, r.Ended, len(said), len(strings.Join(said, "")), 64<<10)
	}
	r = trial.Parse("TestX", begin+long+"\n"+lines("--- PASS: TestX (0.00s)", "PASS"), 0, trial.Limits{Output: 1 << 20})
	if !r.Passed || r.Printed != long+"\n" {
		t.Errorf("a line: passed %t, ended %q, printed %d bytes; want true, and the line of %d bytes", r.Passed, r.Ended, len(r.Printed), len(long)+1)
	}
	r = trial.Parse("TestX", begin+strings.Repeat(lines("=== RUN   TestX/y"), 200<<10)+lines("--- PASS: TestX (0.00s)", "PASS"), 0, trial.Limits{})
	if r.Passed || r.Ended != "y printed more than 64 KiB" {
		t.Errorf(`cases without end: %q; want Passed false and Ended "y printed more than 64 KiB"`, r.Ended)
	}
}

// A report passes only if the testing package printed a pass and the exit code is 0.
func FuzzParse(f *testing.F) {
	for _, c := range printed() {
		f.Add(c.text, c.status, 0)
		f.Add(c.text, c.status, 20)
	}
	f.Fuzz(func(t *testing.T, text string, status, limit int) {
		limits := trial.Limits{Output: limit}
		r := trial.Parse("TestX", text, status, limits)
		said := strings.Contains(text, "\x16=== RUN   TestX\n") && strings.Contains(text, "--- PASS: TestX (") && strings.Contains(text, "\x16PASS\n")
		if r.Passed && (status != 0 || r.Ended != "" || !said) {
			t.Errorf("status %d passes: %+v; want a failure without status 0, with an end, or without the output of a test that passed", status, r)
		}
		if !r.Passed && status == 0 && text != "" && r.Ended == "" && len(r.Cases) == 0 && strings.Contains(text, "\x16=== RUN   TestX\n") {
			t.Errorf("the report does not pass, and has no reason: %+v", r)
		}
		if limit <= 0 {
			limit = 64 << 10
		}
		total := len(r.Printed)
		for _, c := range r.Cases {
			if r.Passed && !c.Passed && !c.Skipped {
				t.Errorf("the report passes, but %s does not: %+v", c.Name, c)
			}
			for _, message := range c.Messages {
				total += len(message)
				if !utf8.ValidString(message) {
					t.Errorf("the message %q is not valid UTF-8", message)
				}
			}
		}
		if total > 3*(2*limit+200) || !utf8.ValidString(r.Printed) { // invalid UTF-8 becomes longer
			t.Errorf("the report has %d bytes, printed %q; want at most %d bytes of valid UTF-8", total, r.Printed, 3*(2*limit+200))
		}
	})
}
