package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// What a refusal calls keep and force are flags on the command line.
func TestRefusalNamesFlags(t *testing.T) {
	var out bytes.Buffer
	refusal := &engine.Refusal{Reason: "it was edited:", WayOut: "With keep the rest is undone; with force all of it."}
	end(refusal, "petrock", "undo", false, Env{Err: &out})
	if !strings.Contains(out.String(), "With --keep the rest is undone; with --force all of it.") {
		t.Errorf("it says %s", &out)
	}
}
