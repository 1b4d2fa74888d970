package terminal_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/core/plumbing/terminal"
)

func TestSuggest(t *testing.T) {
	names := []string{"test", "trust", "add", "no-petrock", "json", "deployment", "testing", "tools"}
	for word, want := range map[string]string{
		"jsn": "json", "josn": "json", "JSON": "json", "no-petrok": "no-petrock", "NoPetrock": "no-petrock",
		"testting": "testing", "toolz": "tools", "trsut": "trust", "ad": "add", "dpeloyment": "deployment",
		"": "", "x": "", "status": "", "to": "", "generate": "", strings.Repeat("a", 1<<20): "",
	} {
		got := terminal.Suggest(word, names)
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got != want {
			t.Errorf("Suggest(%.20q) = %q, want %q", word, got, want)
		}
	}
	if got := terminal.Suggest("add", nil); got != "" {
		t.Errorf("without names: %q, want none", got)
	}
}
