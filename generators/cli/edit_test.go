package cli

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// Each --replace belongs to the --with at the same position.
func TestReplacements(t *testing.T) {
	want := []engine.Replacement{{Old: "a,b", New: "", All: true}, {Old: "c", New: "d", All: true}}
	edit := fileEdit{old: []string{"a,b", "c"}, new: []string{"", "d"}, all: true}
	text, err := edit.read(newEdit(Env{}), t.TempDir(), []string{"notes.md"}, false)
	var got devserver.EditInput
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil || len(got.Edits) != 1 || !slices.Equal(got.Edits[0].Replace, want) {
		t.Errorf("got %s, %v, want the replacements %+v", text, err, want)
	}
	edit.new = edit.new[:1]
	if _, err := edit.read(newEdit(Env{}), t.TempDir(), []string{"notes.md"}, false); err == nil {
		t.Error("two --replace and one --with: got no error, want a usage error")
	}
}
