package main

import (
	"errors"
	"testing"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/engine"
)

// What is derived from the project's source is as it would be derived now, and commands are applied without the clock,
// randomness and I/O.
func TestDerivedFilesAreFresh(t *testing.T) {
	e, err := engine.Open(".", generators.All())
	if errors.Is(err, project.ErrNone) {
		t.Skip(err) // outside a project nothing is derived
	}
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	result, err := e.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if stale := result.Stale(); len(result.Refused) > 0 {
		t.Error(stale)
	} else if stale != "" {
		t.Errorf("%srun: go run ./cmd/petrock sync", stale)
	}
	if impure := result.Impurities(); impure != "" {
		t.Errorf("replaying the event log would be non-deterministic:\n%s", impure)
	}
}
