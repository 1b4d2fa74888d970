package main

import (
	"errors"
	"testing"

	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/linked"
)

// Derived files are up to date, and Apply methods use no clock, randomness or I/O.
func TestDerivedFilesAreFresh(t *testing.T) {
	e, err := engine.Open(".", linked.All())
	if errors.Is(err, project.ErrNone) {
		t.Skip(err) // petrock's own repository has no petrock.json
	}
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	result, err := e.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if stale := result.Stale(); stale != "" {
		t.Errorf("run go run ./cmd/petrock sync:\n%s", stale)
	}
	if impure := result.Impurities(); impure != "" {
		t.Errorf("Apply must be deterministic:\n%s", impure)
	}
}
