package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// The remedy of a refusal names options as flags.
func TestRefusalNamesFlags(t *testing.T) {
	var out bytes.Buffer
	refusal := &engine.Refusal{Reason: "it was edited:", Remedy: "With keep the rest is undone; with force all of it."}
	reportError(refusal, "petrock", "undo", false, false, Env{Err: &out})
	if !strings.Contains(out.String(), "With --keep the rest is undone; with --force all of it.") {
		t.Errorf("got %s", &out)
	}
}
