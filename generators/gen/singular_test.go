package gen_test

import (
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

// Singular knows regular and common irregular plurals, and reports false for others.
func TestSingular(t *testing.T) {
	for plural, want := range map[string]string{
		"posts": "post", "users": "user", "categories": "category", "boxes": "box", "addresses": "address", "batches": "batch",
		"dishes": "dish", "movies": "movie", "people": "person", "statuses": "status", "caches": "cache",
		"days": "day", "ideas": "idea", "notes": "note", "databases": "database", "houses": "house", "blogposts": "blogpost",
		"news": "", "series": "", "status": "", "address": "", "analysis": "", "canvas": "", "data": "", "inventory": "", "as": "",
	} {
		got, ok := gen.Singular(plural)
		if ok != (want != "") || ok && got != want {
			t.Errorf("Singular(%q) = %q, %v, want %q", plural, got, ok, want)
		}
	}
}

// The type of an enum in a list or map is in the singular.
func TestEnumName(t *testing.T) {
	for field, want := range map[string]string{
		"status:enum(a,b)": "Status", "modes:enum(a,b)": "Modes", "modes:[]enum(a,b)": "Mode",
		"open_issues:map[string]enum(a,b)": "OpenIssue", "team_statuses:[]enum(a,b)": "TeamStatus",
		"categories:[][]enum(a,b)": "Category", "urls:[]enum(a,b)": "URL", "news:[]enum(a,b)": "News",
		"children:[]enum(a,b)": "Child", "s:[]enum(a,b)": "S",
	} {
		f, err := gen.ParseField(field)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.EnumName(); got != want {
			t.Errorf("EnumName of %s = %q, want %q", field, got, want)
		}
	}
}
