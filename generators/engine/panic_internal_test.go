package engine

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/trial"
)

// The refusal of a change whose test fails has all messages, and the remedy.
func TestFailedExamples(t *testing.T) {
	p := newPlan("change")
	p.dir, p.oldTests = "tools", map[string]string{}
	const panics, differs = "boom fails: panic: nil pointer (tools/boom.go:4)", "boom returns 1\nwant 2"
	for _, test := range []struct {
		messages      []string
		reason, wants string
	}{
		{[]string{panics, panics}, "one:\n    " + panics + "\n  two:\n    " + panics + "\nNothing", "then change the component."},
		{[]string{differs, differs}, "one:\n    boom returns 1\n    want 2\n  two:\n", "edit the test first (over MCP: edit), then change the component."},
	} {
		failed := &trial.Report{}
		for i, name := range []string{"one", "two"} {
			failed.Cases = append(failed.Cases, trial.Case{Name: name, Messages: []string{test.messages[i]}})
		}
		text := (&Engine{}).refuseFailure(t.Context(), p, trial.Options{}, "TestBoom", failed).Error()
		if !strings.Contains(text, test.reason) || !strings.HasSuffix(text, test.wants) {
			t.Errorf("got %s\nwant %s and %s", text, test.reason, test.wants)
		}
	}
}
