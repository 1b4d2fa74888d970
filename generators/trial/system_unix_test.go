//go:build unix && !linux

package trial_test

import (
	"testing"

	"github.com/petrock/petrock/generators/trial"
)

// systemTests returns the tests for this operating system.
func systemTests() map[string]func(*testing.T, stage, *trial.Program) {
	return map[string]func(*testing.T, stage, *trial.Program){
		"leaves a child": testLeavesChild,
		"kills itself":   testKillsItself,
	}
}
