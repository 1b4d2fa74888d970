package trial_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/trial"
)

// TestRun builds one program, and runs tests of it that behave in many ways.
func TestRun(t *testing.T) {
	s := newStage(t)
	program := s.program(t)
	t.Run("behaviour", func(t *testing.T) { testBehaviour(t, program) })
	t.Run("loops", func(t *testing.T) { testLoops(t, program) })
	t.Run("messages are cut", func(t *testing.T) { testMessagesAreCut(t, program) })
	t.Run("writes outside", func(t *testing.T) { testWritesOutside(t, s, program) })
	t.Run("cancel", func(t *testing.T) { testCancel(t, s, program) })
	for name, test := range systemTests() {
		t.Run(name, func(t *testing.T) { test(t, s, program) })
	}
}

func testBehaviour(t *testing.T, program *trial.Program) {
	for _, c := range []struct {
		test    string
		limits  trial.Limits
		passed  bool
		summary string
		printed string // prefix
	}{
		{test: "TestAdd", passed: true, summary: "one and two: true\nnone: true\n"},
		{test: "TestWrong", summary: "one: true\ntwo: false \"Add(7, 1) = 0\\nwant 8\"\nthree: true\n", printed: "on a Sunday?"},
		{test: "TestAlone", passed: true, summary: "TestAlone: true \"by itself\"\n"},
		{test: "TestSkips", passed: true, summary: "one: false skipped \"not today\"\ntwo: true\n"},
		{test: "TestSkipsAll", summary: "TestSkipsAll: false skipped \"not today\"\n"},
		{test: "TestPrints", passed: true, summary: "example one: true\nexample two: true\nexample three: true\n", printed: "to standard output\nto standard error"},
		{test: "TestPrintsOn", summary: badSecond("printed more than 64 KiB"), printed: "and on\nand on\n"},
		{test: "TestPrintsMuch", passed: true, summary: "example one: true\nexample two: true\nexample three: true\n", printed: "much much"},
		{test: "TestPrintsMuch", limits: trial.Limits{Output: 16 << 10}, summary: badSecond("printed more than 16 KiB"), printed: "much much"},
		{test: "TestExitsWith0", summary: badSecond("ended the process with exit code 0 (os.Exit)"), printed: "panic: unexpected call to os.Exit(0)"},
		{test: "TestExitsWith3", summary: badSecond("ended the process with exit code 3 (os.Exit)")},
		{test: "TestPretends", summary: "example one: true\nexample two: true\ncode that runs after TestPretends ended the process with exit code 3 (os.Exit)\n"},
		{test: "TestPanics", summary: badSecond("panicked: runtime error: index out of range [5] with length 0"), printed: "panic: runtime error: index"},
		{test: "TestPanicsElsewhere", summary: badSecond("panicked: elsewhere"), printed: "on its way: panic: elsewhere"},
		{test: "TestPanicsItself", summary: "TestPanicsItself: false\nexample one: true\nTestPanicsItself panicked: between two examples\n", printed: "panic: between"},
		{test: "TestHome", passed: true, summary: "example one: true\nexample two: true\nexample three: true\n"},
	} {
		t.Run(c.test, func(t *testing.T) {
			c.limits.Time = time.Minute // the machine may be busy
			r, err := program.Run(t.Context(), c.test, c.limits)
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(r); got != c.summary || r.Passed != c.passed {
				t.Errorf("got passed %v\n%swant %v\n%s", r.Passed, got, c.passed, c.summary)
			}
			if !strings.HasPrefix(r.Printed, c.printed) || c.printed == "" && r.Printed != "" {
				t.Errorf("printed %q, want %q", r.Printed, c.printed)
			}
			if cut := strings.Contains(r.Printed, "… (cut"); cut != strings.Contains(c.summary, "printed more") {
				t.Errorf("the output says that it was cut: %t, want %t", cut, strings.Contains(c.summary, "printed more"))
			}
			if c.limits.Output = max(c.limits.Output, 64<<10); len(r.Printed) > c.limits.Output+100 {
				t.Errorf("it printed %d bytes, want at most %d", len(r.Printed), c.limits.Output+100)
			}
		})
	}
}

// A test that does not end is killed. On a busy machine it may be killed before it starts; then the
// next limit is tried.
func testLoops(t *testing.T, program *trial.Program) {
	for _, limit := range []string{"300ms", "3s", "30s"} {
		d, err := time.ParseDuration(limit)
		if err != nil {
			t.Fatal(err)
		}
		r, err := program.Run(t.Context(), "TestLoops", trial.Limits{Time: d})
		if err != nil {
			t.Fatal(err)
		}
		if r.Ended == "code that runs before TestLoops did not end within "+limit {
			continue
		}
		if got, want := summary(r), badSecond("did not end within "+limit); got != want || r.Passed {
			t.Errorf("passed: %v\n%snot\n%s", r.Passed, got, want)
		}
		return
	}
	t.Error("the test never started")
}

// Long messages are cut.
func testMessagesAreCut(t *testing.T, program *trial.Program) {
	r, err := program.Run(t.Context(), "TestSaysMuch", trial.Limits{Time: time.Minute, Output: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if r.Passed || !strings.HasSuffix(r.Ended, "printed more than 4 KiB") || len(r.Cases) != 2 {
		t.Fatalf(`got %+v; want it failed with "printed more than 4 KiB", and two cases`, r)
	}
	if message := r.Cases[1].Messages[0]; len(message) > 4<<10 {
		t.Errorf("the message has %d bytes, want at most %d: %q", len(message), 4<<10, message)
	}
}

func testWritesOutside(t *testing.T, s stage, program *trial.Program) {
	r, err := program.Run(t.Context(), "TestWritesOutside", trial.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("confined: %v", r.IsConfined())
	if r.IsConfined() {
		if outside := read(t, s.outside); !maps.Equal(outside, map[string]string{"old": "file: old"}) {
			t.Errorf("outside was changed: %v", outside)
		}
		if r.Passed || len(r.Cases[1].Messages) != 5 {
			t.Errorf("passed: %t, messages: %q; want false and five messages", r.Passed, r.Cases[1].Messages)
		}
	}
	r, err = program.Run(t.Context(), "TestWritesAbove", trial.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if r.Passed == r.IsConfined() {
		t.Errorf("passed: %t, confined: %t; want one of them: %+v", r.Passed, r.IsConfined(), r)
	}
	for name := range read(t, program.Dir()) {
		if strings.HasPrefix(name, "run-") {
			t.Errorf("the temporary file %s is left", name)
		}
	}
}

func testCancel(t *testing.T, s stage, program *trial.Program) {
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // as soon as the test runs
		if conn, err := s.calls.Accept(); err == nil {
			conn.Read(make([]byte, 1))
			conn.Close()
		}
		cancel()
	}()
	if r, err := program.Run(ctx, "TestWaits", trial.Limits{Time: time.Minute}); err != context.Canceled {
		t.Errorf("%+v: got %v, want %v", r, err, context.Canceled)
	}
	if _, _, err := trial.RunTest(ctx, s.Options, "tools", "TestAdd", trial.Limits{}); err != context.Canceled {
		t.Errorf("Test: got %v, want %v", err, context.Canceled)
	}
}
