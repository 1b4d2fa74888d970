package cli

import (
	"slices"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// Each --replace belongs to the --with at the same position.
func TestReplacements(t *testing.T) {
	want := []engine.Replacement{{Old: "a,b", New: "", All: true}, {Old: "c", New: "d", All: true}}
	edit := fileEdit{old: []string{"a,b", "c"}, new: []string{"", "d"}, all: true}
	edits, err := edit.read(newEdit(Env{}), t.TempDir(), []string{"notes.md"}, &projectFlags{})
	if err != nil || len(edits) != 1 || !slices.Equal(edits[0].Replace, want) {
		t.Errorf("got %+v, %v, want the replacements %+v", edits, err, want)
	}
	edit.new = edit.new[:1]
	if _, err := edit.read(newEdit(Env{}), t.TempDir(), []string{"notes.md"}, &projectFlags{}); err == nil {
		t.Error("two --replace and one --with: got no error, want a usage error")
	}
}
