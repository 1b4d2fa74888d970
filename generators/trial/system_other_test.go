//go:build !unix

package trial_test

import (
	"testing"

	"github.com/petrock/petrock/generators/trial"
)

// testsOfSystem are none: all that is ended here is the process itself.
func testsOfSystem() map[string]func(*testing.T, stage, *trial.Program) { return nil }
