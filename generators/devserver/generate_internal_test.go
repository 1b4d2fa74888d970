package devserver

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// Whatever a schema requires, the listed one requires the description too, once.
func TestListedSchemaRequired(t *testing.T) {
	for required, want := range map[string][]string{
		``: {"description"}, `,"required":[]`: {"description"}, `,"required":["name"]`: {"name", "description"},
		`,"required":["description","name"]`: {"description", "name"},
	} {
		text, err := listedSchema(json.RawMessage(`{"type":"object"`+required+`}`), true)
		var got struct{ Required []string }
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || !slices.Equal(got.Required, want) {
			t.Errorf("listedSchema(%s) requires %q, %v; want %q", required, got.Required, err, want)
		}
	}
}

func TestFlags(t *testing.T) {
	got := new(Tools).flags(engine.Options{DryRun: true, NoExec: true, NoData: true})
	if want := []string{"--dry-run", "--no-data", "--no-exec"}; !slices.Equal(got, want) {
		t.Errorf("flags() = %q, want %q", got, want)
	}
}
