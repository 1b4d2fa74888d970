//go:build unix

package trial_test

import (
	"testing"
	"time"

	"github.com/petrock/petrock/generators/trial"
)

// What a test starts ends with it.
func testLeavesChild(t *testing.T, s stage, program *trial.Program) {
	r, err := program.Run(t.Context(), "TestLeavesChild", trial.Limits{Time: time.Minute})
	if err != nil || !r.Passed {
		t.Fatalf("%+v %v", r, err)
	}
	s.hungUp(t, nil)
}

// Somebody else may end a test, too.
func testKillsItself(t *testing.T, _ stage, program *trial.Program) {
	r, err := program.Run(t.Context(), "TestKillsItself", trial.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(r), badSecond("was terminated (signal: killed)"); got != want || r.Passed {
		t.Errorf("passed: %v\n%snot\n%s", r.Passed, got, want)
	}
}
