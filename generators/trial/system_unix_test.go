//go:build unix && !linux

package trial_test

import (
	"testing"

	"github.com/petrock/petrock/generators/trial"
)

// testsOfSystem are the tests of what this system can do.
func testsOfSystem() map[string]func(*testing.T, stage, *trial.Program) {
	return map[string]func(*testing.T, stage, *trial.Program){
		"leaves a child": testLeavesChild,
		"kills itself":   testKillsItself,
	}
}
