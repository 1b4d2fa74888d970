//go:build unix

package trial_test

import (
	"testing"
	"time"

	"github.com/petrock/petrock/generators/trial"
)

// Child processes end with the test.
func testLeavesChild(t *testing.T, s stage, program *trial.Program) {
	r, err := program.Run(t.Context(), "TestLeavesChild", trial.Limits{Time: time.Minute})
	if err != nil || !r.Passed {
		t.Fatalf("%+v %v; want no error and Passed true", r, err)
	}
	s.checkDisconnect(t, nil)
}

// A signal may end a test.
func testKillsItself(t *testing.T, _ stage, program *trial.Program) {
	r, err := program.Run(t.Context(), "TestKillsItself", trial.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(r), badSecond("was terminated (signal: killed)"); got != want || r.Passed {
		t.Errorf("passed: %v\n%snot\n%s", r.Passed, got, want)
	}
}
