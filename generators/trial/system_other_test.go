//go:build !unix

package trial_test

import (
	"testing"

	"github.com/petrock/petrock/generators/trial"
)

// systemTests returns none: this system ends only the process itself.
func systemTests() map[string]func(*testing.T, stage, *trial.Program) { return nil }
