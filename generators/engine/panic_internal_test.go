package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/trial"
)

// A panic shows the lines around it, also if the message names the file without its folder, as in a feature.
func TestLinesOfPanic(t *testing.T) {
	p := newPlan("generate")
	p.dir = "features/posts"
	p.texts["features/posts/boom.go"] = []byte("package posts\n\nvar p *int\nvar n = *p\n")
	for _, place := range []string{"features/posts/boom.go:4", "posts/boom.go:4", "boom.go:4"} {
		if lines := p.linesOfPanic("posts_boom fails: panic: nil pointer (" + place + ")"); !strings.Contains(lines, "> 4 | var n = *p") {
			t.Errorf("%s: %q", place, lines)
		}
	}
	if lines := p.linesOfPanic("panic: x (other.go:4)"); lines != "" {
		t.Errorf("of another file: %q", lines)
	}
}

// Examples that panic at the same place show its lines once. The remedies of a change whose test fails are to
// fix a body that panics, and else to edit the test first.
func TestFailedExamples(t *testing.T) {
	p := newPlan("change")
	p.dir, p.oldTests = "tools", map[string]string{}
	p.texts["tools/boom.go"] = []byte("package tools\n\nvar p *int\nvar n = *p\n")
	const panics, differs = "boom fails: panic: nil pointer (tools/boom.go:4)", "boom returns 1\nwant 2"
	for _, test := range []struct {
		messages      []string
		reason, wants string
	}{
		{[]string{panics, panics}, "one:\n    " + panics + "\n      1 | package tools\n      2 | \n      3 | var p *int\n    > 4 | var n = *p\n  two:\n    " + panics + "\nNothing", "Fix the body, which panics."},
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

// An undo of a version says which stored events become unreadable, and how to find them.
func TestUndoneVersions(t *testing.T) {
	record := func(version int) []byte {
		c := contract.New()
		c.Commands["posts/create"] = contract.Command{Version: version}
		text, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	const want = `If the event log contains posts/create events of version 2, the server will not start (over MCP: log {"type":"posts/create"} lists them). Then redo this, or skip each event.`
	if got := undoneVersionsAdvice([]journal.Change{{Path: contract.File, Before: record(2), After: record(1)}}); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q", got)
	}
	if got := undoneVersionsAdvice([]journal.Change{{Path: contract.File, Before: record(1), After: record(2)}}); got != nil {
		t.Errorf("of a new version: %q", got)
	}
}
