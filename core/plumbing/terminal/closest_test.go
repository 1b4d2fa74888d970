package terminal_test

import (
	"testing"

	"github.com/petrock/petrock/core/plumbing/terminal"
)

func TestClosest(t *testing.T) {
	known := []string{"expenses", "desk", "tag", "posts_publish", "größe"}
	for word, want := range map[string]string{
		"expenses":      "expenses",
		"expnses":       "expenses",
		"exepnses":      "expenses",
		"expensess":     "expenses",
		"Expense":       "expenses",
		"exports":       "",
		"dekc":          "",
		"dsk":           "desk",
		"task":          "",
		"tax":           "tag",
		"go":            "",
		"":              "",
		"posts/publish": "posts_publish",
		"posts-publsh":  "posts_publish",
		"große":         "größe",
	} {
		if got := terminal.Closest(word, known); got != want {
			t.Errorf("Closest(%q) = %q, want %q", word, got, want)
		}
	}
	if got, want := terminal.DidYouMean("dsk", known, "no"), "did you mean desk?"; got != want {
		t.Errorf("DidYouMean(dsk) = %q, want %q", got, want)
	}
	if got, want := terminal.DidYouMean("items", known, "no"), "no"; got != want {
		t.Errorf("DidYouMean(items) = %q, want %q", got, want)
	}
}
