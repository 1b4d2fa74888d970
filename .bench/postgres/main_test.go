package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// CONTRIBUTING.md lists the bounds, in the order of the targets.
func TestPublishedBounds(t *testing.T) {
	text, err := os.ReadFile("../../.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, target := range targets() {
		sign := "≤"
		if target.atLeast {
			sign = "≥"
		}
		want = append(want, fmt.Sprintf("%s %g", sign, target.bound))
	}
	_, section, _ := strings.Cut(string(text), "| figure | bound |\n")
	table, _, _ := strings.Cut(section, "\n\n")
	if got := regexp.MustCompile(`[≥≤] [0-9.]+`).FindAllString(table, -1); !slices.Equal(got, want) {
		t.Errorf("got the bounds %q, want %q", got, want)
	}
}
