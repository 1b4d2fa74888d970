package derive

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The page directives lists the directives of each kind of component.
func TestDirectivesPage(t *testing.T) {
	page, err := os.ReadFile("../docs/directives.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| directive | on | what it does |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	documented := map[string][]string{} // directives, by what they are on
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		_, directive, _ := strings.Cut(cells[0], directivePrefix)
		name, _, _ := strings.Cut(strings.TrimSuffix(directive, "`"), " ")
		for on := range strings.SplitSeq(cells[1], ", ") {
			documented[on] = append(documented[on], name)
		}
	}
	for _, kind := range []Kind{Tool, Resource, Prompt, Generator, Command, Query, Worker} {
		got := append(documented[string(kind)], "ignore") // which is on functions and types
		if slices.Sort(got); !slices.Equal(got, allowedDirectives(kind)) {
			t.Errorf("directives.md, %s: got %q, want %q", kind, got, allowedDirectives(kind))
		}
	}
}
