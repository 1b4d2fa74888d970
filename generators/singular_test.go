package generators

import "testing"

// singular knows regular and common irregular plurals, and reports false for others.
func TestSingular(t *testing.T) {
	for plural, want := range map[string]string{
		"posts": "post", "users": "user", "categories": "category", "boxes": "box", "addresses": "address", "batches": "batch",
		"dishes": "dish", "movies": "movie", "people": "person", "statuses": "status", "caches": "cache",
		"days": "day", "ideas": "idea", "notes": "note", "databases": "database", "houses": "house", "blogposts": "blogpost",
		"news": "", "series": "", "status": "", "address": "", "analysis": "", "canvas": "", "data": "", "inventory": "", "as": "",
	} {
		got, ok := singular(plural)
		if ok != (want != "") || ok && got != want {
			t.Errorf("one of %s is %q, %v; want %q", plural, got, ok, want)
		}
	}
}
