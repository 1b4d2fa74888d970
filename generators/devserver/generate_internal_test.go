package devserver

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// The listed schema of a generator requires nothing, because a draft may have it.
func TestListedSchema(t *testing.T) {
	got, err := listedSchema(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","format":"go"}},"required":["a"],"additionalProperties":false}`))
	want := `{"type":"object","properties":{"a":{"type":"string","format":"go"},"draft":{"type":"string"},"dry_run":{"type":"boolean"},"detail":{"type":"boolean"},"dir":{"type":"string"}}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if _, err := listedSchema(json.RawMessage(`{"properties":{"draft":{}}}`)); err == nil {
		t.Error("the property draft: got no error, want one")
	}
}

func TestFlags(t *testing.T) {
	got := new(Tools).flags(engine.Options{DryRun: true, NoExec: true, NoData: true})
	if want := []string{"--dry-run", "--no-data", "--no-exec"}; !slices.Equal(got, want) {
		t.Errorf("flags() = %q, want %q", got, want)
	}
}
